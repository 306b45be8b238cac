package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// ErrProtected is matched by refusals to delete or replace what is protected.
var ErrProtected = errors.New("it is protected")

// refuse says that the plan as a whole cannot be applied because of this node. All refusals are listed at once.
func (w *work) refuse(n *node, err error) {
	w.block(n, err)
	if w.drift != nil {
		return // a repair leaves it, and says so
	}
	w.refusals = append(w.refusals, Problem{Address: n.addr, Source: n.source(), Err: w.redact.Error(err)})
}

// guardAll refuses what would lose what must not be lost, once everything is decided: data that the plan itself deletes are no
// others' data.
func (w *work) guardAll(ctx context.Context) {
	all := slices.Concat(w.declared, w.leftover)
	deleted := map[state.Object][]string{}
	for _, n := range all {
		for _, o := range w.deletes(n) {
			deleted[o] = append(deleted[o], n.addr)
		}
	}
	for _, n := range all {
		if n.plan == nil || !w.isSelected(n) || n.plan.Action != Delete && n.plan.Action != Replace || n.decl != nil && w.guardKept(n) {
			continue
		}
		w.guard(n, n.look.Holds && !w.holdsOnly(ctx, n, deleted))
	}
}

// deletes returns the objects of a node that the plan deletes, or may delete: each deletion asks once more what is held.
func (w *work) deletes(n *node) []state.Object {
	replaced := n.decl != nil && n.plan != nil && n.plan.Action == Replace && !n.decl.Options.Retain
	var objects []state.Object
	switch {
	case !w.isSelected(n):
	case replaced && w.isFound(n):
		objects = append(objects, state.Object{Kind: n.spec.Type, Location: n.access.Place, Identity: n.look.Identity})
	case n.rec == nil:
	case replaced, n.decl == nil && (n.plan == nil || n.plan.Action == Delete):
		for _, g := range n.rec.Generations {
			objects = append(objects, g.Object())
		}
	default:
		for _, g := range w.collectable(n.rec) {
			objects = append(objects, g.Object())
		}
	}
	return objects
}

// holdsOnly reports whether an object holds nothing but what the plan deletes: by its identity, or as what a creation began whose
// identity is not in state. What is not read counts as others' data. It notes what is held: that goes first.
func (w *work) holdsOnly(ctx context.Context, n *node, deleted map[state.Object][]string) bool {
	kind := n.presentKind(w)
	if len(deleted) == 0 || n.job == nil || kind == nil || !kind.Spec().ListsHeld || w.mayDelete(n) {
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

// guard refuses what would lose what must not be lost. Holds says that the object holds data which nothing else deletes.
func (w *work) guard(n *node, holds bool) {
	switch n.plan.Action {
	case Replace:
		w.guardReplace(n, holds)
	case Delete:
		w.guardDelete(n, holds)
	default:
	}
}

func (w *work) guardReplace(n *node, holds bool) {
	if n.presentKind(w).Spec().Stands != "" {
		return // the old one is on this machine: what is declared is to guard the one that comes
	}
	o := n.decl.Options
	if o.Protect {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", ErrProtected, replacing(n.plan.Reasons)),
			"take `protect` off, or change it back"))
		return
	}
	if o.Retain && n.plan.DeleteFirst {
		w.refuse(n, errors.New("it is retained, and can only be replaced by deleting it first"))
		return
	}
	if holds && !o.AllowReplace && !o.AllowDelete && !n.look.MayDelete && !matches(w.o.Replace, n.addr) && !matches(w.o.AllowDelete, n.addr) {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", reconcile.ErrHoldsData, replacing(n.plan.Reasons)),
			"--replace %s, or allowReplace in the program, if its data may go", n.addr))
	}
}

func (w *work) guardDelete(n *node, holds bool) {
	o := n.rec.Options
	if o.Protect {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be deleted", ErrProtected),
			"declare it again with `protect: false` and deploy, then delete it"))
		return
	}
	if holds && !w.mayDelete(n) {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be deleted", reconcile.ErrHoldsData),
			"--allow-delete %s if its data may go", n.addr))
	}
}

// mayDelete reports whether users' data may go with a thing that is deleted.
func (w *work) mayDelete(n *node) bool {
	allowed := matches(w.o.AllowDelete, n.addr) || n.look.MayDelete
	if n.rec != nil {
		allowed = allowed || n.rec.Options.AllowDelete || n.decl == nil && n.rec.MayDeleteData
	}
	if n.decl != nil {
		o := n.decl.Options
		allowed = allowed || o.AllowDelete || o.AllowReplace || matches(w.o.Replace, n.addr)
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

// spread carries replacements that delete first on to what would be broken meanwhile: a dependent whose
// fixed path holds a value of the old thing goes before it, and comes again after.
func (w *work) spread() {
	for more := true; more; {
		more = false
		for _, n := range w.sorted {
			if n.plan != nil && n.decl != nil && !n.plan.DeleteFirst && w.goesFirst(n) {
				n.plan.DeleteFirst, more = true, true
			}
		}
	}
}

// goesFirst reports that what is there of a node must be deleted before its new thing comes, or before something else is.
func (w *work) goesFirst(n *node) bool {
	if n.plan.Action == Create && n.rec != nil && !n.look.NotYet {
		return slices.ContainsFunc(n.nameHeld(n.rec), func(g *state.Generation) bool { return g.State == statestore.Condemned })
	}
	if n.plan.Action != Replace {
		return false
	}
	first := n.decl.Options.DeleteFirst || n.spec.DeleteFirst || len(n.nameHeld(n.rec)) > 0 ||
		w.isFound(n) && n.job.Named && known(n.job.Name)
	for _, up := range n.ups {
		if up.plan != nil && up.plan.DeleteFirst && n.fixedOn(up) {
			first, n.plan.May = true, false
		}
	}
	if first {
		for i := range n.plan.Reasons {
			if r := &n.plan.Reasons[i]; r.Replaces {
				r.Unknown = r.Unknown && n.plan.May
			}
		}
		return true
	}
	return !n.plan.May && w.clings(n)
}

// clings reports that the old thing of a node holds on to one that goes first, although its new one will not.
func (w *work) clings(n *node) bool {
	goes := func(up *node) bool {
		return up != nil && up.plan != nil && up.plan.DeleteFirst && !slices.Contains(n.needs, up.addr)
	}
	if !w.isFound(n) && (n.rec == nil || !n.rec.NeedsUnknown) {
		return n.rec != nil && slices.ContainsFunc(n.rec.Needs, func(a string) bool { return goes(w.nodes[a]) })
	}
	// Without a record the values of the old thing tell.
	return slices.ContainsFunc(w.declared, func(up *node) bool {
		return goes(up) && slices.ContainsFunc(n.plan.Reasons, func(r Reason) bool {
			return r.Replaces && r.Have != nil && (tree.Equal(r.Have, up.look.Identity) || slices.ContainsFunc(
				slices.Collect(maps.Values(up.look.Attrs)), func(v any) bool { return v != "" && tree.Equal(r.Have, v) }))
		})
	})
}

// fixedOn reports that a path of n which replaces refers to up.
func (n *node) fixedOn(up *node) bool {
	return slices.ContainsFunc(n.plan.Reasons, func(r Reason) bool {
		if !r.Replaces {
			return false
		}
		for _, u := range n.uses {
			if u.Ref.Address == up.addr && (u.At.Within(r.Path) || r.Path.Within(u.At)) {
				return true
			}
		}
		return false
	})
}
