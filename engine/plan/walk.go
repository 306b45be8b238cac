package plan

import (
	"context"

	"github.com/athanor-dev/athanor/adopt"
)

// walk classifies the declared resources, upstreams first. What had to wait for upstreams before it could be observed
// is observed level by level, many at once.
type walk struct {
	*classifier
	*Chosen
	narrowing *narrowing // nil: everything is observed
	builder   *Builder
}

func (k *walk) run(ctx context.Context) {
	levels := levels(k.Sorted)
	k.decideLevels(ctx, levels)
	for k.narrowing.widenCycles(ctx, k.Declared) {
		k.decideLevels(ctx, levels)
	}
	k.reconsider(ctx)
}

// decideLevels classifies all that is selected and not classified yet.
func (k *walk) decideLevels(ctx context.Context, levels [][]*Node) {
	for _, level := range levels {
		k.narrowing.widenLevel(ctx, level)
		k.builder.prepareLevel(ctx, level, func(n *Node) bool { return !k.IsSelected(n) || k.Sleeps(n) })
		var late []*Node
		for _, n := range level {
			if !n.looked && n.err == nil && k.IsSelected(n) && !k.Sleeps(n) && n.blockedBy() == nil {
				late = append(late, n)
			}
		}
		Parallel(len(late), Lookers, func(i int) {
			k.lookAt(ctx, late[i])
			late[i].current = late[i].err == nil
		})
		for _, n := range level {
			switch {
			case k.IsSelected(n) && !n.decided:
				k.classify(ctx, n)
				n.decided = true
			case k.IsSelected(n):
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
func levels(sorted []*Node) [][]*Node {
	var all [][]*Node
	of := make(map[*Node]int, len(sorted))
	for _, n := range sorted {
		level := 0
		for _, up := range n.Ups {
			level = max(level, of[up]+1)
		}
		of[n] = level
		if n.Decl == nil {
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
	for _, n := range k.Sorted {
		if n.Decl == nil || len(n.Cut) == 0 || !k.IsSelected(n) || n.Plan.Action != Unchanged && n.Plan.Action != Update {
			continue
		}
		k.classify(ctx, n)
	}
}

// consult reads what the taken thing needs, and touches it in no way.
func (k *walk) consult(ctx context.Context, n *Node) {
	if k.o.Take == nil || !n.feeds(k.o.Take.Address) {
		return
	}
	k.lookAt(ctx, n)
	switch {
	case n.err != nil:
		k.block(n, n.err)
	case n.Look.Absent:
		compute(ctx, n)
	case adopt.Judge(k.Evidence(n, n.Job, n.Look, n.Present())).Verdict == adopt.Ours:
		n.Attrs, n.Unknown, n.Plan.Identity = n.Look.Attrs, false, n.Look.Identity
	}
}
