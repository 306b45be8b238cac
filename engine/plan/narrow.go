package plan

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// A narrow plan looks at what the record and the program disagree about. It goes by the comparison that tells whether a
// row is out of date, and by nothing that an earlier plan knew: so it is as good after a failure, an interrupt, or in a
// new process.

// narrowing selects what a narrow plan looks at.
type narrowing struct {
	*Jobs
	DevRules
	*Chosen
	// replace are globs of addresses that are replaced on request, look addresses that are looked at in any case.
	replace, look []string
	warm          *Warm // knows what waited for somebody
}

// narrowing selects what is observed whatever becomes of the others. All else is known by the state for now. Nil: all
// is observed.
func (w *Draft) narrowing(ctx context.Context) *narrowing {
	if !w.Policy.narrows {
		return nil
	}
	w.only = make(map[*Node]bool, len(w.Leftover)+len(w.reads))
	for _, n := range slices.Concat(w.reads, w.Leftover) {
		w.only[n] = true
	}
	for _, n := range w.Declared {
		if g := n.Entry.Live(); g != nil && !n.ReplacedWhole() {
			n.Attrs = g.Attributes
		}
	}
	v := &narrowing{Jobs: w.Jobs, DevRules: w.DevRules, Chosen: w.Chosen, replace: w.Policy.Replace, look: w.Policy.Dev.Look, warm: w.Planner.Warm}
	v.widen(ctx, w.Declared)
	return v
}

// widen selects those of the nodes that differ from their rows, with what is known of their upstreams now.
func (v *narrowing) widen(ctx context.Context, nodes []*Node) bool {
	rest := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return v.only[n] })
	differ := make([]bool, len(rest))
	Parallel(len(rest), runtime.GOMAXPROCS(0), func(i int) { differ[i] = v.differs(ctx, rest[i]) })
	for i, n := range rest {
		if differ[i] {
			v.only[n] = true
		}
	}
	return slices.Contains(differ, true)
}

// differs reports that a node must be looked at: its row is out of date, half made, or not to be believed. That of what
// lives in this session alone says nothing of whether it still lives, and a look costs no call.
func (v *narrowing) differs(ctx context.Context, n *Node) bool {
	g := n.Entry.Live()
	unsettled := n.err != nil || g == nil || n.From != "" || n.Entry.NeedsUnknown || n.Entry.MovingFrom != "" || n.Entry.Candidate() != nil ||
		len(v.Collectable(n.Entry)) > 0 || n.ReplacedWhole()
	asked := n.Spec.InDev || v.force || matches(v.replace, n.Address) || slices.Contains(v.look, n.Address) || v.warm.waits(n.Address)
	if unsettled || asked {
		return true
	}
	job, err := v.DeclaredJob(ctx, n, Target{Gen: g, Number: g.Number, Slot: g.Slot})
	if err != nil || len(job.Unknown) > 0 {
		return true
	}
	n.Job = job
	return v.Outdated(n)
}

// Outdated reports that a row differs from its declaration, by what is known of that now.
func (x *Index) Outdated(n *Node) bool {
	r := n.Entry
	known := n.Job != nil && len(n.Job.Unknown) == 0
	return r.Candidate() != nil || r.MovingFrom != "" || !slices.Equal(r.Needs, x.OwnedNeeds(n)) || !sameOptions(r.Options, n.Decl.Options) ||
		!cutCovers(r.Cut, n.Cut) || !tree.Equal(AnyMap(r.Settings), AnyMap(n.Decl.Settings)) ||
		known && (n.builtAnew() || !sameBut(n.Decl.Options.IgnoreChanges, r.Props, n.Job.Props) || len(state.StillNamed(r.Former, n.Decl.Options.RenamedFrom)) != len(r.Former))
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

// believe takes a node as the record has it.
func believe(n *Node) {
	g := n.Entry.Live()
	n.Plan = &Planned{
		Address: n.Address, Kind: n.Spec.Type, Action: Unchanged, Needs: n.Needs, Source: n.Decl.Source, Place: g.Location,
		Identity: g.Identity, Generation: g.Number, Local: n.Spec.Stands != "",
	}
	n.Attrs, n.Unknown, n.Moving = g.Attributes, false, nil
}

// widenLevel selects what the upstreams that were observed may change, before its level is classified. One that has
// nothing to do counts as well: a run that was cut may have changed it and not recorded it.
func (v *narrowing) widenLevel(ctx context.Context, level []*Node) {
	if v != nil {
		v.widen(ctx, slices.DeleteFunc(slices.Clone(level), func(n *Node) bool { return !slices.ContainsFunc(n.Ups, v.IsSelected) }))
	}
}

// widenCycles selects members of cycles that were believed before what they need through a late path was decided.
func (v *narrowing) widenCycles(ctx context.Context, declared []*Node) bool {
	return v != nil && v.widen(ctx, slices.DeleteFunc(slices.Clone(declared), func(n *Node) bool { return len(n.Cut) == 0 }))
}

// sameBut compares props without ignored paths: what is there has its own values in them.
func sameBut(ignored []tree.Path, a, b map[string]any) bool {
	x, y := AnyMap(a), AnyMap(b)
	for _, p := range ignored {
		x, y = tree.Without(x, p), tree.Without(y, p)
	}
	return tree.Equal(x, y)
}

// sameOptions compares by what is written of options: nil and empty lists are equal.
func sameOptions(a, b graph.Options) bool {
	if a.IsZero() && b.IsZero() {
		return true
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
	var needs []string
	for _, a := range n.Needs {
		if up := x.Nodes[a]; up != nil && up.Decl != nil && up.Entry != nil && a != n.Address {
			needs = append(needs, a)
		}
	}
	return needs
}
