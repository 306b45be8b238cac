//go:build peers

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// TestRealPulumi adopts what the real pulumi exports: a project that it has imported, with secrets that it has sealed, and a program of
// its YAML runtime, whose provider athanor has no kind for.
func TestRealPulumi(t *testing.T) {
	peers := os.Getenv("ATHANOR_PEERS")
	if peers == "" {
		t.Fatal("$ATHANOR_PEERS names no folder with pulumi")
	}
	server := awstest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	p := makeProject(t, server, w)
	const program = "name: shop\nruntime: yaml\nconfig:\n  token:\n    type: string\n    secret: true\nresources:\n  q:\n    type: testprovider:index:Random\n    properties: {length: 8}\noutputs:\n  id: ${q.result}\n  token: ${token}\n"
	w.write("Pulumi.yaml", program)
	w.write("made.json", pulumiExport(t, p.state))
	if err := os.Mkdir(filepath.Join(w.dir, "states"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(w.env, "PATH="+peers+":"+os.Getenv("PATH"), "PULUMI_BACKEND_URL=file://"+filepath.Join(w.dir, "states"), "PULUMI_CONFIG_PASSPHRASE=hunter2hunter2",
		"PULUMI_SKIP_UPDATE_CHECK=1", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_HOME="+filepath.Join(w.dir, "home"))
	pulumi := func(args ...string) {
		t.Helper()
		cmd := limited(t, filepath.Join(peers, "pulumi"), append(args, "--non-interactive")...)
		cmd.Dir, cmd.Env = w.dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("pulumi %v: %v\n%s", args, err, out)
		}
	}
	pulumi("stack", "init", "dev")
	pulumi("config", "set", "--secret", "token", "tok-very-secret-2")
	pulumi("up", "--yes", "--skip-preview")
	pulumi("stack", "export", "--file", "dev.json")
	if _, said, code := w.printed("", "adopt", "--from", "dev.json", "--no-observe"); code != 1 || !strings.Contains(said, "its secrets, by passphrase") {
		t.Errorf("exit code %d: %s", code, said)
	}
	w.env = append(w.env, "PULUMI_CONFIG_PASSPHRASE=hunter2hunter2")
	out, said, code := w.printed("", "adopt", "--from", "dev.json", "--no-observe")
	if code != 0 || !strings.Contains(said, "testprovider:index:Random::q") || strings.Contains(out+said, "tok-very-secret-2") || !strings.Contains(out, "stack: shop\n") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	if out, said, code := w.printed("", "adopt", "--from", "states/.pulumi/stacks/shop/dev.json", "--no-observe"); code != 0 || !strings.Contains(out, "stack: shop\n") {
		t.Errorf("the file of the backend: exit code %d\n%s%s", code, out, said)
	}
	pulumi("stack", "init", "prod")
	pulumi("stack", "import", "--force", "--file", "made.json") // no pulumi wrote its manifest
	pulumi("stack", "export", "--file", "shop.json")
	if text := w.read("shop.json"); strings.Contains(text, "tok-very-secret-1") || !strings.Contains(text, "ciphertext") {
		t.Error("pulumi has not sealed the secret")
	}
	adoptPulumi(t, w, server, p)
}
