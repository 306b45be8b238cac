//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// waiting is a deploy that was planned and waits for the lease, which another deploy of the stage holds. What it gives ends
// the other one, and gives the exit code and what the waiting one printed.
func waiting(t *testing.T, w *world, stack string, args ...string) func(meanwhile func()) (code int, stdout, stderr string) {
	t.Helper()
	holder := w.start("athanor", "deploy", "--yes")
	w.await("started")
	w.write("athanor.yaml", stack)
	deploy := w.start("athanor", append([]string{"deploy", "--yes", "--wait", "1m"}, args...)...)
	deploy.errs.until(t, "waiting up to")
	return func(meanwhile func()) (code int, stdout, stderr string) {
		meanwhile()
		w.open()
		holder.end(0)
		return <-deploy.ended, deploy.out.String(), deploy.errs.String()
	}
}

const onceMore = gated + `  more: {kind: local.File, props: {path: more.txt, content: "more\n"}}
`

// A plan that was made anew under the lease is shown whole before anything of it is done, also with --json.
func TestNewPlanIsShown(t *testing.T) {
	w := newGated(t)
	code, stdout, stderr := waiting(t, w, onceMore, "--json")(func() {})
	if code != 0 || !w.has("more.txt") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	first, _, _ := strings.Cut(stdout, "\n")
	var plan struct {
		Type    string
		Serial  uint64
		Actions []struct{ Address, Action string }
	}
	if err := json.Unmarshal([]byte(first), &plan); err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, a := range plan.Actions {
		have = append(have, a.Address+" "+a.Action)
	}
	want := []string{"first unchanged", "last unchanged", "more create", "slow unchanged"}
	if slices.Sort(have); plan.Type != "plan" || plan.Serial == 0 || !slices.Equal(have, want) {
		t.Errorf("the first line is a %s of serial %d with %q, want a plan with %q", plan.Type, plan.Serial, have, want)
	}
}

// The same for people.
func TestNewPlanIsShownToPeople(t *testing.T) {
	w := newGated(t)
	code, _, stderr := waiting(t, w, onceMore)(func() {})
	_, after, shown := strings.Cut(stderr, "State changed meanwhile, and so did the plan:")
	if code != 0 || !shown || !strings.Contains(after, "+ more") || strings.Contains(after, "+ slow") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// What cannot be planned stops a deploy before anything is done, also in a plan that was made anew under the lease.
func TestNewPlanThatStops(t *testing.T) {
	for _, args := range [][]string{nil, {"--json"}} {
		w := newGated(t)
		w.write("key.txt", "a-secret-value\n")
		stack := strings.Replace(onceMore, "resources:", "secrets: {key: {file: key.txt}}\nresources:", 1) +
			"  key: {kind: local.File, props: {path: made.txt, content: \"${secret.key}\"}}\n"
		code, stdout, stderr := waiting(t, w, stack, args...)(func() {
			if err := os.Remove(filepath.Join(w.dir, "key.txt")); err != nil {
				t.Fatal(err)
			}
		})
		if code != 1 || w.has("more.txt") || !strings.Contains(stdout+stderr, "nothing was done; --exclude ADDRESS") {
			t.Errorf("exit code %d, something was done: %t: %s%s", code, w.has("more.txt"), stdout, stderr)
		}
		w.write("key.txt", "a-secret-value\n")
		w.run(0, "deploy", "--yes")
		if runs := w.history(); !slices.Equal(runs, []string{"succeeded", "cancelled", "succeeded"}) {
			t.Errorf("history %q", runs)
		}
	}
}
