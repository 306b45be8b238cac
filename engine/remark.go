package engine

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// markJob looks at a thing for the sake of its mark: the job would write the mark and change nothing else. It is nil
// where there is no mark to write: the kind carries none, nothing is known of the thing, or nothing of its props.
func (j *jobs) markJob(ctx context.Context, n *node, g *state.Generation, mark reconcile.Mark) (*reconcile.Job, reconcile.Look, error) {
	kind, ok := j.catalog.Kind(g.Kind)
	if !ok || !kind.Spec().Marked || g.Identity == "" {
		return nil, reconcile.Look{}, nil
	}
	a, err := j.cloud.At(ctx, n.addr, n.rec, g)
	if err != nil {
		return nil, reconcile.Look{}, err
	}
	job := j.recordedJob(n, a, g)
	if job.Props, job.Mark = job.Had, mark; job.Props == nil {
		return nil, reconcile.Look{}, nil
	}
	look, err := observe.See(ctx, kind, job)
	if err != nil || look.Absent {
		return job, look, err
	}
	// A job is for one set of props and what is ignored of them.
	again := j.recordedJob(n, a, g)
	again.Props, again.Mark = again.Had, mark
	for _, s := range look.Steps {
		if !isMarkStep(s) {
			again.Ignore = append(again.Ignore, s.Path)
		}
	}
	return again, look, nil
}

// remark writes a mark on a thing, where it can carry one, is there and is ours, and changes nothing else of it.
func remark(ctx context.Context, j *jobs, n *node, g *state.Generation, mark reconcile.Mark) error {
	job, look, err := j.markJob(ctx, n, g, mark)
	if err != nil || job == nil || look.Absent {
		return err
	}
	kind, _ := j.catalog.Kind(g.Kind)
	if adopt.Judge(j.evidenceOf(n, kind.Spec(), job, look, g)).Verdict != adopt.Ours {
		return nil
	}
	_, err = kind.Settle(ctx, job, reconcile.Hooks{Intend: func(context.Context) error { return errStopped }})
	if errors.Is(err, errStopped) {
		return nil // gone meanwhile
	}
	return err
}

// remarkAll tags all objects of a node with an address.
func remarkAll(ctx context.Context, j *jobs, n *node, addr string) error {
	for _, g := range n.rec.Generations {
		if err := remark(ctx, j, n, g, j.mark(addr, g.Number)); err != nil {
			return err
		}
	}
	return nil
}
