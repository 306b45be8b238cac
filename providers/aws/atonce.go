package aws

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/reconcile"
)

// AtOnce makes at once reads of one object of which any may answer that there is none. That is reconcile.ErrAbsent where no read failed
// with another error, whichever answer comes first.
func AtOnce(ctx context.Context, reads ...func(context.Context) error) error {
	var absent atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	for _, read := range reads {
		group.Go(func() error {
			err := read(ctx)
			if IsAbsent(err) {
				absent.Store(true)
			}
			return OrNone(err)
		})
	}
	if err := group.Wait(); err != nil || !absent.Load() {
		return err
	}
	return reconcile.ErrAbsent
}
