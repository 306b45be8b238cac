package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestUntil asks at once and then at growing intervals, keeps to the pause that the service asks for, asks again when a question
// is lost, and ends with what it was told.
func TestUntil(t *testing.T) {
	busy, why := errors.New("still going on"), errors.New("the end")
	for name, c := range map[string]struct {
		answers []error // busy: not the end
		again   time.Duration
		want    error
		took    time.Duration
	}{
		"ended at once":      {[]error{nil}, 0, nil, 0},
		"grows":              {[]error{busy, busy, busy, nil}, 0, nil, time.Second + 1500*time.Millisecond + 2*time.Second},
		"asked for a pause":  {[]error{busy, nil}, 1700 * time.Millisecond, nil, 1700 * time.Millisecond},
		"for too long a one": {[]error{busy, nil}, time.Hour, nil, 2 * time.Second},
		"a lost question":    {[]error{reconcile.WithClass(why, reconcile.Transient), nil}, 0, nil, time.Second},
		"a refused question": {[]error{busy, reconcile.WithClass(why, reconcile.Denied)}, 0, why, time.Second},
		"a bad end":          {[]error{why}, 0, why, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, asked := time.Now(), 0
			ctx := reconcile.EvenIntervals(t.Context())
			err := reconcile.Until(ctx, nowhere{}, time.Second, 2*time.Second, busy, func(context.Context) (bool, time.Duration, error) {
				answer := c.answers[asked]
				asked++
				_, lost := reconcile.ClassGiven(answer)
				switch {
				case errors.Is(answer, busy):
					return false, c.again, nil
				case lost:
					return false, 0, answer
				}
				return true, 0, answer
			})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || time.Since(began) != c.took || asked != len(c.answers) {
				t.Errorf("%s: %v after %s and %d questions", name, err, time.Since(began), asked)
			}
		})
	}
}

// TestUntilInterrupted ends the wait as soon as the run is asked to stop, and says what was waited for.
func TestUntilInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, why := make(chan struct{}), errors.New("spreading")
		time.AfterFunc(time.Second, func() { close(stop) })
		ctx := reconcile.WithInterrupt(t.Context(), stop)
		began := time.Now()
		err := reconcile.Until(ctx, nowhere{}, time.Minute, time.Minute, why, func(context.Context) (bool, time.Duration, error) { return false, 0, nil })
		if !errors.Is(err, reconcile.ErrInterrupted) || !errors.Is(err, why) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// nowhere is a cloud that classifies nothing.
type nowhere struct{}

func (nowhere) Place(context.Context) (reconcile.Place, error) { return reconcile.Place{}, nil }
func (nowhere) Classify(error) reconcile.Class                 { return reconcile.Unknown }
