package planner

import (
	"context"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
)

// A narrow plan looks at what the record and the program disagree about. It goes by the comparison that tells whether a
// row is out of date, and by nothing that an earlier plan knew: so it is as good after a failure, an interrupt, or in a
// new process.

// narrowing selects what a narrow plan looks at.
type narrowing struct {
	*Jobs
	plan.DevRules
	*plan.Chosen
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
	w.Only = make(map[*plan.Node]bool, len(w.Leftover)+len(w.Reads))
	for _, n := range slices.Concat(w.Reads, w.Leftover) {
		w.Only[n] = true
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
func (v *narrowing) widen(ctx context.Context, nodes []*plan.Node) bool {
	rest := slices.DeleteFunc(slices.Clone(nodes), func(n *plan.Node) bool { return v.Only[n] })
	differ := make([]bool, len(rest))
	Parallel(len(rest), runtime.GOMAXPROCS(0), func(i int) { differ[i] = v.differs(ctx, rest[i]) })
	for i, n := range rest {
		if differ[i] {
			v.Only[n] = true
		}
	}
	return slices.Contains(differ, true)
}

// differs reports that a node must be looked at: its row is out of date, half made, or not to be believed. That of what
// lives in this session alone says nothing of whether it still lives, and a look costs no call.
func (v *narrowing) differs(ctx context.Context, n *plan.Node) bool {
	g := n.Entry.Live()
	unsettled := n.Err != nil || g == nil || n.From != "" || n.Entry.NeedsUnknown || n.Entry.MovingFrom != "" || n.Entry.Candidate() != nil ||
		len(v.Collectable(n.Entry)) > 0 || n.ReplacedWhole()
	asked := n.Spec.InDev || v.force || plan.Matches(v.replace, n.Address) || slices.Contains(v.look, n.Address) || v.warm.waits(n.Address)
	if unsettled || asked {
		return true
	}
	job, err := v.DeclaredJob(ctx, n, Target{Gen: g})
	if err != nil || len(job.Unknown) > 0 {
		return true
	}
	n.Job = job
	return v.Outdated(n)
}

// widenLevel selects what the upstreams that were observed may change, before its level is classified. One that has
// nothing to do counts as well: a run that was cut may have changed it and not written that to state.
func (v *narrowing) widenLevel(ctx context.Context, level []*plan.Node) {
	if v != nil {
		v.widen(ctx, slices.DeleteFunc(slices.Clone(level), func(n *plan.Node) bool { return !slices.ContainsFunc(n.Ups, v.IsSelected) }))
	}
}

// widenCycles selects members of cycles that were believed before what they need through a late path was decided.
func (v *narrowing) widenCycles(ctx context.Context, declared []*plan.Node) bool {
	return v != nil && v.widen(ctx, slices.DeleteFunc(slices.Clone(declared), func(n *plan.Node) bool { return len(n.Cut) == 0 }))
}
