package calls

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

type taskCallsKey struct{}

// taskCalls is what is known of the calls of one task. Until the first the task waited for its turn.
type Task struct {
	first   atomic.Pointer[time.Time]
	queued  atomic.Int64 // nanoseconds that further calls waited for their turn
	changed atomic.Bool
}

// noteCalls returns a context that notes the calls made under it.
func Note(ctx context.Context) (context.Context, *Task) {
	c := &Task{}
	return context.WithValue(reconcile.WithWaited(ctx, c.waited), taskCallsKey{}, c), c
}

// noteCall notes a call that begins now.
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

// waited notes that a call waited for its turn.
func (c *Task) waited(d time.Duration) {
	if c.first.Load() != nil {
		c.queued.Add(int64(d))
	}
}

// mutated reports that one of the calls was to change the world.
func (c *Task) Mutated() bool { return c.changed.Load() }

// elapsed is the time in seconds since the first call without that in queues, or since begun when no call was made.
func (c *Task) Elapsed(begun time.Time) float64 {
	if first := c.first.Load(); first != nil {
		begun = *first
	}
	return (time.Since(begun) - time.Duration(c.queued.Load())).Seconds()
}
