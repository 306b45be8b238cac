package engine

import (
	"context"
	"slices"
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
func (p *Plan) Reads() int64 {
	if p.work == nil {
		return 0
	}
	return p.work.gate.Made().Reads
}

type readingKey struct{}

// watched returns a context under which the engine's user learns which resources are read.
func (w *work) watched(ctx context.Context) context.Context {
	if w.e.Reading == nil {
		return ctx
	}
	total := 0
	for _, n := range slices.Concat(w.declared, w.leftover) {
		if w.isSelected(n) && !n.spec.Recorded {
			total++
		}
	}
	return context.WithValue(ctx, readingKey{}, func(n *node, done bool) {
		w.e.Reading(Reading{Address: n.addr, Kind: n.kindName(), Done: done, Total: total})
	})
}

// reads says that nodes are being read, until what it returns is called.
func reads(ctx context.Context, nodes ...*node) (end func()) {
	show, watched := ctx.Value(readingKey{}).(func(*node, bool))
	if !watched {
		return func() {}
	}
	tell := func(done bool) {
		for _, n := range nodes {
			if !n.spec.Recorded {
				show(n, done)
			}
		}
	}
	tell(false)
	return func() { tell(true) }
}
