package simtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// TestDestroySearchesAgain: a destroy that could not search everywhere deletes what it knows, fails, and names what it did not
// see. State keeps where that was: the next destroy that can search there deletes what is left, also without the program and
// with no entry that names the location.
func TestDestroySearchesAgain(t *testing.T) {
	q, q2 := res("Named", "q", m{}), res("Named", "q2", m{"after": "⟦q.id⟧"})
	box, under := res("Box", "b", m{"size": "s"}), res("Under", "q2", m{"parent": "⟦b.id⟧", "size": "one"})
	for name, c := range map[string]struct {
		program []engine.Resource // deployed, and what the first destroy knows of it
		knows   bool
		event   string
		named   string // in the plan of the first destroy
		again   string // what the second one meets
	}{
		"the listing is denied":                  {program: []engine.Resource{q, q2}, event: "plan read discover ", named: "sim/1", again: "plan read discover "},
		"the object cannot be read":              {program: []engine.Resource{q, q2}, event: "plan read ", named: "q2", again: "plan read discover "},
		"where only the program said":            {program: []engine.Resource{in("north", q), in("south", q2)}, knows: true, event: "plan read discover south", named: "sim/1/south", again: "plan read discover south"},
		"what only its parent lists":             {program: []engine.Resource{box, under}, event: "plan read list sim.Under under sim:shop-test-b-yyekixiy", named: "sim/1", again: "plan read discover "},
		"the listing is denied, and the program": {program: []engine.Resource{q, q2}, knows: true, event: "plan read discover ", named: "sim/1", again: "plan read discover "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t)
				ctx := t.Context()
				for _, do := range append(was(c.program...), forgotten("q2")) {
					if err := do(ctx, s); err != nil {
						t.Fatal(err)
					}
				}
				first := simtest.Command{Destroy: true}
				if c.knows {
					first.Program = graph(c.program...)
				}
				r := s.Run(ctx, first, once(c.event, simtest.Deny))
				if !r.Hit {
					t.Fatalf("it did not meet %q; it went %v", c.event, r.Events)
				}
				if !r.Failed() || !strings.Contains(planText(r.Plan), c.named+":blocked") {
					t.Errorf("the first destroy: %v: %s", failure(r), planText(r.Plan))
				}
				destroyedAgain(ctx, t, s, c.again)
			})
		})
	}
}

// destroyedAgain destroys without a program until nothing is left, first where the search fails once more.
func destroyedAgain(ctx context.Context, t *testing.T, s *simtest.Sim, event string) {
	t.Helper()
	r := s.Run(ctx, simtest.Command{Destroy: true}, once(event, simtest.Deny))
	if !r.Hit || len(r.Plan.Blocked()) == 0 {
		t.Errorf("the second destroy saw an empty stage that it had not searched: %s", planText(r.Plan))
	}
	if r = s.Run(ctx, simtest.Command{Destroy: true}, nil); r.Failed() || len(s.Cloud.Objects()) > 0 {
		t.Errorf("the third destroy: %v; %s is left", failure(r), s.Cloud)
	}
	s.Wait()
	if r = s.Run(ctx, simtest.Command{Destroy: true}, nil); r.Failed() || r.Wrote() {
		t.Errorf("the fourth destroy: %v: %v", failure(r), r.Events)
	}
}
