package engine

import (
	"context"

	"github.com/athanor-dev/athanor/adopt"
)

// walk classifies the declared resources, upstreams first. What had to wait for upstreams before it could be observed
// is observed level by level, many at once.
type walk struct {
	*classifier
	*chosen
	narrowing *narrowing // nil: everything is observed
	builder   *builder
}

func (k *walk) run(ctx context.Context) {
	levels := levels(k.sorted)
	k.decideLevels(ctx, levels)
	for k.narrowing.widenCycles(ctx, k.declared) {
		k.decideLevels(ctx, levels)
	}
	k.reconsider(ctx)
}

// decideLevels classifies all that is selected and not classified yet.
func (k *walk) decideLevels(ctx context.Context, levels [][]*node) {
	for _, level := range levels {
		k.narrowing.widenLevel(ctx, level)
		k.builder.prepareLevel(ctx, level, func(n *node) bool { return !k.isSelected(n) || k.sleeps(n) })
		var late []*node
		for _, n := range level {
			if !n.looked && n.err == nil && k.isSelected(n) && !k.sleeps(n) && n.blockedBy() == nil {
				late = append(late, n)
			}
		}
		parallel(len(late), lookers, func(i int) {
			k.lookAt(ctx, late[i])
			late[i].current = late[i].err == nil
		})
		for _, n := range level {
			switch {
			case k.isSelected(n) && !n.decided:
				k.classify(ctx, n)
				n.decided = true
			case k.isSelected(n):
			case k.narrowing != nil:
				believe(n)
			default:
				pass(n)
				k.consult(ctx, n)
			}
		}
	}
}

// levels are the declared nodes by the longest chain below them.
func levels(sorted []*node) [][]*node {
	var all [][]*node
	of := make(map[*node]int, len(sorted))
	for _, n := range sorted {
		level := 0
		for _, up := range n.ups {
			level = max(level, of[up]+1)
		}
		of[n] = level
		if n.decl == nil {
			continue
		}
		for len(all) <= level {
			all = append(all, nil)
		}
		all[level] = append(all[level], n)
	}
	return all
}

// reconsider compares the members of cycles again: when they were classified, what they need through a late path was
// not decided yet.
func (k *walk) reconsider(ctx context.Context) {
	for _, n := range k.sorted {
		if n.decl == nil || len(n.cut) == 0 || !k.isSelected(n) || n.plan.Action != Unchanged && n.plan.Action != Update {
			continue
		}
		k.classify(ctx, n)
	}
}

// consult reads what the taken thing needs, and touches it in no way.
func (k *walk) consult(ctx context.Context, n *node) {
	if k.o.Take == nil || !n.feeds(k.o.Take.Address) {
		return
	}
	k.lookAt(ctx, n)
	switch {
	case n.err != nil:
		k.block(n, n.err)
	case n.look.Absent:
		compute(ctx, n)
	case adopt.Judge(k.evidence(n, n.job, n.look, n.present())).Verdict == adopt.Ours:
		n.attrs, n.unknown, n.plan.Identity = n.look.Attrs, false, n.look.Identity
	}
}
