package execute

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// orderedNode is a declared resource with an entry.
func orderedNode(addr string) *plan.Node {
	return &plan.Node{
		Declaration: plan.Declaration{Address: addr, Decl: &graph.Resource{Address: addr}, Spec: &reconcile.Spec{}},
		Tracked:     plan.Tracked{Entry: &state.Entry{Address: addr}},
	}
}

// TestOrder: what is made waits for what it needs; what is deleted first waits for what needs it, and for nothing
// that comes after it.
func TestOrder(t *testing.T) {
	t.Parallel()
	a, b := orderedNode("a"), orderedNode("b")
	b.Ups, b.Needs = []*plan.Node{a}, []string{"a"}
	x := &plan.Index{Sorted: []*plan.Node{a, b}, Nodes: map[string]*plan.Node{"a": a, "b": b}}
	makes := map[*plan.Node]*task{a: {n: a}, b: {n: b}}
	drops := map[*plan.Node]*task{a: {n: a, drop: true}, b: {n: b, drop: true}}
	order(makes, drops, x)
	waits := func(t, before *task) bool {
		return slices.ContainsFunc(before.after, func(e edge) bool { return e.next == t })
	}
	for name, ok := range map[string]bool{
		"b is made after a":               waits(makes[b], makes[a]),
		"a is made after its deletion":    waits(makes[a], drops[a]),
		"a is deleted after b is deleted": waits(drops[a], drops[b]),
		"b is deleted before a is made":   !waits(drops[b], makes[a]),
	} {
		if !ok {
			t.Errorf("not so: %s", name)
		}
	}
}
