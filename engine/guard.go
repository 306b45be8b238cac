package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// ErrProtected is matched by refusals to delete or replace what is protected.
var ErrProtected = errors.New("it is protected")

// guarding refuses what would lose what must not be lost.
type guarding struct {
	guards
	jobs *jobs
	devRules
	*chosen
	*refusals
}

// guard refuses what the guards refuse.
func (g *guarding) guard(n *node, holds bool) {
	if err := g.refuses(n, holds); err != nil {
		g.refuse(n, err)
	}
}

// guardAll guards every address, once everything is decided: data that the plan itself deletes are no others' data.
func (g *guarding) guardAll(ctx context.Context, all []*node) {
	deleted := map[state.Object][]string{}
	for _, n := range all {
		for _, o := range g.deletes(n) {
			deleted[o] = append(deleted[o], n.addr)
		}
	}
	for _, n := range all {
		if n.plan == nil || !g.isSelected(n) || n.plan.Action != Delete && n.plan.Action != Replace {
			continue
		}
		if err := g.refusesKept(n); err != nil {
			g.refuse(n, err)
			continue
		}
		holds := n.look.Holds
		if holds {
			by, only := g.heldByPlan(ctx, n, deleted)
			n.holding, holds = by, !only
		}
		g.guard(n, holds)
	}
	for _, n := range all {
		if n.rec != nil && n.plan != nil && g.isSelected(n) {
			g.noteHeldByOlder(ctx, n, deleted)
		}
	}
}

// noteHeldByOlder notes what the older generations of a node hold that the plan deletes: that goes before them. The run refuses
// to delete what holds anything else.
func (g *guarding) noteHeldByOlder(ctx context.Context, n *node, deleted map[state.Object][]string) {
	for _, old := range n.rec.Condemned() {
		kind, ok := g.catalog.Kind(old.Kind)
		if !ok || !kind.Spec().ListsHeld || old.Identity == "" || old.Retain || g.mayDelete(n) {
			continue
		}
		way, err := g.jobs.cloud.At(ctx, n.addr, n.rec, old)
		if err != nil {
			continue // the run says so
		}
		job := g.jobs.recordedJob(n, way, old)
		job.ID = old.Identity
		by, _ := g.heldBy(ctx, kind, job, deleted)
		n.holding = append(n.holding, by...)
	}
}

// deletes returns the objects of a node that the plan deletes, or may delete: each deletion asks once more what is held.
func (g *guarding) deletes(n *node) []state.Object {
	replaced := n.decl != nil && n.plan != nil && n.plan.Action == Replace && !n.decl.Options.Retain
	var objects []state.Object
	switch {
	case !g.isSelected(n):
	case replaced && isFound(n):
		objects = append(objects, state.Object{Kind: n.spec.Type, Location: n.access.Place, Identity: n.look.Identity})
	case n.rec == nil:
	case replaced, n.decl == nil && (n.plan == nil || n.plan.Action == Delete):
		for _, g := range n.rec.Generations {
			objects = append(objects, g.Object())
		}
	default:
		for _, g := range g.collectable(n.rec) {
			objects = append(objects, g.Object())
		}
	}
	return objects
}

// heldByPlan returns the addresses of what an object holds and the plan deletes, which goes first, and whether it holds nothing
// else: by its identity, or as what a creation began whose identity is not in state. What is not read counts as others' data.
func (g *guarding) heldByPlan(ctx context.Context, n *node, deleted map[state.Object][]string) (by []string, only bool) {
	kind := n.presentKind(g.catalog)
	if len(deleted) == 0 || n.job == nil || kind == nil || !kind.Spec().ListsHeld || g.mayDelete(n) {
		return nil, false
	}
	job := *n.job
	job.ID, job.Last = n.look.Identity, n.look.Attrs
	return g.heldBy(ctx, kind, &job, deleted)
}

// heldBy returns the addresses of what an object holds and the plan deletes, and whether it holds nothing else.
func (g *guarding) heldBy(ctx context.Context, kind reconcile.Any, job *reconcile.Job, deleted map[state.Object][]string) (by []string, only bool) {
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

// guards keep what must not be lost: what is protected, and users' data that nobody permitted to delete.
type guards struct {
	catalog *reconcile.Catalog
	// replace and allowDelete are the globs of the command line.
	replace, allowDelete []string
}

// refuses returns why the object of a node must not be replaced or deleted as is planned, nil when it may. Holds says that it holds
// data which nothing else deletes.
func (g guards) refuses(n *node, holds bool) error {
	switch n.plan.Action {
	case Replace:
		return g.refusesReplace(n, holds)
	case Delete:
		return g.refusesDelete(n, holds)
	default:
		return nil
	}
}

func (g guards) refusesReplace(n *node, holds bool) error {
	o := n.decl.Options
	switch {
	case n.presentKind(g.catalog).Spec().Stands != "":
		return nil // the old one is on this machine: what is declared is to guard the one that comes
	case o.Protect:
		return reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", ErrProtected, replacing(n.plan.Reasons)),
			"take `protect` off, or change it back")
	case o.Retain && n.plan.DeleteFirst:
		return errors.New("it is retained, and can only be replaced by deleting it first")
	case holds && !o.AllowReplace && !o.AllowDelete && !n.look.MayDelete && !matches(g.replace, n.addr) && !matches(g.allowDelete, n.addr):
		return reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", reconcile.ErrHoldsData, replacing(n.plan.Reasons)),
			"--replace %s, or allowReplace in the program, if its data may go", n.addr)
	}
	return nil
}

func (g guards) refusesDelete(n *node, holds bool) error {
	switch {
	case n.rec.Options.Protect:
		return reconcile.WithHint(fmt.Errorf("%w and would be deleted", ErrProtected),
			"declare it again with `protect: false` and deploy, then delete it")
	case holds && !g.mayDelete(n):
		return reconcile.WithHint(fmt.Errorf("%w and would be deleted", reconcile.ErrHoldsData), "--allow-delete %s if its data may go", n.addr)
	}
	return nil
}

// names reports whether the command line names a node as one that may be replaced or deleted.
func (g guards) names(n *node) bool {
	return matches(g.replace, n.addr) || matches(g.allowDelete, n.addr)
}

// mayDelete reports whether users' data may go with an object that is deleted.
func (g guards) mayDelete(n *node) bool {
	allowed := matches(g.allowDelete, n.addr) || n.look.MayDelete
	if n.rec != nil {
		allowed = allowed || n.rec.Options.AllowDelete || n.decl == nil && n.rec.MayDeleteData
	}
	if n.decl != nil {
		o := n.decl.Options
		allowed = allowed || o.AllowDelete || o.AllowReplace || matches(g.replace, n.addr)
	}
	return allowed
}

func replacing(reasons []Reason) string {
	for _, r := range reasons {
		if r.Replaces && r.Path != "" {
			return string(r.Path)
		}
	}
	return "by request"
}
