//go:build peers

package tfhttp_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTofu: the real tofu, named by $ATHANOR_TOFU, keeps its state in the service, finds the locks of others, and goes on after it
// was killed with a lock.
func TestTofu(t *testing.T) {
	tofu := os.Getenv("ATHANOR_TOFU")
	if tofu == "" {
		t.Fatal("$ATHANOR_TOFU names no tofu")
	}
	h := newHouse(t)
	dir := t.TempDir()
	program := func(body string) {
		t.Helper()
		text := fmt.Sprintf("terraform {\n  backend \"http\" {\n    address = %[1]q\n    lock_address = %[1]q\n    unlock_address = %[1]q\n"+
			"    username = \"ci\"\n  }\n}\n%[2]s\n", h.url+"/tf/shop/prod", body)
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(ok bool, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tofu, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_HTTP_PASSWORD="+h.token, "TF_HTTP_LOCK_METHOD=LOCK", "TF_HTTP_UNLOCK_METHOD=UNLOCK", "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok {
			t.Fatalf("tofu %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	program(`resource "terraform_data" "a" { input = "hunter2" }`)
	run(true, "init", "-no-color")
	run(true, "apply", "-auto-approve", "-no-color")
	if out := run(true, "plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("plan: %s", out)
	}

	h.send(http.StatusOK, "LOCK", "", h.token, lock("somebody"))
	if out := run(false, "apply", "-auto-approve", "-no-color"); !strings.Contains(out, "ann@box") || !strings.Contains(out, "somebody") {
		t.Errorf("while it is locked: %s", out)
	}
	h.send(http.StatusOK, "UNLOCK", "", h.token, lock("somebody"))

	program(`resource "terraform_data" "a" { input = "hunter2" }
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "kill -9 $PPID" }
}`)
	run(false, "apply", "-auto-approve", "-no-color")
	out := run(false, "apply", "-auto-approve", "-no-color")
	_, id, ok := strings.Cut(out, "ID:")
	if !ok {
		t.Fatalf("after it was killed: %s", out)
	}
	run(true, "force-unlock", "-force", strings.Fields(id)[0])
	program(`resource "terraform_data" "a" { input = "hunter2" }
resource "terraform_data" "b" {}`)
	run(true, "apply", "-auto-approve", "-no-color")
	if out := run(true, "state", "list"); !strings.HasSuffix(strings.Join(strings.Fields(out), " "), " terraform_data.a terraform_data.b") {
		t.Errorf("state list: %s", out)
	}
	run(true, "destroy", "-auto-approve", "-no-color")
}
