package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// ErrProtected is matched by refusals to delete or replace what is protected.
var ErrProtected = errors.New("it is protected")

// refuse says that the plan as a whole cannot be applied because of this node. All refusals are listed at once.
func (w *work) refuse(n *node, err error) {
	w.block(n, err)
	w.refusals = append(w.refusals, Problem{Address: n.addr, Source: n.source(), Err: w.redact.error(err)})
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
	o := n.rec.options
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
		allowed = allowed || n.rec.options.AllowDelete || n.decl == nil && n.rec.leave
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
	for _, n := range w.sorted {
		if n.plan == nil || n.decl == nil {
			continue
		}
		if n.plan.Action == Create && n.rec != nil && !n.look.NotYet {
			n.plan.DeleteFirst = slices.ContainsFunc(n.nameHeld(n.rec), func(g *generation) bool { return g.state == statestore.Condemned })
		}
		if n.plan.Action != Replace {
			continue
		}
		n.plan.DeleteFirst = n.decl.Options.DeleteFirst || len(n.nameHeld(n.rec)) > 0 ||
			w.isFound(n) && n.job.Named
		for _, up := range w.upstreams(n) {
			if up.plan != nil && up.plan.DeleteFirst && n.fixedOn(up) {
				n.plan.DeleteFirst, n.plan.May = true, false
			}
		}
		if !n.plan.DeleteFirst {
			continue
		}
		for i := range n.plan.Reasons {
			if r := &n.plan.Reasons[i]; r.Replaces {
				r.Unknown = r.Unknown && n.plan.May
			}
		}
	}
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
