package reconcile

import (
	"cmp"
	"context"
	"time"
)

// Priority says how urgent the calls of one piece of work are.
type Priority struct {
	// Rest is the expected time from the begin of the work to the end of all that waits for it.
	Rest time.Duration
	// Address breaks ties, so that the order is the same in each run.
	Address string
}

type priorityKey struct{}

// WithPriority gives the calls made under ctx a priority. Calls without one are the least urgent.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return WithPriorities(ctx, func() Priority { return p })
}

// WithPriorities gives each call made under ctx the priority of the moment in which it begins to wait.
func WithPriorities(ctx context.Context, now func() Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, now)
}

// PriorityOf returns the priority of a call made under ctx now, the zero one when nobody gave one.
func PriorityOf(ctx context.Context) Priority {
	if now, ok := ctx.Value(priorityKey{}).(func() Priority); ok {
		return now()
	}
	return Priority{}
}

// Compare returns a negative number when p goes first, a positive one when q does, and 0 when the earlier of two calls does.
func (p Priority) Compare(q Priority) int {
	return cmp.Or(cmp.Compare(q.Rest, p.Rest), cmp.Compare(p.Address, q.Address))
}

type waitedKey struct{}

// WithWaited tells note how long the calls made under ctx wait for their turn, and whether a service made them wait that limits how often it
// is called.
func WithWaited(ctx context.Context, note func(d time.Duration, limited bool)) context.Context {
	return context.WithValue(ctx, waitedKey{}, note)
}

// Waited notes that a call waited for its turn, which is no part of what its work takes.
func Waited(ctx context.Context, d time.Duration) { waited(ctx, d, false) }

// WaitedForService notes that a call waited for its turn at a service that limits how often it is called.
func WaitedForService(ctx context.Context, d time.Duration) { waited(ctx, d, true) }

func waited(ctx context.Context, d time.Duration, limited bool) {
	if note, ok := ctx.Value(waitedKey{}).(func(time.Duration, bool)); ok {
		note(d, limited)
	}
}

type yieldKey struct{}

// WithYield tells note when a call made under ctx begins to wait for something that other work need not wait for, such as its turn
// at its service. What note returns is called when that is over.
func WithYield(ctx context.Context, note func() (over func())) context.Context {
	return context.WithValue(ctx, yieldKey{}, note)
}

// Yield notes that work under ctx waits, and needs no place among the work that goes on, until over is called.
func Yield(ctx context.Context) (over func()) {
	if note, ok := ctx.Value(yieldKey{}).(func() func()); ok {
		return note()
	}
	return func() {}
}
