package engine

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// MarkJob looks at a thing for the sake of its mark: the job would write the mark and change nothing else. It is nil
// where there is no mark to write: the kind carries none, nothing is known of the thing, or nothing of its props.
func (j *Jobs) MarkJob(ctx context.Context, n *Node, g *state.Generation, mark reconcile.Mark) (*reconcile.Job, reconcile.Look, error) {
	kind, ok := j.Catalog.Kind(g.Kind)
	if !ok || !kind.Spec().Marked || g.Identity == "" {
		return nil, reconcile.Look{}, nil
	}
	a, err := j.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return nil, reconcile.Look{}, err
	}
	job := j.RecordedJob(n, a, g)
	if job.Props, job.Mark = job.Had, mark; job.Props == nil {
		return nil, reconcile.Look{}, nil
	}
	look, err := observe.See(ctx, kind, job)
	if err != nil || look.Absent {
		return job, look, err
	}
	// A job is for one set of props and what is ignored of them.
	again := j.RecordedJob(n, a, g)
	again.Props, again.Mark = again.Had, mark
	for _, s := range look.Steps {
		if !IsMarkStep(s) {
			again.Ignore = append(again.Ignore, s.Path)
		}
	}
	return again, look, nil
}

// remark writes a mark on a thing, where it can carry one, is there and is ours, and changes nothing else of it.
func remark(ctx context.Context, j *Jobs, n *Node, g *state.Generation, mark reconcile.Mark) error {
	job, look, err := j.MarkJob(ctx, n, g, mark)
	if err != nil || job == nil || look.Absent {
		return err
	}
	kind, _ := j.Catalog.Kind(g.Kind)
	if adopt.Judge(j.EvidenceOf(n, kind.Spec(), job, look, g)).Verdict != adopt.Ours {
		return nil
	}
	_, err = kind.Settle(ctx, job, reconcile.Hooks{Intend: func(context.Context) error { return ErrStopped }})
	if errors.Is(err, ErrStopped) {
		return nil // gone meanwhile
	}
	return err
}

// RemarkAll tags all objects of a node with an address.
func RemarkAll(ctx context.Context, j *Jobs, n *Node, addr string) error {
	for _, g := range n.Entry.Generations {
		if err := remark(ctx, j, n, g, j.Mark(addr, g.Number)); err != nil {
			return err
		}
	}
	return nil
}
