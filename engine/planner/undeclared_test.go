package planner

import (
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestUndeclared: what carries our tag and nothing declares is found, the newest generation as the live one; what is
// declared, or retained, is not.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	tagged := func(addr, id string, generation uint64, retained bool) observe.Tagged {
		tag := reconcile.Mark{Stack: "s", Stage: "t", Address: addr, Generation: generation, Retained: retained}
		return observe.Tagged{Found: reconcile.Found{Kind: "test.Kind", Identity: id, Mark: &tag}, Way: &observe.Way{}}
	}
	declared := &plan.Node{Declaration: plan.Declaration{Address: "declared", Decl: &graph.Resource{Options: graph.Options{RenamedFrom: []string{"earlier"}}}}}
	index := &plan.Index{Catalog: &reconcile.Catalog{}, Nodes: map[string]*plan.Node{}, Declared: []*plan.Node{declared}}
	f := &finder{Jobs: &Jobs{Program: &Program{Basis: &plan.Basis{Index: index}}}}
	f.discovered = discoveryOf([]observe.Tagged{
		tagged("old", "1", 1, false), tagged("old", "2", 2, false), tagged("declared", "3", 1, false), tagged("earlier", "4", 1, false), tagged("kept", "5", 1, true),
	})
	found := f.undeclared(false)
	if len(found) != 1 || found[0].Address != "old" {
		t.Fatalf("found %d", len(found))
	}
	live, condemned := found[0].Entry.Live(), found[0].Entry.Condemned()
	if live == nil || live.Identity != "2" || len(condemned) != 1 || condemned[0].Identity != "1" {
		t.Errorf("live %v, condemned %v", live, condemned)
	}
}
