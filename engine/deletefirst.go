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
		under := map[*node]bool{} // what is made after something that is deleted first
		for _, n := range d.index.sorted {
			for _, up := range n.ups {
				under[n] = under[n] || under[up] || up.plan != nil && up.plan.DeleteFirst
			}
			late := under[n] && n.plan != nil && n.plan.May // a run could not tell before it deletes
			if n.plan == nil || n.decl == nil || n.plan.DeleteFirst && !late {
				continue
			}
			replaced := n.plan.Action == Replace
			switch dragged := replaced && dragged(n); {
			case dragged, replaced && leads(n):
				n.plan.May = n.plan.May && !dragged && !late
				for i := range n.plan.Reasons {
					if r := &n.plan.Reasons[i]; r.Replaces {
						r.Unknown = r.Unknown && n.plan.May
					}
				}
			case replaced && !n.plan.May && d.clings(n), waitsForName(n):
			default:
				continue
			}
			n.plan.DeleteFirst, more = true, true
		}
	}
}

// waitsForName reports a creation whose name a condemned object of the address still bears.
func waitsForName(n *node) bool {
	return n.plan.Action == Create && n.rec != nil && !n.look.NotYet &&
		slices.ContainsFunc(n.nameHeld(n.rec), func(g *state.Generation) bool { return g.State == statestore.Condemned })
}

// leads reports a replacement whose old object must be deleted first, whatever becomes of others.
func leads(n *node) bool {
	return n.decl.Options.DeleteFirst || n.spec.DeleteFirst || len(n.nameHeld(n.rec)) > 0 || isFound(n) && n.job.Named && known(n.job.Name)
}

// dragged reports a replacement that is certain because an upstream goes first, to which a path that replaces refers.
func dragged(n *node) bool {
	return slices.ContainsFunc(n.ups, func(up *node) bool { return up.plan != nil && up.plan.DeleteFirst && n.fixedOn(up) })
}

// clings reports that the old thing of a node holds on to one that goes first, although its new one will not.
func (d deleteFirst) clings(n *node) bool {
	goes := func(up *node) bool {
		return up != nil && up.plan != nil && up.plan.DeleteFirst && !slices.Contains(n.needs, up.addr)
	}
	known := !isFound(n) && (n.rec == nil || !n.rec.NeedsUnknown)
	if known && n.rec != nil && slices.ContainsFunc(n.rec.Needs, func(a string) bool { return goes(d.index.nodes[a]) }) {
		return true
	}
	// Where one of the two has no entry, the values of the old object tell.
	return slices.ContainsFunc(d.index.declared, func(up *node) bool {
		return (!known || isFound(up)) && goes(up) && slices.ContainsFunc(n.plan.Reasons, func(r Reason) bool {
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
			if u.Ref.Address == up.addr && u.At.Overlaps(r.Path) {
				return true
			}
		}
		return false
	})
}
