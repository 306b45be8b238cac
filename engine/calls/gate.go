package calls

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// defaultParallel bounds calls in flight when the engine's user does not.
const defaultParallel = 16

// Gate bounds the calls in flight, counts them, and stops a writer that lost its lease. Calls that wait go on in the order of
// their priority, and waiting ends with the context.
type Gate struct {
	slots            slots
	reads, mutations atomic.Int64
	throttled        atomic.Int64
	// lease of a run; nil while planning.
	lease atomic.Pointer[Lease]
}

// Lease is what a writer must still hold right before it changes the cloud.
type Lease struct {
	Journal  *statestore.Journal
	Stopping func() bool // the run was asked to stop
}

// check renews a lease that may have run out, after a sleep of the machine for example, before it gives up. What the
// clocks cannot know, an unlock from elsewhere, the store is asked for.
func (l *Lease) check(ctx context.Context) error {
	err := l.Journal.Held()
	if errors.Is(err, statestore.ErrExpired) {
		if err := l.Journal.Renew(ctx); err != nil {
			return err
		}
		err = l.Journal.Held()
	}
	if err != nil {
		return err
	}
	return l.Journal.Confirm(ctx)
}

// NewGate bounds the calls in flight; 0 means 16.
func NewGate(parallel int) *Gate {
	if parallel <= 0 {
		parallel = defaultParallel
	}
	return &Gate{slots: slots{free: parallel}}
}

// Hold makes the gate check a lease before every mutation.
func (g *Gate) Hold(l *Lease) { g.lease.Store(l) }

// Enter takes a place and, for a mutation, checks the lease right before the call. After an interrupt no
// mutation enters, and no call waits for a place: a read that follows a call in flight may still tell how that ended.
func (g *Gate) Enter(ctx context.Context, call reconcile.Call) (func(error), error) {
	if err := g.place(ctx); err != nil {
		return nil, err
	}
	if !reconcile.Ready(ctx) {
		g.slots.release()
		return nil, reconcile.ErrNotReady
	}
	if !call.Mutates {
		Began(ctx, false)
		g.reads.Add(1)
		return g.leave(ctx), nil
	}
	if err := cmp.Or(g.MayBegin(), g.MayWrite(ctx)); err != nil {
		g.slots.release()
		return nil, err
	}
	Began(ctx, true)
	g.mutations.Add(1)
	return g.leave(ctx), nil
}

// place takes a place, at once if there is one.
func (g *Gate) place(ctx context.Context) error {
	w := g.slots.take(reconcile.PriorityOf(ctx))
	if w == nil {
		return nil
	}
	since := time.Now()
	defer func() { reconcile.Waited(ctx, time.Since(since)) }()
	select {
	case <-w.Turn():
		return nil
	case <-reconcile.Interrupt(ctx):
		g.slots.forgo(w)
		return &reconcile.StopError{Err: &reconcile.InterruptedError{}}
	case <-ctx.Done():
		g.slots.forgo(w)
		return context.Cause(ctx)
	}
}

// MayBegin refuses what would begin after the run was asked to stop.
func (g *Gate) MayBegin() error {
	if l := g.lease.Load(); l != nil && l.Stopping() {
		return &reconcile.StopError{Err: &reconcile.InterruptedError{}}
	}
	return nil
}

// MayWrite is the last check before anything that changes the cloud.
func (g *Gate) MayWrite(ctx context.Context) error {
	if l := g.lease.Load(); l != nil {
		if err := l.check(ctx); err != nil {
			return &reconcile.StopError{Err: err}
		}
	}
	return nil
}

// leave returns what ends a call that begins now.
func (g *Gate) leave(ctx context.Context) func(error) {
	p, since := reconcile.PriorityOf(ctx), time.Now()
	return func(err error) {
		if class, given := reconcile.ClassGiven(err); given && class == reconcile.Throttled {
			g.throttled.Add(1)
		}
		g.slots.giveBack(p, time.Since(since))
	}
}

// Made counts the calls that were made.
func (g *Gate) Made() Calls {
	return Calls{Reads: g.reads.Load(), Mutations: g.mutations.Load(), Throttled: g.throttled.Load()}
}

// Calls counts calls to the cloud.
type Calls struct {
	Reads     int64 `json:"reads"`
	Mutations int64 `json:"mutations"`
	// Throttled are those of them that a service refused because it was called too often. They were made again.
	Throttled int64 `json:"throttled,omitempty"`
}
