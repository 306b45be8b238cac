//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// TestKeyService deploys as a team does whose stage key AWS KMS wraps: the machine that opens it has credentials and no key
// file. What KMS refuses is said with what is to be done.
func TestKeyService(t *testing.T) {
	server := awstest.Start(t)
	made, err := kms.NewFromConfig(server.Config(t)).CreateKey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	arn := *made.KeyMetadata.Arn
	w := newWorld(t, "stack: shop\nresources:\n  pw: {kind: random.Password}\n")
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.run(0, "deploy", "--yes")
	w.run(0, "secret", "rewrap", "--recipient", "awskms:"+arn)
	if err := os.Remove(filepath.Join(w.home(), "athanor", "key")); err != nil {
		t.Fatal(err)
	}
	w.run(0, "plan")
	w.run(0, "secret", "rotate")
	w.run(0, "plan")
	if who := w.run(0, "secret", "recipients"); !strings.Contains(who, "awskms") || !strings.Contains(who, arn) {
		t.Errorf("the key opens for %s", who)
	}
	refused := func(what, want, hint string) {
		t.Helper()
		p := w.start("athanor", "plan")
		p.end(1)
		if said := p.errs.String(); !strings.Contains(said, want) || !strings.Contains(said, hint) || !strings.Contains(said, "is not at hand") {
			t.Errorf("%s: %s", what, said)
		}
	}
	const file = "shop.dev-tester.key.json"
	ring := w.read(file)
	w.write(file, strings.ReplaceAll(strings.Replace(ring, `"revision": 1`, `"revision": 9`, 1), ":"+server.Region+":", ":eu-north-1:"))
	refused("the wrong region", "NotFoundException", "names region eu-north-1")
	w.write(file, ring)
	w.env = append(w.env, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=")
	refused("no credentials", "no credentials", "AWS_PROFILE")
}
