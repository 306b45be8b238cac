package engine_test

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// lineOf is the line of a plan about an address.
func lineOf(t *testing.T, p *engine.Plan, addr string) *engine.Planned {
	t.Helper()
	for i := range p.Actions {
		if p.Actions[i].Address == addr {
			return &p.Actions[i]
		}
	}
	t.Fatalf("the plan has no line of %s: %s", addr, actions(p))
	return nil
}

// TestRecoveredUpstreamMovesItsAttributes: an object that is found again and differs is changed like any other, so that
// what its change may move is announced for those that refer to it.
func TestRecoveredUpstreamMovesItsAttributes(t *testing.T) {
	b := newBench(t)
	user := res("b", m{"after": "⟦a.color⟧"})
	b.deploy(graph(res("a", m{"color": "red"}), user))
	b.lose()
	g := graph(res("a", m{"color": "blue"}), user)
	p := b.plan(g)
	if got := actions(p); got != "a:recover b:recover" {
		t.Fatalf("plan: %s", got)
	}
	after := slices.IndexFunc(lineOf(t, p, "b").Reasons, func(r engine.Reason) bool { return r.Path == tree.Path("after") && r.Unknown })
	if after < 0 {
		t.Errorf("the update of b is not announced: %s", reasons(p))
	}
	b.deploy(g)
	b.settled(g)
}
