package planner

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
)

// Reading says that a plan begins or ends to read a resource.
type Reading struct {
	Address, Kind string
	// Done: the read has ended, whatever it came to. A resource may be read again.
	Done bool
	// Total is how many resources the plan reads.
	Total int
}

// Reads returns how many calls planning made that read something; 0 for a plan that was read from a document.
func Reads(p *plan.Plan) int64 {
	w := DraftOf(p)
	if w == nil {
		return 0
	}
	return w.Gate.Made().Reads
}

type readingKey struct{}

// watched returns a context under which the engine's user learns which resources are read.
func (w *Draft) watched(ctx context.Context) context.Context {
	if w.Planner.Reading == nil {
		return ctx
	}
	total := 0
	for _, n := range slices.Concat(w.Declared, w.Leftover) {
		if w.IsSelected(n) && !n.Spec.Recorded {
			total++
		}
	}
	return context.WithValue(ctx, readingKey{}, func(n *plan.Node, done bool) {
		w.Planner.Reading(Reading{Address: n.Address, Kind: n.KindName(), Done: done, Total: total})
	})
}

// readingOf says that nodes are being read, until what it returns is called.
func readingOf(ctx context.Context, nodes ...*plan.Node) (end func()) {
	show, watched := ctx.Value(readingKey{}).(func(*plan.Node, bool))
	if !watched || !slices.ContainsFunc(nodes, func(n *plan.Node) bool { return !n.Spec.Recorded }) {
		return nothing
	}
	shown := slices.DeleteFunc(slices.Clone(nodes), func(n *plan.Node) bool { return n.Spec.Recorded })
	tell := func(done bool) {
		for _, n := range shown {
			show(n, done)
		}
	}
	tell(false)
	return func() { tell(true) }
}

func nothing() {}
