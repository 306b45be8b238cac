package aws

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestAtOnce: which of two answers comes first decides nothing.
func TestAtOnce(t *testing.T) {
	none, throttled := reconcile.WithClass(errors.New("none"), reconcile.Absent), reconcile.WithClass(errors.New("slower"), reconcile.Throttled)
	after := func(wait time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(wait):
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	for _, c := range []struct {
		name          string
		first, second error
		want          error
	}{
		{"both are there", nil, nil, nil},
		{"none is there", none, none, reconcile.ErrAbsent},
		{"one is there", nil, none, reconcile.ErrAbsent},
		{"one fails after another is absent", none, throttled, throttled},
		{"one fails before another is absent", throttled, none, throttled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := AtOnce(t.Context(), after(time.Second, c.first), after(2*time.Second, c.second))
				if !errors.Is(err, c.want) {
					t.Errorf("it is %v, want %v", err, c.want)
				}
			})
		})
	}
}

// TestReadWith: whether an object is there, its own read says, whichever answer comes first; and nobody asks for parts of what is not known.
func TestReadWith(t *testing.T) {
	none, throttled := reconcile.WithClass(errors.New("none"), reconcile.Absent), reconcile.WithClass(errors.New("slower"), reconcile.Throttled)
	for _, c := range []struct {
		name          string
		isKnown       bool
		object, part  error
		first         time.Duration // that the object takes; a part takes 2s
		takes         time.Duration
		isAbsent      bool
		isAsked, want bool // the part, and its error
	}{
		{"both are there", true, nil, nil, time.Second, 2 * time.Second, false, true, false},
		{"both are there, and nothing is known", false, nil, nil, time.Second, 3 * time.Second, false, true, false},
		{"none is there", true, none, none, time.Second, time.Second, true, true, false},
		{"none is there, and the part says so first", true, none, none, 3 * time.Second, 3 * time.Second, true, true, false},
		{"none is there, and nothing is known", false, none, none, time.Second, time.Second, true, false, false},
		{"the part is late", true, nil, none, time.Second, 2 * time.Second, false, true, true},
		{"the part fails of what is not there", true, none, throttled, 3 * time.Second, 3 * time.Second, true, true, false},
		{"the part fails", true, nil, throttled, 3 * time.Second, 3 * time.Second, false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, asked := time.Now(), false
				err := ReadWith(t.Context(), c.isKnown, func(context.Context) error { time.Sleep(c.first); return c.object }, func(ctx context.Context) error {
					asked = true
					select {
					case <-time.After(2 * time.Second):
						return c.part
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				isOther := err != nil && !IsAbsent(err) && errors.Is(err, c.part)
				if errors.Is(err, reconcile.ErrAbsent) != c.isAbsent || isOther != c.want || asked != c.isAsked || time.Since(began) != c.takes {
					t.Errorf("it is %v after %v, asked for the part: %v", err, time.Since(began), asked)
				}
			})
		})
	}
}
