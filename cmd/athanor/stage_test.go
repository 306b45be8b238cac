//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// A stage that is new beside others is created on a terminal only when its name is typed; that is the one question.
func TestNewStagePrompt(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		code         int
	}{
		{"its name", "prdo\n", 0}, {"yes", "y\n", 5}, {"another", "prod\n", 5}, {"nothing", "\n", 5}, {"end of input", "\x04", 5}, {"interrupt", "\x03", 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "stack: small\nresources:\n  page: {kind: local.File, props: {path: \"${stage}.txt\", content: hello}}\n")
			w.run(0, "deploy", "--yes", "--stage", "prod")
			x := w.terminal(80, "deploy", "--stage", "prdo")
			x.await("It looks like prod. Type prdo to create 1 resource in a new stage: ")
			x.write(tt.answer)
			if code := x.end(); code != tt.code || strings.Contains(x.seen(), "[y/N]") {
				t.Errorf("exit code %d, want %d: %q", code, tt.code, x.seen())
			}
			if w.has("prdo.txt") != (tt.code == 0) {
				t.Errorf("created: %t", w.has("prdo.txt"))
			}
			if code := w.terminal(80, "deploy", "--yes", "--stage", "pr-2").end(); code != 5 {
				t.Errorf("--yes alone: exit code %d", code)
			}
		})
	}
}

// A plan that deletes most of a stage says so directly above the question.
func TestMassDeletionPrompt(t *testing.T) {
	var all strings.Builder
	for i := range 10 {
		fmt.Fprintf(&all, "  v%d: {kind: local.Value, props: {input: x}}\n", i)
	}
	w := newWorld(t, "stack: small\nresources:\n"+all.String())
	w.run(0, "deploy", "--yes")
	w.write("athanor.yaml", "stack: small\nresources:\n  v0: {kind: local.Value, props: {input: x}}\n")
	x := w.terminal(80, "deploy")
	x.await("This deletes 9 of the 10 resources of small/dev-tester.\r\nDeploy 9 changes to small/dev-tester?  y yes, d details, Enter no: ")
	x.write("n\n")
	if code := x.end(); code != 5 {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
	x = w.terminal(80, "deploy")
	x.await("?  y yes, d details, Enter no: ")
	x.write("y\n")
	if code := x.end(); code != 0 {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
}

// While a stage is deployed, its lists say how far that is: what is done arrives with the next change of state, at the latest
// after ten seconds.
func TestProgressInLists(t *testing.T) {
	w := newGated(t)
	x := w.terminal(80, "deploy", "--yes")
	w.await("started")
	list, deadline := "", time.Now().Add(patience)
	for !strings.Contains(list, "◐ deploying, 1 of 3") {
		if time.Now().After(deadline) {
			t.Fatalf("the list does not say how far the deploy is:\n%s", list)
		}
		list = w.run(0, "stage", "list")
		time.Sleep(20 * time.Millisecond) // reading takes no lock that the deploy waits for, but a processor
	}
	if history := w.run(0, "history"); !strings.Contains(history, "◐ running  1 of 3 done") {
		t.Errorf("the history does not say how far the deploy is:\n%s", history)
	}
	if list = w.run(0, "stage", "list", "--json"); !strings.Contains(list, `"progress":{"done":1,"total":3}`) {
		t.Errorf("the list for programs: %s", list)
	}
	w.open()
	if code := x.end(); code != 0 {
		t.Fatalf("exit code %d: %q", code, x.seen())
	}
	if list = w.run(0, "stage", "list"); !strings.Contains(list, "deployed") || strings.Contains(list, "of 3") {
		t.Errorf("afterwards:\n%s", list)
	}
}

// A stage that is over and holds users' data stays whole without a permission for them, and says so.
func TestReapKeepsData(t *testing.T) {
	cloud := cloudflaretest.Start(t)
	w := newWorld(t, "stack: small\nresources:\n  notes: {kind: cloudflare.KVNamespace}\n  page: {kind: local.File, props: {path: page.txt, content: hello}}\n")
	for name, value := range cloud.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.run(0, "deploy", "--yes", "--ttl", "1ms")
	spaces := "/accounts/" + cloud.Account + "/storage/kv/namespaces"
	made, _ := cloud.Do(t, "GET", spaces, nil).([]any)
	if len(made) != 1 {
		t.Fatalf("namespaces: %v", made)
	}
	cloud.Do(t, "PUT", fmt.Sprintf("%s/%v/values/key", spaces, made[0].(map[string]any)["id"]), map[string]any{"value": 1})
	if out, errs, code := w.printed("", "stage", "reap", "--yes"); code != 4 || !strings.Contains(out, "small/dev-tester  remains\n") || !strings.Contains(errs, "--allow-delete notes") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if !w.has("page.txt") {
		t.Error("a part of the stage was deleted")
	}
	if out := w.run(0, "stage", "reap", "--yes", "--allow-delete", "notes"); !strings.Contains(out, "small/dev-tester  deleted\n") || w.has("page.txt") {
		t.Errorf("with the permission: %s", out)
	}
}
