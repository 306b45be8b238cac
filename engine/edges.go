package engine

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// tie records the edges that came into being in this run: what was settled, or found again, before something that it needs
// had a row knows of that only now. Without its edge it could be deleted too late, or what it needs too early.
func (r *run) tie(ctx context.Context) {
	change := statestore.Change{}
	var tied []*state.Entry
	var nodes []*node
	for _, n := range r.w.sorted {
		if n.decl == nil || n.rec == nil || n.was != nil || !r.ok(n) || !r.w.isSelected(n) {
			continue
		}
		needs := r.needs(n)
		if slices.Equal(n.rec.Needs, needs) {
			continue
		}
		rec := n.rec.Clone()
		rec.Needs = needs
		if err := r.seal(&change, rec); err != nil {
			r.fail(n, n.doing(), err)
			continue
		}
		nodes, tied = append(nodes, n), append(tied, rec)
	}
	if len(nodes) == 0 {
		return
	}
	r.introduce(&change)
	if err := r.journal.Commit(context.WithoutCancel(ctx), change); err != nil {
		r.fail(nodes[0], nodes[0].plan.Action, err)
		return
	}
	for i, n := range nodes {
		n.rec = tied[i]
	}
}
