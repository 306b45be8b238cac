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

	mu     sync.Mutex
	queued time.Duration // in which further calls waited for their turn; calls that waited together count once
	until  time.Time     // the end of what is counted
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
func (c *Task) waited(d time.Duration) {
	if c.first.Load() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.queued += max(0, min(d, now.Sub(c.until)))
	c.until = now
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
	return (time.Since(begun) - c.queued).Seconds()
}
