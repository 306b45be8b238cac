package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// finish records outputs and the end of the run, with what else is to be recorded, and says how it went.
func (r *run) finish(ctx context.Context, end statestore.Change) (*Result, error) {
	for addr := range r.w.damaged {
		if _, counted := r.statuses[addr]; !counted && r.w.edit == nil {
			r.summary.Blocked++ // what cannot be read was not touched, and is still there
		}
	}
	r.summary.Blocked += len(r.w.missed.lines)
	res := &Result{Run: r.id, State: r.endState(), Failures: r.failures, Waiting: r.waiting, Summary: r.summary, Calls: r.w.gate.Made()}
	res.InterruptedBy, res.Causes = r.interruptedBy(), commonCauses(r.failures)
	res.Outputs, res.Secret = r.w.outputs().values(ctx)
	if sealed, changed := r.w.outputs().seal(ctx); changed && r.w.edit == nil {
		end.Outputs, end.KeyID = sealed, r.e.Key.ID()
	}
	r.e.Warm.settled(res.Waiting)
	res.Took = time.Since(r.started)
	res.Slow = r.tookLong(res.Took)
	r.sayCancelled()
	r.emit(Event{Type: EventRun, Status: Status(res.State), Elapsed: res.Took.Seconds()})
	summary, err := json.Marshal(res.Summary)
	if err != nil {
		return res, fmt.Errorf("summary: %w", err)
	}
	if err := r.journal.FinishWith(ctx, end, res.State, summary); err != nil {
		return res, fmt.Errorf("state: %w", err)
	}
	res.Commits = r.journal.Commits()
	return res, nil
}

func (r *run) endState() statestore.RunState {
	switch {
	case r.stopping():
		return statestore.Cancelled
	case len(r.failures) > 0 || r.broken || len(r.w.missed.lines) > 0 || len(r.w.damaged) > 0 && r.w.edit == nil:
		return statestore.Failed
	default:
		return statestore.Succeeded
	}
}

// Outputs are those of the last run that told them; secret ones are named apart.
func (e *Engine) Outputs(ctx context.Context, stage statestore.Stage) (values map[string]any, secret map[string]bool, err error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, nil, err
	}
	if err := e.Key.Check(snap.KeyID); err != nil {
		return nil, nil, err
	}
	return state.OpenOutputs(snap, e.Key)
}

// waitingOf is what somebody must do, by address.
func waitingOf(p *Plan) map[string]string {
	waiting := map[string]string{}
	for _, a := range p.Actions {
		if a.Waiting != "" {
			waiting[a.Address] = a.Waiting
		}
	}
	return waiting
}
