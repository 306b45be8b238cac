package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/statestore"
)

// finish writes outputs and the end of the run to state, with what else belongs to it, and says how it went.
func (r *Run) finish(ctx context.Context, end statestore.Change) (*Result, error) {
	for addr := range r.Draft.Damaged {
		if _, counted := r.statuses[addr]; !counted && r.Draft.Edit == nil {
			r.summary.Blocked++ // what cannot be read was not touched, and is still there
		}
	}
	r.summary.Blocked += len(r.Draft.Missed.Lines)
	res := &Result{Run: r.id, State: r.endState(), Failures: r.failures, Waiting: r.waiting, Summary: r.summary, Calls: r.Draft.Gate.Made()}
	res.InterruptedBy, res.Causes = r.interruptedBy(), commonCauses(r.failures)
	res.Outputs, res.Secret = r.Draft.Outputs().Values(ctx)
	if res.Summary.OutputsFailed = r.Draft.Outputs().Failed(ctx, r.emit); res.Summary.OutputsFailed > 0 && res.State == statestore.Succeeded {
		res.State = statestore.Failed
	}
	if sealed, changed := r.Draft.Outputs().Seal(ctx); changed && r.Draft.Edit == nil {
		end.Outputs, end.KeyID = sealed, r.Runner.Key.ID()
	}
	r.Runner.Warm.Settled(res.Waiting)
	res.Took = time.Since(r.started)
	res.Slow = r.tookLong(res.Took)
	r.sayCancelled()
	r.emit(plan.Event{Type: plan.EventRun, Status: plan.Status(res.State), Elapsed: res.Took.Seconds()})
	summary, err := json.Marshal(res.Summary)
	if err != nil {
		return res, fmt.Errorf("summary: %w", err)
	}
	if err := r.Journal.FinishWith(ctx, end, res.State, summary); err != nil {
		return res, fmt.Errorf("state: %w", err)
	}
	res.Commits = r.Journal.Commits()
	return res, nil
}

func (r *Run) endState() statestore.RunState {
	switch {
	case r.Stopping():
		return statestore.Cancelled
	case len(r.failures) > 0 || r.broken || len(r.Draft.Missed.Lines) > 0 || len(r.Draft.Damaged) > 0 && r.Draft.Edit == nil:
		return statestore.Failed
	default:
		return statestore.Succeeded
	}
}

// waitingOf is what somebody must do, by address.
func waitingOf(p *plan.Plan) map[string]string {
	waiting := map[string]string{}
	for _, a := range p.Actions {
		if a.Waiting != "" {
			waiting[a.Address] = a.Waiting
		}
	}
	return waiting
}
