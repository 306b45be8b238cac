package rate

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// patience is how long nothing under a quota may succeed before a call that is refused is given up.
const patience = time.Minute

// Attempt is one call, as it can be made more than once.
type Attempt struct {
	// Do makes the call.
	Do func(ctx context.Context) error
	// Judge tells what an error of Do means, and how long the service wants to be left alone.
	Judge func(error) (class reconcile.Class, after time.Duration)
	// Again prepares Do for another time, and fails where it cannot be repeated. Nil: nothing is to be prepared.
	Again func() error
}

// Through makes a call in its turn, through the gates of ctx. A call that is refused has done nothing: it alone is made again, in
// its turn, as long as calls under the same quota succeed. Each refusal is known to the gates by its class.
func (l *Limiter) Through(ctx context.Context, call reconcile.Call, a Attempt) error {
	since := time.Now()
	var refused error
	for {
		if err := l.waitAgain(ctx, refused); err != nil {
			return ended(err, refused)
		}
		var stuck time.Duration
		again := false
		err := reconcile.Through(reconcile.WithReady(l.urge(ctx), l.ready), call, func(context.Context) error {
			sent := l.Begin()
			err := a.Do(ctx)
			switch class, after := a.Judge(err); {
			case err == nil:
				sent.Answered()
			case class == reconcile.Throttled:
				stuck, again = min(sent.Throttled(after), time.Since(since)), true
				return reconcile.WithClass(err, reconcile.Throttled)
			case errors.Is(err, syscall.ECONNREFUSED):
				sent.Unsent()
			case class == reconcile.Transient, class == reconcile.Unknown:
				sent.Failed()
			default:
				sent.Answered()
			}
			return err
		})
		if errors.Is(err, reconcile.ErrNotReady) {
			continue // others were sent in its turn
		}
		if !again || stuck > patience || ctx.Err() != nil {
			return err
		}
		if a.Again != nil && a.Again() != nil {
			return err // the code that has the content makes it again
		}
		refused = err
	}
}

// beforeEnd is how long before the end of its time a call that was refused gives up: clients replace the reason of a call
// whose time is over.
const beforeEnd = 100 * time.Millisecond

// waitAgain waits for the turn of a call, after a refusal no longer than there is time to tell of it.
func (l *Limiter) waitAgain(ctx context.Context, refused error) error {
	if deadline, ok := ctx.Deadline(); ok && refused != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-beforeEnd))
		defer cancel()
	}
	return l.Wait(ctx)
}

// ended is why a wait for another attempt ended: an interrupt is told with what was waited for, and time that is up by the
// refusal, which says more.
func ended(err, refused error) error {
	_, ok := errors.AsType[*reconcile.InterruptedError](err)
	switch {
	case refused == nil:
		return err
	case ok:
		return &reconcile.InterruptedError{Why: refused}
	}
	return refused
}
