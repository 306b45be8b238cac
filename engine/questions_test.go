package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// lineAddresses are the addresses of lines.
func lineAddresses(lines []engine.Planned) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Address)
	}
	return strings.Join(all, " ")
}

// TestBlockedLines answers what a finished plan could not plan, could not compare, and is refused for.
func TestBlockedLines(t *testing.T) {
	p := &engine.Plan{Actions: []engine.Planned{
		{Address: "created", Action: engine.Create},
		{Address: "unread", Action: engine.Blocked, Problem: "denied", Hint: "ask for it", Source: "main.go:7"},
		{Address: "protected", Action: engine.Blocked, Problem: "protected", Reasons: []engine.Reason{{Path: "name"}}},
		{Address: "damaged", Action: engine.Blocked, Problem: "unreadable", Confined: true},
	}}
	before := slices.Clone(p.Actions)
	for what, c := range map[string]struct{ got, want string }{
		"blocked":    {lineAddresses(p.Blocked()), "unread protected damaged"},
		"uncompared": {lineAddresses(p.Uncompared()), "unread damaged"},
		"stops":      {lineAddresses(p.Stops()), "unread protected"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", what, c.got, c.want)
		}
	}
	if lineAddresses(p.Actions) != lineAddresses(before) {
		t.Errorf("a question changed the plan: %s", lineAddresses(p.Actions))
	}
	refusal, ok := errors.AsType[*engine.RefusedError](p.Refusal())
	if !ok || len(refusal.Problems) != 2 || refusal.Problems[0].Source != "main.go:7" || !slices.Equal(reconcile.Hints(refusal), []string{"ask for it"}) {
		t.Errorf("the refusal: %+v", refusal)
	}
	// A deletion and a repair leave out what is blocked, and a plan whose entries alone are unreadable is begun.
	for what, p := range map[string]*engine.Plan{
		"destroy": {Destroy: true, Actions: p.Actions}, "drift": {Drift: true, Actions: p.Actions},
		"an unreadable entry": {Actions: p.Actions[3:]}, "nothing blocked": {Actions: p.Actions[:1]},
	} {
		if err := p.Refusal(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := (&engine.Plan{}).BlockedError(nil); err != nil {
		t.Errorf("nothing is blocked: %v", err)
	}
}

// TestCompleteResult: a run is complete when nothing failed, was blocked, was left out or was cancelled.
func TestCompleteResult(t *testing.T) {
	for what, c := range map[string]struct {
		r    engine.Result
		want bool
	}{
		"done":        {engine.Result{State: statestore.Succeeded, Summary: engine.Summary{Created: 2}}, true},
		"waits":       {engine.Result{State: statestore.Succeeded, Summary: engine.Summary{Waiting: 1}}, true},
		"failed":      {engine.Result{Summary: engine.Summary{Failed: 1}}, false},
		"blocked":     {engine.Result{Summary: engine.Summary{Blocked: 1}}, false},
		"not started": {engine.Result{Summary: engine.Summary{NotStarted: 1}}, false},
		"cancelled":   {engine.Result{State: statestore.Cancelled}, false},
	} {
		if got := c.r.Complete(); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
