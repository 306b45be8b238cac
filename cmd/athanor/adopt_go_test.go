//go:build unix

package main

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdoptToGo writes a state as a Go program with its module, and overwrites nothing.
func TestAdoptToGo(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	w.write("web.tfstate", `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [
		{"mode": "managed", "type": "aws_sqs_queue", "name": "jobs", "provider": "provider[\"registry.terraform.io/hashicorp/aws\"]", "instances": [
			{"schema_version": 0, "attributes": {"id": "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "arn": "arn:aws:sqs:eu-north-1:123456789012:jobs",
			"name": "jobs", "visibility_timeout_seconds": 120, "tags": {"team": "a"}}}]}]}`)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"adopt", "--from", "web.tfstate", "--no-observe", "--go", "--module", root, "--out", "web"}
	if _, printed, code := w.printed("", args...); code != 0 || !strings.Contains(printed, "athanor deploy --adopt web --stage ") {
		t.Error(printed)
	}
	text := w.read("web/main.go")
	if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
		t.Errorf("it is not formatted: %v", err)
	}
	for _, want := range []string{`cmd.Stack("web")`, "sqs.NewQueue(s, ", "VisibilityTimeout: new(2 * time.Minute)", `athanor.Adopt("arn:aws:sqs:eu-north-1:123456789012:jobs")`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if mod := w.read("web/go.mod"); !strings.Contains(mod, "github.com/athanor-dev/athanor") {
		t.Error(mod)
	}
	if out, printed, code := w.printed("", args...); code != 0 || out != "" || !strings.Contains(printed, "has all that") {
		t.Error(printed)
	}
	if err := os.Remove(filepath.Join(w.dir, "web", "athanor.adopted.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, printed, code := w.printed("", args...); code != 1 || !strings.Contains(printed, "is there already") {
		t.Error(printed)
	}
	w.run(1, "adopt", "--go")
}
