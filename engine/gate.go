package engine

import (
	"context"
	"sync/atomic"

	"github.com/athanor-dev/athanor/reconcile"
)

// defaultParallel bounds calls in flight when the engine's user does not.
const defaultParallel = 16

// gate bounds the calls in flight, counts them, and stops a writer that lost its lease. Waiting for a place
// ends with the context.
type gate struct {
	slots            chan struct{}
	reads, mutations atomic.Int64
	// held is the lease check of a run; nil while planning.
	held atomic.Pointer[func() error]
}

func newGate(parallel int) *gate {
	if parallel <= 0 {
		parallel = defaultParallel
	}
	return &gate{slots: make(chan struct{}, parallel)}
}

// Enter takes a place and, for a mutation, checks the lease as the last thing before the call.
func (g *gate) Enter(ctx context.Context, call reconcile.Call) (func(error), error) {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !call.Mutates {
		g.reads.Add(1)
		return g.leave, nil
	}
	if held := g.held.Load(); held != nil {
		if err := (*held)(); err != nil {
			<-g.slots
			return nil, &reconcile.StopError{Err: err}
		}
	}
	g.mutations.Add(1)
	return g.leave, nil
}

func (g *gate) leave(error) { <-g.slots }

func (g *gate) calls() Calls { return Calls{Reads: g.reads.Load(), Mutations: g.mutations.Load()} }
