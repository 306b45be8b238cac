package engine

import (
	"context"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// A narrow plan looks at what the record and the program disagree about. It goes by the comparison that tells whether a
// row is out of date, and by nothing that an earlier plan knew: so it is as good after a failure, an interrupt, or in a
// new process.

// narrowing selects what a narrow plan looks at.
type narrowing struct {
	*jobs
	devRules
	*chosen
	// replace are globs of addresses that are replaced on request, look addresses that are looked at in any case.
	replace, look []string
	warm          *Warm // knows what waited for somebody
}

// narrowing selects what is observed whatever becomes of the others. All else is known by the state for now. Nil: all
// is observed.
func (w *work) narrowing(ctx context.Context) *narrowing {
	if !w.o.narrows {
		return nil
	}
	w.only = make(map[*node]bool, len(w.leftover)+len(w.reads))
	for _, n := range slices.Concat(w.reads, w.leftover) {
		w.only[n] = true
	}
	for _, n := range w.declared {
		if g := n.rec.Live(); g != nil && !n.replacedWhole() {
			n.attrs = g.Attributes
		}
	}
	v := &narrowing{jobs: w.jobs, devRules: w.devRules, chosen: w.chosen, replace: w.o.Replace, look: w.o.Dev.Look, warm: w.e.Warm}
	v.widen(ctx, w.declared)
	return v
}

// widen selects those of the nodes that differ from their rows, with what is known of their upstreams now.
func (v *narrowing) widen(ctx context.Context, nodes []*node) bool {
	rest := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return v.only[n] })
	differ := make([]bool, len(rest))
	parallel(len(rest), runtime.GOMAXPROCS(0), func(i int) { differ[i] = v.differs(ctx, rest[i]) })
	for i, n := range rest {
		if differ[i] {
			v.only[n] = true
		}
	}
	return slices.Contains(differ, true)
}

// differs reports that a node must be looked at: its row is out of date, half made, or not to be believed. That of what
// lives in this session alone says nothing of whether it still lives, and a look costs no call.
func (v *narrowing) differs(ctx context.Context, n *node) bool {
	g := n.rec.Live()
	unsettled := n.err != nil || g == nil || n.from != "" || n.rec.NeedsUnknown || n.rec.MovingFrom != "" || n.rec.Candidate() != nil ||
		len(v.collectable(n.rec)) > 0 || n.replacedWhole()
	asked := n.spec.InDev || v.force || matches(v.replace, n.addr) || slices.Contains(v.look, n.addr) || v.warm.waits(n.addr)
	if unsettled || asked {
		return true
	}
	job, err := v.declaredJob(ctx, n, target{gen: g, number: g.Number, slot: g.Slot})
	if err != nil || len(job.Unknown) > 0 {
		return true
	}
	n.job = job
	return v.outdated(n)
}

// outdated reports that a row differs from its declaration, by what is known of that now.
func (x *index) outdated(n *node) bool {
	r := n.rec
	known := n.job != nil && len(n.job.Unknown) == 0
	return r.Candidate() != nil || r.MovingFrom != "" || !slices.Equal(r.Needs, x.ownedNeeds(n)) || !sameOptions(r.Options, n.decl.Options) ||
		!cutCovers(r.Cut, n.cut) || !tree.Equal(anyMap(r.Settings), anyMap(n.decl.Settings)) ||
		known && (n.builtAnew() || !sameBut(n.decl.Options.IgnoreChanges, r.Props, n.job.Props) || len(state.StillNamed(r.Former, n.decl.Options.RenamedFrom)) != len(r.Former))
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
func believe(n *node) {
	g := n.rec.Live()
	n.plan = &Planned{
		Address: n.addr, Kind: n.spec.Type, Action: Unchanged, Needs: n.needs, Source: n.decl.Source, Place: g.Location,
		Identity: g.Identity, Generation: g.Number, Local: n.spec.Stands != "",
	}
	n.attrs, n.unknown, n.moving = g.Attributes, false, nil
}

// widenLevel selects what the upstreams that were observed may change, before its level is classified. One that has
// nothing to do counts as well: a run that was cut may have changed it and not recorded it.
func (v *narrowing) widenLevel(ctx context.Context, level []*node) {
	if v != nil {
		v.widen(ctx, slices.DeleteFunc(slices.Clone(level), func(n *node) bool { return !slices.ContainsFunc(n.ups, v.isSelected) }))
	}
}

// widenCycles selects members of cycles that were believed before what they need through a late path was decided.
func (v *narrowing) widenCycles(ctx context.Context, declared []*node) bool {
	return v != nil && v.widen(ctx, slices.DeleteFunc(slices.Clone(declared), func(n *node) bool { return len(n.cut) == 0 }))
}
