package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// edit changes the record itself, and of the world no more than marks. It is planned and applied like a deploy, so
// that it is shown, asked for, held to its plan and run under the lease.
type edit struct {
	// apply does it. What it gives is written with the end of the run; an error means that everything is as it was.
	apply func(context.Context, *run) (statestore.Change, error)
	// also says that there is more to do than the plan's actions show.
	also bool
}

// Also reports that there is more to do than the plan's actions show.
func (e *edit) Also() bool { return e.also }

// newEdit opens the record of a stage for an edit. Relative paths of what is looked at start in dir.
func (e *Planner) newEdit(ctx context.Context, stage statestore.Stage, dir string) (*work, error) {
	w, err := e.newWork(ctx, emptyGraph(stage, &Graph{Dir: dir}), policy{})
	if err != nil {
		return nil, err
	}
	return w, w.read(ctx)
}

// editPlan makes the plan of an edit. What was refused is the error, beside the plan.
func (w *work) editPlan(actions []Planned, what Edit, again func(context.Context) (*Plan, error)) (*Plan, error) {
	w.edit, w.again = what, again
	slices.SortStableFunc(actions, func(a, b Planned) int { return compareStrings(a.Address, b.Address) })
	p := &Plan{
		Format: planFormat, Stack: w.stage.Stack, Stage: w.stage.Name, Serial: w.snap.Serial, Actions: actions, work: w,
	}
	for _, a := range actions {
		p.Summary.count(a.Action, StatusDone)
	}
	return p, w.refused()
}

// edit does what an edit says and ends the run.
func (r *run) edit(ctx context.Context, what *edit) (*Result, error) {
	end, err := what.apply(ctx, r)
	if err != nil {
		state := statestore.Failed
		if r.stopping() {
			state = statestore.Cancelled
		}
		return nil, errors.Join(err, r.journal.Finish(context.WithoutCancel(ctx), state, nil))
	}
	return r.finish(context.WithoutCancel(ctx), end)
}

// unreadable is the error about an address whose record is damaged.
func unreadable(addr string, err error) error {
	return reconcile.WithHint(&damagedRow{err}, "`athanor state rm %s` forgets it; the next deploy finds what is there by reading", addr)
}

// damagedRow says that a record cannot be read.
type damagedRow struct{ err error }

func (e *damagedRow) Error() string { return "its state entry cannot be read: " + e.err.Error() }
func (e *damagedRow) Unwrap() error { return e.err }
