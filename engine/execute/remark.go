package execute

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// remark writes an owner tag on an object, where it can carry one, is there and is ours, and changes nothing else of
// it.
func remark(ctx context.Context, j *planner.Jobs, n *plan.Node, g *state.Generation, mark reconcile.Mark) error {
	job, look, err := j.MarkJob(ctx, n, g, mark)
	if err != nil || job == nil || look.Absent {
		return err
	}
	kind, _ := j.Catalog.Kind(g.Kind)
	if adopt.Judge(j.EvidenceOf(n, kind.Spec(), job, look, g)).Verdict != adopt.Ours {
		return nil
	}
	return WriteMark(ctx, kind, job)
}

// WriteMark writes the owner tag of a job. An object that is missing meanwhile gets none.
func WriteMark(ctx context.Context, kind reconcile.Any, job *reconcile.Job) error {
	_, err := kind.Settle(ctx, job, reconcile.Hooks{Intend: func(context.Context) error { return plan.ErrStopped }})
	if errors.Is(err, plan.ErrStopped) {
		return nil
	}
	return err
}

// RemarkAll tags all objects of a node with an address.
func RemarkAll(ctx context.Context, j *planner.Jobs, n *plan.Node, addr string) error {
	for _, g := range n.Entry.Generations {
		if err := remark(ctx, j, n, g, j.Mark(addr, g.Number)); err != nil {
			return err
		}
	}
	return nil
}
