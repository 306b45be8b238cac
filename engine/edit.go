package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// StateEdit changes the record itself, and of the world no more than marks. It is planned and applied like a deploy, so
// that it is shown, asked for, held to its plan and run under the lease.
type StateEdit struct {
	// Apply does it. What it gives is written with the end of the run; an error means that everything is as it was.
	Apply func(context.Context, *Run) (statestore.Change, error)
	// More says that there is more to do than the plan's actions show.
	More bool
}

// Also reports that there is more to do than the plan's actions show.
func (e *StateEdit) Also() bool { return e.More }

// NewEdit opens the record of a stage for an edit. Relative paths of what is looked at start in dir.
func (e *Planner) NewEdit(ctx context.Context, stage statestore.Stage, dir string) (*Draft, error) {
	w, err := e.NewWork(ctx, EmptyGraph(stage, &Graph{Dir: dir}), Policy{})
	if err != nil {
		return nil, err
	}
	return w, w.read(ctx)
}

// EditPlan makes the plan of an edit. What was refused is the error, beside the plan.
func (w *Draft) EditPlan(actions []Planned, what Edit, again func(context.Context) (*Plan, error)) (*Plan, error) {
	w.Edit, w.Again = what, again
	slices.SortStableFunc(actions, func(a, b Planned) int { return CompareStrings(a.Address, b.Address) })
	p := &Plan{
		Format: planFormat, Stack: w.Stage.Stack, Stage: w.Stage.Name, Serial: w.Snap.Serial, Actions: actions, work: w,
	}
	for _, a := range actions {
		p.Summary.Count(a.Action, StatusDone)
	}
	return p, w.Refused()
}

// edit does what an edit says and ends the run.
func (r *Run) edit(ctx context.Context, what *StateEdit) (*Result, error) {
	end, err := what.Apply(ctx, r)
	if err != nil {
		state := statestore.Failed
		if r.Stopping() {
			state = statestore.Cancelled
		}
		return nil, errors.Join(err, r.Journal.Finish(context.WithoutCancel(ctx), state, nil))
	}
	return r.finish(context.WithoutCancel(ctx), end)
}

// Unreadable is the error about an address whose record is damaged.
func Unreadable(addr string, err error) error {
	return reconcile.WithHint(&damagedRow{err}, "`athanor state rm %s` forgets it; the next deploy finds what is there by reading", addr)
}

// damagedRow says that a record cannot be read.
type damagedRow struct{ err error }

func (e *damagedRow) Error() string { return "its state entry cannot be read: " + e.err.Error() }
func (e *damagedRow) Unwrap() error { return e.err }
