//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// queueState is a state with queues: a name and its timeout in seconds each. The account is a part of the identity.
func queueState(account string, queues ...string) string {
	var all []string
	for _, q := range queues {
		name, seconds, _ := strings.Cut(q, "=")
		all = append(all, fmt.Sprintf(`{"mode": "managed", "type": "aws_sqs_queue", "name": %q, "provider": "provider[\"registry.terraform.io/hashicorp/aws\"]", "instances": [
			{"schema_version": 0, "attributes": {"id": "https://sqs.eu-north-1.amazonaws.com/%s/%[1]s", "arn": "arn:aws:sqs:eu-north-1:%[2]s:%[1]s",
			"name": %[1]q, "visibility_timeout_seconds": %[3]s, "tags": {"team": "a"}}}]}`, name, account, seconds))
	}
	return `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` + strings.Join(all, ",") + `]}`
}

// TestAdoptAgain shows what a state changed since its stack was written, and leaves what people edited as it is.
func TestAdoptAgain(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	again := func() []map[string]any {
		t.Helper()
		var r struct{ Changes []map[string]any }
		if err := json.Unmarshal([]byte(w.run(0, "adopt", "--from", "web.tfstate", "--no-observe", "--out", "web", "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return r.Changes
	}
	w.write("web.tfstate", queueState("123456789012", "jobs=60", "mail=60", "old=60"))
	w.run(0, "adopt", "--from", "web.tfstate", "--no-observe", "--out", "web")
	if changes := again(); len(changes) != 0 {
		t.Errorf("a state that is as it was: %v", changes)
	}
	edited := "# ours\n" + strings.Replace(w.read("web/athanor.yaml"), "visibilityTimeout: 1m", "visibilityTimeout: 1m # long enough", 1)
	w.write("web/athanor.yaml", edited)
	w.write("web.tfstate", queueState("123456789012", "jobs=90", "mail=60", "more=60"))
	want := map[string]string{"jobs": "prop", "more": "new", "old": "missing"}
	changes := again()
	for _, c := range changes {
		if address, _ := c["address"].(string); want[address] != c["change"] || address == "jobs" && (c["path"] != "visibilityTimeout" || c["was"] != "1m" || c["now"] != "1m30s") {
			t.Errorf("%v", c)
		}
	}
	if len(changes) != len(want) {
		t.Errorf("%v", changes)
	}
	out, said, code := w.printed("", "adopt", "--from", "web.tfstate", "--no-observe", "--out", "web")
	if code != 0 || !strings.Contains(out, `changed: jobs visibilityTimeout: "1m" -> "1m30s"`) || !strings.Contains(out, "new: more (aws.sqs.Queue, arn:") ||
		!strings.Contains(out, "missing: old (aws.sqs.Queue") || !strings.Contains(said, "nothing was written") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	if w.read("web/athanor.yaml") != edited {
		t.Error("the stack was overwritten")
	}
	w.write("web/athanor.yaml", strings.Replace(edited, "visibilityTimeout: 1m # long enough", "visibilityTimeout: 90s", 1)) // that of jobs, the first
	for _, c := range again() {
		if c["address"] == "jobs" {
			t.Errorf("the stack has it by now: %v", c)
		}
	}
	w.write("web.tfstate", queueState("210987654321", "jobs=90"))
	found := false
	for _, c := range again() {
		found = found || c["address"] == "jobs" && c["change"] == "identity" && strings.Contains(fmt.Sprint(c["now"]), "210987654321")
	}
	if !found {
		t.Error("another identity is not shown")
	}
}

// TestAdoptAgainSecrets says that a secret has another value, and shows neither.
func TestAdoptAgainSecrets(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	state := func(value string) string {
		return `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [
			{"mode": "managed", "type": "aws_ssm_parameter", "name": "token", "provider": "provider[\"registry.terraform.io/hashicorp/aws\"]", "instances": [
			{"schema_version": 0, "attributes": {"id": "/token", "arn": "arn:aws:ssm:eu-north-1:123456789012:parameter/token", "name": "/token", "type": "SecureString",
			"value": "` + value + `"}, "sensitive_attributes": [[{"type": "get_attr", "value": "value"}]]}]}]}`
	}
	w.write("web.tfstate", state("correct-horse-1"))
	w.run(0, "adopt", "--from", "web.tfstate", "--no-observe", "--out", "web")
	w.write("web.tfstate", state("battery-staple-2"))
	out, said, code := w.printed("", "adopt", "--from", "web.tfstate", "--no-observe", "--out", "web")
	if code != 0 || !strings.Contains(out, "changed: secret.") || !strings.Contains(out, "has another value") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	for _, text := range []string{out, said, w.read("web/athanor.yaml"), w.read("web/athanor.adopted.yaml")} {
		if strings.Contains(text, "correct-horse") || strings.Contains(text, "battery-staple") {
			t.Error("a secret is shown")
		}
	}
}
