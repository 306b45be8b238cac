package observe

import (
	"context"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Poll asks about an object until the answer is nil, the end, or an error, at the intervals of such questions.
func Poll(ctx context.Context, ask func() (*reconcile.Pending, error)) error {
	return reconcile.Poll(ctx, time.Second, 10*time.Second, ask)
}

// Certain reads until what reading shows is certain. Read returns until when it may still show what was there before, zero when
// it cannot; before the first wait that is announced.
func Certain(ctx context.Context, read func() (time.Time, error), announce func(until time.Time)) error {
	until, err := read()
	if err != nil || until.IsZero() {
		return err
	}
	announce(until)
	first := true
	return Poll(ctx, func() (*reconcile.Pending, error) {
		if !first {
			if until, err = read(); err != nil || until.IsZero() {
				return nil, err
			}
		}
		first = false
		return &reconcile.Pending{Why: &reconcile.HiddenError{Until: until}, Most: max(0, time.Until(until)) + time.Millisecond}, nil
	})
}
