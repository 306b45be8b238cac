package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// defaultParallel bounds calls in flight when the engine's user does not.
const defaultParallel = 16

// gate bounds the calls in flight, counts them, and stops a writer that lost its lease. Waiting for a place
// ends with the context.
type gate struct {
	slots            chan struct{}
	reads, mutations atomic.Int64
	// lease of a run; nil while planning.
	lease atomic.Pointer[lease]
}

// lease is what a writer must still hold right before it changes the world.
type lease struct {
	held  func() error
	renew func(context.Context) error
}

// check renews a lease that may have run out, after a sleep of the machine for example, before it gives up.
func (l *lease) check(ctx context.Context) error {
	err := l.held()
	if !errors.Is(err, statestore.ErrExpired) {
		return err
	}
	if err := l.renew(ctx); err != nil {
		return err
	}
	return l.held()
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
	if l := g.lease.Load(); l != nil {
		if err := l.check(ctx); err != nil {
			<-g.slots
			return nil, &reconcile.StopError{Err: err}
		}
	}
	g.mutations.Add(1)
	return g.leave, nil
}

func (g *gate) leave(error) { <-g.slots }

func (g *gate) calls() Calls { return Calls{Reads: g.reads.Load(), Mutations: g.mutations.Load()} }
