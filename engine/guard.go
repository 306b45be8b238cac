package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

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

// guard refuses what would lose what must not be lost.
func (w *work) guard(n *node) {
	switch n.plan.Action {
	case Replace:
		w.guardReplace(n)
	case Delete:
		w.guardDelete(n)
	default:
	}
}

func (w *work) guardReplace(n *node) {
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
	if n.look.Holds && !o.AllowReplace && !o.AllowDelete && !n.look.MayDelete && !matches(w.o.Replace, n.addr) && !matches(w.o.AllowDelete, n.addr) {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", reconcile.ErrHoldsData, replacing(n.plan.Reasons)),
			"--replace %s, or allowReplace in the program, if its data may go", n.addr))
	}
}

func (w *work) guardDelete(n *node) {
	o := n.rec.Options
	if o.Protect {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%w and would be deleted", ErrProtected),
			"declare it again with `protect: false` and deploy, then delete it"))
		return
	}
	if n.look.Holds && !w.mayDelete(n) {
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
