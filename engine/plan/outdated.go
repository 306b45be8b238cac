package plan

import (
	"encoding/json"
	"slices"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Outdated reports that a row differs from its declaration, by what is known of that now.
func (x *Index) Outdated(n *Node) bool {
	r := n.Entry
	known := n.Job != nil && len(n.Job.Unknown) == 0
	return r.Candidate() != nil || r.MovingFrom != "" || !slices.Equal(r.Needs, x.OwnedNeeds(n)) || !sameOptions(r.GivenOptions(), &n.Decl.Options) ||
		!cutCovers(r.Cut, n.Cut) || !sameMap(r.Settings, n.Decl.Settings) ||
		known && (n.builtAnew() || !sameBut(n.Decl.Options.IgnoreChanges, r.Props, n.Job.Props) || len(state.StillNamed(r.Former, n.Decl.Options.RenamedFrom)) != len(r.Former))
}

// Shed drops what a decided node holds beside its decision and nobody reads again: the job that it was compared with, and what its
// entry has in common with it. There can be very many nodes.
func (x *Index) Shed(n *Node) {
	switch {
	case n.Was != nil || len(n.Cut) > 0 || n.Job == nil: // drift compares it with its entry, and a member of a cycle is decided again
	case n.Plan.Action == Create && n.Entry == nil && n.Look().Absent && !Acts(n.Spec):
		n.DropJob()
	case n.Plan.Action == Unchanged && n.Entry != nil && !x.Outdated(n), n.Plan.Action == Update && n.Entry.Live() != nil && !Acts(n.Spec):
		shareValues(n)
		if n.DropJob(); n.Plan.Action == Unchanged && n.Spec.Recorded && !Acts(n.Spec) {
			n.ForgetLook() // its entry says the same
		} else {
			n.Look().DropLive()
		}
	}
}

// shareValues lets an entry have the very values that it is equal to: the declared props and needs, and the attributes that reading
// showed.
func shareValues(n *Node) {
	e := n.Entry
	if slices.Equal(e.Needs, n.Needs) {
		e.Needs = slices.Clip(n.Needs)
	}
	// Of an unchanged one, Outdated has compared them.
	compared := n.Plan.Action == Unchanged && len(n.Job.Unknown) == 0 && len(n.Decl.Options.IgnoreChanges) == 0
	if len(e.Props) > 0 && (compared || tree.Equal(e.Props, n.Job.Props)) {
		e.Props = n.Job.Props
	}
	if g := e.Live(); g != nil && len(g.Attributes) > 0 && tree.Equal(g.Attributes, n.Look().Attrs) {
		g.Attributes = n.Look().Attrs
	}
}

// cutCovers reports whether the state has every path through which a cycle is opened now. A resource that itself does not
// change may close a cycle when another refers to it, and destroy opens the cycle by what the state says. A path that opens
// none any more stays until the entry is written for another reason: the other side may still have its reference.
func cutCovers(have, want map[string][]tree.Path) bool {
	for addr, paths := range want {
		if !slices.Equal(have[addr], paths) {
			return false
		}
	}
	return true
}

// Believe takes a node as the record has it.
func Believe(n *Node) {
	g := n.Entry.Live()
	n.Plan = &Planned{
		Address: n.Address, Kind: n.Spec.Type, Action: Unchanged, Needs: n.Needs, Source: n.Decl.Source, Place: g.Location,
		Identity: g.Identity, Generation: g.Number, Local: n.Spec.Stands != "",
	}
	n.Attrs, n.Unknown, n.Moving = g.Attributes, false, nil
}

// sameBut compares props without ignored paths: what is there has its own values in them.
func sameBut(ignored []tree.Path, a, b map[string]any) bool {
	if len(ignored) == 0 {
		return sameMap(a, b)
	}
	x, y := AnyMap(a), AnyMap(b)
	for _, p := range ignored {
		x, y = tree.Without(x, p), tree.Without(y, p)
	}
	return tree.Equal(x, y)
}

// sameMap compares maps, of which nil is an empty one.
func sameMap(a, b map[string]any) bool { return len(a) == 0 && len(b) == 0 || tree.Equal(a, b) }

// sameOptions compares by what is written of options: nil and empty lists are equal. Nil are no options.
func sameOptions(a, b *graph.Options) bool {
	if a == nil {
		if b.IsZero() {
			return true
		}
		a = &graph.Options{}
	}
	if a.OnlyOrders() && b.OnlyOrders() {
		return slices.Equal(a.DependsOn, b.DependsOn)
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// OwnedNeeds are the addresses with rows that a node depends on.
func (x *Index) OwnedNeeds(n *Node) []string {
	if n.Was != nil && n.Entry != nil {
		return n.Entry.Needs
	}
	unowned := func(a string) bool {
		up := x.Nodes[a]
		return up == nil || up.Decl == nil || up.Entry == nil || a == n.Address
	}
	if !slices.ContainsFunc(n.Needs, unowned) {
		return slices.Clip(n.Needs) // the very list: there can be very many
	}
	return slices.DeleteFunc(slices.Clone(n.Needs), unowned)
}
