package simtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// TestLevelOfManyBatches: a level of more resources than the planner decides at a time (1,024) is created,
// replaced and deleted whole, its last batch too, and unchanged afterwards, with what needs a resource of each batch.
func TestLevelOfManyBatches(t *testing.T) {
	const count = 1030
	program := func(size string) *engine.Graph {
		var all []engine.Resource
		for i := range count {
			all = append(all, res("Named", fmt.Sprintf("r%04d", i), m{"size": size}))
		}
		return graph(append(all, res("Named", "user", m{"after": "⟦r0000.id⟧ ⟦r1029.id⟧"}))...)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t)
		run := func(what string, c simtest.Command, want func(engine.Summary) int) {
			t.Helper()
			r := s.Run(t.Context(), c, nil)
			if r.Err != nil || r.Plan == nil {
				t.Fatalf("%s: %v", what, r.Err)
			}
			if n := want(r.Plan.Summary); n != count+1 {
				t.Errorf("%s: %d of %d, %+v", what, n, count+1, r.Plan.Summary)
			}
		}
		unchanged := func(sum engine.Summary) int { return sum.Unchanged }
		run("a first deploy", simtest.Command{Graph: program("s")}, func(sum engine.Summary) int { return sum.Created })
		if n := len(s.Cloud.Objects()); n != count+1 {
			t.Fatalf("%d objects", n)
		}
		run("the same", simtest.Command{Graph: program("s"), PlanOnly: true}, unchanged)
		run("another size", simtest.Command{Graph: program("m")}, func(sum engine.Summary) int { return sum.Replaced + sum.Updated })
		run("the same again", simtest.Command{Graph: program("m"), PlanOnly: true}, unchanged)
		run("a destroy", simtest.Command{Destroy: true, Program: program("m")}, func(sum engine.Summary) int { return sum.Deleted })
		if n := len(s.Cloud.Objects()); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}
