package execute

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// tie writes the edges that came into being in this run to state: a row that was reconciled, or found again, before
// what it needs had a row knows of that only now. Without its edge it could be deleted too late, or what it needs too
// early.
func (r *Run) tie(ctx context.Context) {
	change := statestore.Change{}
	var tied []*state.Entry
	var nodes []*plan.Node
	for _, n := range r.Draft.Sorted {
		if n.Decl == nil || n.Entry == nil || n.Was != nil || !r.ok(n) || !r.Draft.IsSelected(n) {
			continue
		}
		needs := r.needs(n)
		if slices.Equal(n.Entry.Needs, needs) {
			continue
		}
		rec := n.Entry.Clone()
		rec.Needs = needs
		if err := r.Seal(&change, rec); err != nil {
			r.fail(n, n.Doing(), err)
			continue
		}
		nodes, tied = append(nodes, n), append(tied, rec)
	}
	if len(nodes) == 0 {
		return
	}
	r.introduce(&change)
	if err := r.Journal.Commit(context.WithoutCancel(ctx), change); err != nil {
		r.fail(nodes[0], nodes[0].Plan.Action, err)
		return
	}
	for i, n := range nodes {
		n.Entry = tied[i]
	}
}
