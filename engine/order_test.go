package engine

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// orderedNode is a declared resource with an entry.
func orderedNode(addr string) *node {
	return &node{
		declaration: declaration{addr: addr, decl: &graph.Resource{Address: addr}, spec: &reconcile.Spec{}},
		tracked:     tracked{rec: &state.Entry{Address: addr}},
	}
}

// TestOrder: what is made waits for what it needs; what is deleted first waits for what needs it, and for nothing
// that comes after it.
func TestOrder(t *testing.T) {
	t.Parallel()
	a, b := orderedNode("a"), orderedNode("b")
	b.ups, b.needs = []*node{a}, []string{"a"}
	x := &index{sorted: []*node{a, b}, nodes: map[string]*node{"a": a, "b": b}}
	makes := map[*node]*task{a: {n: a}, b: {n: b}}
	drops := map[*node]*task{a: {n: a, drop: true}, b: {n: b, drop: true}}
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
