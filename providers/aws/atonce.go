package aws

import (
	"context"
	"reflect"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
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

// Stays reports whether an object is in state and declared, so that its read most likely finds it: one that is deleted is declared no more.
func Stays[P, A any](s kind.Site[P, A]) bool {
	return s.Last != nil && !reflect.ValueOf(s.Want).IsZero()
}

// ReadWith reads an object and its parts. Of an object that is known to be there (see [Stays]), what names the parts is known already, and all
// are read at once; else the parts are read of an object that is found. Whether the object is there, its own read says. A part that is
// not there, of an object that is, is not shown yet.
func ReadWith(ctx context.Context, isKnown bool, object func(context.Context) error, parts ...func(context.Context) error) error {
	if !isKnown {
		if err := object(ctx); err != nil {
			return Absent(err)
		}
	}
	group, beside := errgroup.WithContext(ctx)
	beside, cancel := context.WithCancel(beside)
	defer cancel()
	for _, part := range parts {
		group.Go(func() error { return NotYet(part(beside)) })
	}
	if isKnown {
		if err := object(ctx); err != nil {
			cancel()
			_ = group.Wait() // what parts of nothing say
			return Absent(err)
		}
	}
	return group.Wait()
}
