package execute

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Who asks a run to stop, as [Result.InterruptedBy] says it.
const (
	BySignal = "signal" // the interrupt of the run was closed
	ByCancel = "cancel" // somebody asked through the store
)

// asked is how often a run asks the store whether somebody wants it to stop: every wait ends within this time of it.
const asked = 500 * time.Millisecond

// stops knows whether a run is to stop, and who asked for it.
type stops struct {
	interrupt <-chan struct{}
	journal   *statestore.Journal
	// told is called when somebody asked through the store.
	told      func()
	stoppedBy atomic.Pointer[string] // who asked the run to stop first
}

// Stopping reports that nothing new may be started.
func (s *stops) Stopping() bool {
	return isClosed(s.interrupt) || isClosed(s.journal.Cancelled()) || errors.Is(s.journal.Held(), statestore.ErrFenced)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// interruptible returns a context whose waits end when the run is asked to stop or loses its lease, and a function that ends
// the watch for that.
func (s *stops) interruptible(ctx context.Context) (context.Context, func()) {
	stop, lost := make(chan struct{}), make(chan struct{})
	watched, end := context.WithCancel(context.WithoutCancel(ctx))
	var watches sync.WaitGroup
	watches.Go(func() {
		for reconcile.Wait(watched, asked, nil) == nil {
			if errors.Is(s.journal.Confirm(watched), statestore.ErrFenced) {
				close(lost)
				return
			}
		}
	})
	watches.Go(func() {
		select {
		case <-s.interrupt:
			s.stoppedBy.CompareAndSwap(nil, new(BySignal))
		case <-s.journal.Cancelled():
			s.stoppedBy.CompareAndSwap(nil, new(ByCancel))
			s.told()
		case <-lost:
		case <-watched.Done():
			return
		}
		close(stop)
	})
	return reconcile.WithInterrupt(ctx, stop), func() { end(); watches.Wait() }
}

// interruptedBy says who asked the run to stop first, "" when nobody did.
func (s *stops) interruptedBy() string {
	switch by := s.stoppedBy.Load(); {
	case by != nil:
		return *by
	case isClosed(s.interrupt):
		return BySignal
	case isClosed(s.journal.Cancelled()):
		return ByCancel
	}
	return ""
}

// sayCancelled says it once, and before the run ends.
func (r *Run) sayCancelled() {
	if isClosed(r.Journal.Cancelled()) {
		r.cancelled.Do(func() {
			r.emit(plan.Event{Type: plan.EventWarning, Note: "this run was asked to stop: running calls finish and are written to state"})
		})
	}
}

// endsWith returns a context that ends with the interrupt of ctx, for work that changes nothing.
func endsWith(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-reconcile.Interrupt(ctx):
			cancel(&reconcile.InterruptedError{})
		case <-done:
		}
	})
	return ctx, func() { close(done); watch.Wait(); cancel(nil) }
}

// classOf returns the class of the failure of a node's work, unknown for one that its provider did not answer with.
func classOf(n *plan.Node, err error) reconcile.Class {
	if class, given := reconcile.ClassGiven(err); given || n.Access == nil || n.Access.Cloud == nil || errors.Is(err, reconcile.ErrInterrupted) {
		return class
	}
	return n.Access.Cloud.Classify(err)
}

// ended turns the error of a task into what its last event says. A task that was stopped before it changed or waited for
// anything is not started.
func ended(e *plan.Event, err error, changed bool) {
	stopped, interrupted := errors.AsType[*reconcile.InterruptedError](err)
	switch {
	case interrupted && !changed && stopped.Why == nil:
		e.Status = plan.StatusSkipped
	case interrupted:
		e.Status, e.Note = plan.StatusInterrupted, err.Error()+"; the next run completes it"
	default:
		e.Status, e.Error, e.Hint = plan.StatusFailed, err.Error(), strings.Join(reconcile.Hints(err), "; ")
	}
}
