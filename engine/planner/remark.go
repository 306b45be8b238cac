package planner

import (
	"context"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// MarkJob reads an object for the sake of its owner tag: the job would write the tag and change nothing else. It is nil
// where there is no tag to write: the kind carries none, nothing is known of the object, or nothing of its props.
func (j *Jobs) MarkJob(ctx context.Context, n *plan.Node, g *state.Generation, mark reconcile.Mark) (*reconcile.Job, reconcile.Look, error) {
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
		if !plan.IsMarkStep(s) {
			again.Ignore = append(again.Ignore, s.Path)
		}
	}
	return again, look, nil
}
