package reconcile

import (
	"context"
	"errors"
)

// Call is one call to the cloud.
type Call struct {
	Service, Operation string
	Place              Place
	// Mutates says that the call may change the cloud. Telling a read from a write is the provider's
	// duty and is by operation, never by guess: an unknown operation mutates.
	Mutates bool
}

func (c Call) String() string { return c.Service + "." + c.Operation }

// Gate decides when and whether a call may be made, and learns how it ended. Gates are wrappers of one
// shape: bounding calls in flight, checking the lease, limiting rates, counting.
type Gate interface {
	// Enter blocks until the call may be made. Leave must be called with the call's result.
	Enter(ctx context.Context, call Call) (leave func(error), err error)
}

type (
	gateKey     struct{}
	readOnlyKey struct{}
	readyKey    struct{}
)

// ErrNotReady says that a call was not made: the service must not be called at the moment that it could have begun.
var ErrNotReady = errors.New("not ready")

// WithReady lets the call made under ctx begin only when ready says so, which a gate asks once the call waits for nothing else.
func WithReady(ctx context.Context, ready func() bool) context.Context {
	return context.WithValue(ctx, readyKey{}, ready)
}

// Ready reports whether the call made under ctx may begin now. A gate refuses one that may not with ErrNotReady.
func Ready(ctx context.Context) bool {
	ready, ok := ctx.Value(readyKey{}).(func() bool)
	return !ok || ready()
}

// WithGate gives the calls made under ctx a further gate, passed after those that are already there.
func WithGate(ctx context.Context, gate Gate) context.Context {
	if outer, ok := ctx.Value(gateKey{}).(Gate); ok {
		gate = chain{outer, gate}
	}
	return context.WithValue(ctx, gateKey{}, gate)
}

// ReadOnly refuses mutating calls made under ctx with ErrReadOnly.
func ReadOnly(ctx context.Context) context.Context {
	if ctx.Value(readOnlyKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, readOnlyKey{}, true)
}

// Through makes one call through the gates of ctx. Every call of every provider goes through here.
func Through(ctx context.Context, call Call, do func(context.Context) error) error {
	if call.Mutates && ctx.Value(readOnlyKey{}) != nil {
		return &StepError{Verb: call.String(), Err: ErrReadOnly}
	}
	gate, ok := ctx.Value(gateKey{}).(Gate)
	if !ok {
		return do(ctx)
	}
	leave, err := gate.Enter(ctx, call)
	if err != nil {
		return err
	}
	err = do(ctx)
	leave(err)
	return err
}

// chain is two gates passed one after the other.
type chain struct{ first, second Gate }

func (c chain) Enter(ctx context.Context, call Call) (func(error), error) {
	leaveFirst, err := c.first.Enter(ctx, call)
	if err != nil {
		return nil, err
	}
	leaveSecond, err := c.second.Enter(ctx, call)
	if err != nil {
		leaveFirst(err)
		return nil, err
	}
	return func(err error) {
		leaveSecond(err)
		leaveFirst(err)
	}, nil
}
