package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// A location that cannot be reached refuses a destroy before the first deletion, and says for which resources.
func TestDestroyReachesAllLocationsFirst(t *testing.T) {
	b := newBench(t)
	far := res("far", m{"name": "far"})
	far.Settings = m{"region": "north"}
	b.deploy(graph(res("near", m{"name": "near"}), far))
	b.world.unreachable = "north"
	p, err := b.e.PlanDestroy(t.Context(), testStage, nil, b.opts)
	refused, ok := errors.AsType[*engine.RefusedError](err)
	if !ok || len(refused.Problems) != 1 || refused.Problems[0].Address != "far" || !errors.Is(err, errDenied) {
		t.Fatalf("%v %+v", err, p)
	}
	// What the user leaves out need not be reached.
	b.opts.Exclude = []string{"far"}
	if p, err := b.e.PlanDestroy(t.Context(), testStage, nil, b.opts); err != nil {
		t.Errorf("without it: %v %s", err, actions(p))
	}
}

// A wrong region of the right account is told with what to set.
func TestWrongRegionHint(t *testing.T) {
	b := newBench(t)
	b.world.moved = "home"
	b.deploy(graph(res("a", m{"name": "a"})))
	b.world.moved = "west"
	_, err := b.e.Plan(t.Context(), graph(res("a", m{"name": "a"})), b.opts)
	if hints := strings.Join(reconcile.Hints(err), "; "); err == nil || !strings.Contains(hints, "set the region to home") {
		t.Errorf("%v: %s", err, hints)
	}
}

// What goes with another does not undo itself after that was deleted.
func TestDeletedWithUndoesNothing(t *testing.T) {
	b := newBench(t)
	run := engine.Resource{Address: "k", Kind: "world.Run", Props: m{"text": "⟦p.id⟧"}}
	run.Options.DeletedWith = "p"
	b.deploy(graph(res("p", m{"name": "parent"}), run))
	b.world.takeLog()
	if r := b.deploy(graph()); len(r.Failures) > 0 || r.Summary.Deleted != 2 {
		t.Errorf("%+v %s", r.Summary, failures(r))
	}
	if log := strings.Join(b.world.takeLog(), ","); log != "delete parent" {
		t.Errorf("calls: %s", log)
	}
}
