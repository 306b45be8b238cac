//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefsOfOtherTools uses outputs of states that stay with Terraform and Pulumi. A state is read with permission alone, a secret stays
// one, and a change there is a change here.
func TestRefsOfOtherTools(t *testing.T) {
	w := newWorld(t, `
stack: shop
refs:
  net: {terraform: ../net/terraform.tfstate}
  base: {pulumi: base.json}
resources:
  a: {kind: local.Value, props: {input: "${ref.net.vpc_id} ${ref.net.subnets[1]} ${ref.base.region}"}}
outputs: {word: "${ref.net.word}", where: "${a.output}"}
`)
	dir := filepath.Join(filepath.Dir(w.dir), "net")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	state := func(vpc string) {
		t.Helper()
		text := `{"version": 4, "terraform_version": "1.9.5", "serial": 3, "lineage": "x", "outputs": {"vpc_id": {"value": "` + vpc + `", "type": "string"},
			"subnets": {"value": ["s-1", "s-2"], "type": ["list", "string"]}, "word": {"value": "plain-secret-words", "type": "string", "sensitive": true}}, "resources": []}`
		if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state("vpc-1")
	w.write("base.json", `{"version": 3, "deployment": {"manifest": {"version": "v3"}, "resources": [
		{"urn": "urn:pulumi:prod::base::pulumi:pulumi:Stack::base-prod", "type": "pulumi:pulumi:Stack", "outputs": {"region": "eu-north-1"}}]}}`)
	if said := w.printedError("deploy", "--yes"); !strings.Contains(said, "refs.net.terraform") || !strings.Contains(said, "refs.base.pulumi") {
		t.Errorf("states of other tools are read with permission alone: %s", said)
	}
	allowed := []string{"--allow", "store=terraform:../net/terraform.tfstate", "--allow", "store=pulumi:base.json@refs.base.pulumi"}
	w.run(0, append([]string{"deploy", "--yes"}, allowed...)...)
	if out := w.run(0, "output", "where"); out != "vpc-1 s-2 eu-north-1\n" {
		t.Errorf("%q", out)
	}
	if out := w.run(0, "output"); strings.Contains(out, "plain-secret-words") {
		t.Error("a secret output is shown")
	}
	w.run(0, append([]string{"plan"}, allowed...)...)
	state("vpc-2")
	if out := w.run(2, append([]string{"plan"}, allowed...)...); !strings.Contains(out, "vpc-2") {
		t.Error(out)
	}
	w.write("athanor.yaml", strings.Replace(w.read("athanor.yaml"), "net.vpc_id", "net.vpc_ix", 1))
	if said := w.printedError(append([]string{"plan"}, allowed...)...); !strings.Contains(said, "did you mean vpc_id") {
		t.Error(said)
	}
}
