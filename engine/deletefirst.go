package engine

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// deleteFirst finds what must be deleted before its replacement comes.
type deleteFirst struct{ index *index }

// spread carries replacements that delete first on to what would be broken meanwhile: a dependent whose
// fixed path holds a value of the old thing goes before it, and comes again after.
func (d deleteFirst) spread() {
	for more := true; more; {
		more = false
		for _, n := range d.index.sorted {
			if n.plan != nil && n.decl != nil && !n.plan.DeleteFirst && d.goesFirst(n) {
				n.plan.DeleteFirst, more = true, true
			}
		}
	}
}

// goesFirst reports that what is there of a node must be deleted before its new thing comes, or before something else is.
func (d deleteFirst) goesFirst(n *node) bool {
	if n.plan.Action == Create && n.rec != nil && !n.look.NotYet {
		return slices.ContainsFunc(n.nameHeld(n.rec), func(g *state.Generation) bool { return g.State == statestore.Condemned })
	}
	if n.plan.Action != Replace {
		return false
	}
	first := n.decl.Options.DeleteFirst || n.spec.DeleteFirst || len(n.nameHeld(n.rec)) > 0 ||
		isFound(n) && n.job.Named && known(n.job.Name)
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
	return !n.plan.May && d.clings(n)
}

// clings reports that the old thing of a node holds on to one that goes first, although its new one will not.
func (d deleteFirst) clings(n *node) bool {
	goes := func(up *node) bool {
		return up != nil && up.plan != nil && up.plan.DeleteFirst && !slices.Contains(n.needs, up.addr)
	}
	if !isFound(n) && (n.rec == nil || !n.rec.NeedsUnknown) {
		return n.rec != nil && slices.ContainsFunc(n.rec.Needs, func(a string) bool { return goes(d.index.nodes[a]) })
	}
	// Without a record the values of the old thing tell.
	return slices.ContainsFunc(d.index.declared, func(up *node) bool {
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
