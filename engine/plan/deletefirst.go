package plan

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// DeleteFirst finds what must be deleted before its replacement comes.
type DeleteFirst struct{ Index *Index }

// Spread carries replacements that delete first on to what would be broken meanwhile: a dependent whose
// fixed path holds a value of the old object is deleted before it, and comes again after.
func (d DeleteFirst) Spread() {
	for more := true; more; {
		more = false
		under := map[*Node]bool{} // what is made after something that is deleted first
		for _, n := range d.Index.Sorted {
			for _, up := range n.Ups {
				under[n] = under[n] || under[up] || up.Plan != nil && up.Plan.DeleteFirst
			}
			late := under[n] && n.Plan != nil && n.Plan.May // a run could not tell before it deletes
			if n.Plan == nil || n.Decl == nil || n.Plan.DeleteFirst && !late {
				continue
			}
			replaced := n.Plan.Action == Replace
			switch dragged := replaced && dragged(n); {
			case dragged, replaced && leads(n):
				n.Plan.May = n.Plan.May && !dragged && !late
				for i := range n.Plan.Reasons {
					if r := &n.Plan.Reasons[i]; r.Replaces {
						r.Unknown = r.Unknown && n.Plan.May
					}
				}
			case replaced && !n.Plan.May && d.clings(n), waitsForName(n):
			default:
				continue
			}
			n.Plan.DeleteFirst, more = true, true
		}
	}
}

// waitsForName reports a creation whose name a condemned object of the address still bears.
func waitsForName(n *Node) bool {
	return n.Plan.Action == Create && n.Entry != nil && !n.Look().NotYet &&
		slices.ContainsFunc(n.NameHeld(n.Entry), func(g *state.Generation) bool { return g.State == statestore.Condemned })
}

// leads reports a replacement whose old object must be deleted first, whatever becomes of others.
func leads(n *Node) bool {
	return n.Decl.Options.DeleteFirst || n.Spec.DeleteFirst || len(n.NameHeld(n.Entry)) > 0 || IsFound(n) && n.Job.Named && IsKnown(n.Job.Name)
}

// dragged reports a replacement that is certain because an upstream goes first, to which a path that replaces refers.
func dragged(n *Node) bool {
	return slices.ContainsFunc(n.Ups, func(up *Node) bool { return up.Plan != nil && up.Plan.DeleteFirst && n.fixedOn(up) })
}

// clings reports that the old object of a node uses one that is deleted first, although its new one will not.
func (d DeleteFirst) clings(n *Node) bool {
	goes := func(up *Node) bool {
		return up != nil && up.Plan != nil && up.Plan.DeleteFirst && !slices.Contains(n.Needs, up.Address)
	}
	known := !IsFound(n) && (n.Entry == nil || !n.Entry.NeedsUnknown)
	if known && n.Entry != nil && slices.ContainsFunc(n.Entry.Needs, func(a string) bool { return goes(d.Index.Nodes[a]) }) {
		return true
	}
	// Where one of the two has no entry, the values of the old object tell.
	return slices.ContainsFunc(d.Index.Declared, func(up *Node) bool {
		return (!known || IsFound(up)) && goes(up) && slices.ContainsFunc(n.Plan.Reasons, func(r Reason) bool {
			return r.Replaces && r.Have != nil && (tree.Equal(r.Have, up.Look().Identity) || slices.ContainsFunc(
				slices.Collect(maps.Values(up.Look().Attrs)), func(v any) bool { return v != "" && tree.Equal(r.Have, v) }))
		})
	})
}

// fixedOn reports that a path of n which replaces refers to up.
func (n *Node) fixedOn(up *Node) bool {
	return slices.ContainsFunc(n.Plan.Reasons, func(r Reason) bool {
		if !r.Replaces {
			return false
		}
		for _, u := range n.Uses() {
			if u.Ref.Address == up.Address && u.At.Overlaps(r.Path) {
				return true
			}
		}
		return false
	})
}

// NameHeld returns the objects of a node's state entry that bear the given name which its new object is to have: they
// must be deleted before it can come.
func (n *Node) NameHeld(rec *state.Entry) []*state.Generation {
	o := n.Object()
	if rec == nil || o == nil || !o.Named {
		return nil
	}
	var held []*state.Generation
	for _, g := range rec.Generations {
		if g.State != statestore.Candidate && g.NameGiven && g.Name == o.Name && g.Kind == n.Spec.Type && g.Location == n.Access.Place {
			held = append(held, g)
		}
	}
	return held
}
