package execute

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/statestore"
)

// StateEdit changes state itself, and of the cloud no more than owner tags. It is planned and applied like a deploy, so
// that it is shown, asked for, held to its plan and run under the lease.
type StateEdit struct {
	// Apply does it. What it gives is written with the end of the run; an error means that everything is as it was.
	Apply func(context.Context, *Run) (statestore.Change, error)
	// More says that there is more to do than the plan's actions show.
	More bool
}

// Also reports that there is more to do than the plan's actions show.
func (e *StateEdit) Also() bool { return e.More }

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
