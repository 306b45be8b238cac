package execute

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// unusable reports that what was begun cannot become the new object: an interrupted run began it, and it is no longer
// what is declared; or the answer to its creation was lost, with what only that held.
func unusable(err error, again bool) bool {
	replace, ok := errors.AsType[*reconcile.ReplaceError](err)
	return ok && (again || replace.Lost())
}

// makeRoom deletes what is condemned when there would be a third object beside the live and the new one. What cannot be
// deleted now, because something still uses it, stays condemned.
func (c *creator) makeRoom(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	condemned := rec.Condemned()
	if n.Spec.Recorded {
		return c.undoAll(ctx, n, rec, condemned)
	}
	if rec.Live() == nil && len(condemned) > 0 {
		newest := slices.MaxFunc(condemned, func(a, b *state.Generation) int { return cmp.Compare(a.Number, b.Number) })
		condemned = slices.DeleteFunc(condemned, func(g *state.Generation) bool { return g == newest })
	}
	for _, g := range condemned {
		if err := c.discard(ctx, n, rec, g); err != nil {
			return err
		}
	}
	return nil
}

// undoAll undoes what earlier runs of a command left behind, before it runs once more: an undo after that would undo the new run.
func (c *creator) undoAll(ctx context.Context, n *plan.Node, rec *state.Entry, condemned []*state.Generation) error {
	for _, g := range condemned {
		if kind, known := c.Catalog.Kind(g.Kind); !known || !plan.Undoes(kind.Spec()) {
			continue
		}
		if err := c.deleteGeneration(ctx, n, g); err != nil {
			return err
		}
		rec.Drop(g)
	}
	return nil
}

// roomPatience is how long something that stands in the way is tried to be deleted.
const roomPatience = 30 * time.Second

// discard takes away what cannot be used, before another one is begun. One that cannot be deleted stays condemned.
func (c *creator) discard(ctx context.Context, n *plan.Node, rec *state.Entry, g *state.Generation) error {
	if g.Empty() || g.StateOnly && !g.Begun() {
		rec.Drop(g)
		return nil
	}
	if g.State != statestore.Condemned {
		g.State = statestore.Condemned
		if err := c.commit(ctx, n, rec.Clone()); err != nil {
			return err
		}
	}
	patient, cancel := context.WithTimeout(ctx, roomPatience)
	defer cancel()
	if err := c.deleteGeneration(patient, n, g); err != nil {
		c.emit(plan.Event{Type: plan.EventWarning, Address: n.Address, Kind: n.KindName(), Note: "what was begun cannot be deleted now: " + err.Error()})
		return nil
	}
	rec.Drop(g)
	return nil
}
