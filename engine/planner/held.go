package planner

import (
	"context"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// holding guards what is planned, and reads for that what objects hold.
type holding struct {
	*plan.Guarding
	jobs *Jobs
}

// guardAll guards every address, once everything is decided: data that the plan itself deletes are no others' data.
func (g *holding) guardAll(ctx context.Context, all []*plan.Node) {
	deleted := map[state.Object][]string{}
	for _, n := range all {
		for _, o := range g.Deletes(n) {
			deleted[o] = append(deleted[o], n.Address)
		}
	}
	for _, n := range all {
		if n.Plan == nil || !g.IsSelected(n) || n.Plan.Action != plan.Delete && n.Plan.Action != plan.Replace {
			continue
		}
		if err := g.RefusesKept(n); err != nil {
			g.Refuse(n, err)
			continue
		}
		holds := n.Look().Holds
		if holds {
			by, only := g.heldByPlan(ctx, n, deleted)
			n.Holding, holds = by, !only
		}
		g.Guard(n, holds)
	}
	for _, n := range all {
		if n.Entry != nil && n.Plan != nil && g.IsSelected(n) {
			g.noteHeldByOlder(ctx, n, deleted)
		}
	}
}

// noteHeldByOlder notes what the older generations of a node hold that the plan deletes: that goes before them. The run refuses
// to delete what holds anything else.
func (g *holding) noteHeldByOlder(ctx context.Context, n *plan.Node, deleted map[state.Object][]string) {
	for _, old := range n.Entry.Condemned() {
		kind, ok := g.jobs.Catalog.Kind(old.Kind)
		if !ok || !kind.Spec().ListsHeld || old.Identity == "" || old.Retain || g.MayDelete(n) {
			continue
		}
		way, err := g.jobs.Cloud.At(ctx, n.Address, n.Entry, old)
		if err != nil {
			continue // the run says so
		}
		job := g.jobs.RecordedJob(n, way, old)
		job.ID = old.Identity
		by, _ := g.heldBy(ctx, kind, job, deleted)
		n.Holding = append(n.Holding, by...)
	}
}

// heldByPlan returns the addresses of what an object holds and the plan deletes, which goes first, and whether it holds nothing
// else: by its identity, or as what a creation began whose identity is not in state. What is not read counts as others' data.
func (g *holding) heldByPlan(ctx context.Context, n *plan.Node, deleted map[state.Object][]string) (by []string, only bool) {
	kind := n.PresentKind(g.jobs.Catalog)
	if len(deleted) == 0 || n.Job == nil || kind == nil || !kind.Spec().ListsHeld || g.MayDelete(n) {
		return nil, false
	}
	job := *n.Job
	job.ID, job.Last = n.Look().Identity, n.Look().Attrs
	return g.heldBy(ctx, kind, &job, deleted)
}

// heldBy returns the addresses of what an object holds and the plan deletes, and whether it holds nothing else.
func (g *holding) heldBy(ctx context.Context, kind reconcile.Any, job *reconcile.Job, deleted map[state.Object][]string) (by []string, only bool) {
	held, err := observe.Patiently(ctx, job.Cloud, kind.Spec().Timeouts.Create, func(ctx context.Context) ([]reconcile.Found, error) {
		return kind.Held(ctx, job, len(deleted)+1)
	})
	begun := map[state.Object]int{}
	for _, f := range held {
		o := state.Object{Kind: f.Kind, Location: job.Place, Identity: f.Identity}
		if len(deleted[o]) == 0 {
			o.Identity = ""
			if begun[o]++; begun[o] > len(deleted[o]) {
				return by, false
			}
		}
		by = append(by, deleted[o]...)
	}
	return by, err == nil
}
