package cmd

import (
	"errors"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan"
)

// TestDevPlansAgainThreeTimes: a resource that changed since its plan is planned again at once, three times in a row at most,
// whatever becomes of others.
func TestDevPlansAgainThreeTimes(t *testing.T) {
	failed := func(addrs ...string) *engine.Result {
		r := &engine.Result{}
		for _, a := range addrs {
			r.Failures = append(r.Failures, &engine.ResourceError{Address: a, Err: &plan.ChangedError{Why: "x"}})
		}
		return r
	}
	var retries map[string]int
	step := func(r *engine.Result, want ...string) {
		t.Helper()
		var again []string
		if again, retries = planAgain(r, retries); !slices.Equal(again, want) {
			t.Errorf("again %q, want %q", again, want)
		}
	}
	step(&engine.Result{})
	step(failed("a"), "a")
	step(failed("a", "b"), "a", "b")
	step(failed("a", "b"), "a", "b")
	step(failed("a", "b"), "b")
	step(failed("a", "b"))
	step(nil)
	step(&engine.Result{Failures: []*engine.ResourceError{{Address: "a", Err: errors.New("denied")}}})
	step(failed("a"), "a")
}
