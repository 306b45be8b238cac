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
