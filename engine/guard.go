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
		if n.plan == nil || !g.isSelected(n) || n.plan.Action != Delete && n.plan.Action != Replace || n.decl != nil && g.guardKept(n) {
			continue
		}
		g.guard(n, n.look.Holds && !g.holdsOnly(ctx, n, deleted))
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

// holdsOnly reports whether an object holds nothing but what the plan deletes: by its identity, or as what a creation began whose
// identity is not in state. What is not read counts as others' data. It notes what is held: that goes first.
func (g *guarding) holdsOnly(ctx context.Context, n *node, deleted map[state.Object][]string) bool {
	kind := n.presentKind(g.catalog)
	if len(deleted) == 0 || n.job == nil || kind == nil || !kind.Spec().ListsHeld || g.mayDelete(n) {
		return false
	}
	job := *n.job
	job.ID, job.Last = n.look.Identity, n.look.Attrs
	held, err := observe.Patiently(ctx, job.Cloud, kind.Spec().Timeouts.Create, func(ctx context.Context) ([]reconcile.Found, error) {
		return kind.Held(ctx, &job, len(deleted)+1)
	})
	if err != nil {
		return false
	}
	begun := map[state.Object]int{}
	n.holding = nil
	for _, f := range held {
		o := state.Object{Kind: f.Kind, Location: job.Place, Identity: f.Identity}
		if len(deleted[o]) == 0 {
			o.Identity = ""
			if begun[o]++; begun[o] > len(deleted[o]) {
				return false
			}
		}
		n.holding = append(n.holding, deleted[o]...)
	}
	return true
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
