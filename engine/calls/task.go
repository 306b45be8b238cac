package calls

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

type taskCallsKey struct{}

// Task knows the calls of one task. Until the first call the task waited for its turn.
type Task struct {
	first   atomic.Pointer[time.Time]
	changed atomic.Bool

	mu      sync.Mutex
	queued  turns // in which further calls waited for their turn
	limited turns // in which calls waited since a service limits how often it is called
}

// turns is the time in which calls waited for their turn. Calls that waited together count once.
type turns struct {
	sum   time.Duration
	until time.Time // the end of what is counted
}

// add counts a wait that ends now.
func (t *turns) add(d time.Duration) {
	now := time.Now()
	t.sum += max(0, min(d, now.Sub(t.until)))
	t.until = now
}

// Note returns a context that notes the calls made under it.
func Note(ctx context.Context) (context.Context, *Task) {
	c := &Task{}
	return context.WithValue(reconcile.WithWaited(ctx, c.waited), taskCallsKey{}, c), c
}

// Began notes a call that begins now.
func Began(ctx context.Context, mutates bool) {
	c, ok := ctx.Value(taskCallsKey{}).(*Task)
	if !ok {
		return
	}
	if c.first.Load() == nil {
		c.first.CompareAndSwap(nil, new(time.Now()))
	}
	if mutates {
		c.changed.Store(true)
	}
}

// waited notes that a call has waited for its turn until now.
func (c *Task) waited(d time.Duration, limited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limited {
		c.limited.add(d)
	}
	if c.first.Load() != nil {
		c.queued.add(d)
	}
}

// Mutated reports that one of the calls was to change the cloud.
func (c *Task) Mutated() bool { return c.changed.Load() }

// Elapsed returns the seconds since the first call without those in queues, or since begun when no call was made.
func (c *Task) Elapsed(begun time.Time) float64 {
	if first := c.first.Load(); first != nil {
		begun = *first
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return (time.Since(begun) - c.queued.sum).Seconds()
}

// Limited returns the seconds in which calls waited since a service limits how often it is called.
func (c *Task) Limited() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limited.sum.Seconds()
}
