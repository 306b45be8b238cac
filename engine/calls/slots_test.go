package calls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// caller makes calls through one gate and notes in which order they begin.
type caller struct {
	t     *testing.T
	gate  *Gate
	mu    sync.Mutex
	begun []string
}

func (c *caller) call(ctx context.Context, name string, rest, takes time.Duration) {
	ctx = reconcile.WithPriority(ctx, reconcile.Priority{Rest: rest, Address: name})
	leave, err := c.gate.Enter(ctx, reconcile.Call{Service: "s"})
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	c.begun = append(c.begun, name)
	c.mu.Unlock()
	time.Sleep(takes)
	leave(nil)
}

// TestMostUrgentFirst: who waits goes on in the order of the rest, then of addresses, whenever it came.
func TestMostUrgentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &caller{t: t, gate: NewGate(1)}
		go c.call(t.Context(), "running", 0, time.Second)
		synctest.Wait()
		for _, name := range []string{"b", "a", "c"} {
			rest := time.Second
			if name == "c" {
				rest = time.Minute
			}
			go c.call(t.Context(), name, rest, time.Second)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []string{"running", "c", "a", "b"}; !slices.Equal(c.begun, want) {
			t.Errorf("%v, want %v", c.begun, want)
		}
	})
}

// TestSlotIsHeld: the next call of urgent work finds the slot of the one before although others wait, and others get it a
// twentieth of the call's time later when there is no next one.
func TestSlotIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &caller{t: t, gate: NewGate(1)}
		go func() {
			c.call(t.Context(), "chain", time.Minute, time.Second)
			time.Sleep(time.Millisecond) // it commits
			c.call(t.Context(), "chain", time.Minute, time.Second)
		}()
		synctest.Wait()
		for i := range 3 {
			go c.call(t.Context(), fmt.Sprint("other ", i), time.Second, time.Second)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"chain", "chain", "other 0", "other 1", "other 2"}; !slices.Equal(c.begun, want) {
			t.Errorf("%v, want %v", c.begun, want)
		}
		// All slots are there again.
		if c.gate.slots.free != 1 || len(c.gate.slots.held) != 0 {
			t.Errorf("%d free, %d held", c.gate.slots.free, len(c.gate.slots.held))
		}
	})
}

// TestSlotsAreNotLost: waits that end with their context, in the same instant as slots come free too, lose no slot and make none.
func TestSlotsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel = 4
		c := &caller{t: t, gate: NewGate(parallel)}
		var done sync.WaitGroup
		for i := range 200 {
			done.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Second)
				defer cancel()
				rest := time.Duration(i%5) * time.Minute
				ctx = reconcile.WithPriority(ctx, reconcile.Priority{Rest: rest, Address: fmt.Sprint(i)})
				leave, err := c.gate.Enter(ctx, reconcile.Call{Service: "s"})
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				time.Sleep(time.Second)
				leave(nil)
			})
		}
		done.Wait()
		time.Sleep(time.Second)
		synctest.Wait() // the timers of held slots have done their work
		if s := &c.gate.slots; s.free != parallel || len(s.held) != 0 || s.waiting.Len() != 0 {
			t.Errorf("%d free, %d held, %d wait", s.free, len(s.held), s.waiting.Len())
		}
	})
}

// TestThrottledCallsAreCounted: a refusal counts as a call, and as a throttled one when its provider says so.
func TestThrottledCallsAreCounted(t *testing.T) {
	g := NewGate(1)
	for _, err := range []error{nil, errors.New("no"), reconcile.WithClass(errors.New("slow down"), reconcile.Throttled)} {
		leave, refused := g.Enter(t.Context(), reconcile.Call{Service: "s"})
		if refused != nil {
			t.Fatal(refused)
		}
		leave(err)
	}
	if made := g.Made(); made != (Calls{Reads: 3, Throttled: 1}) {
		t.Errorf("%+v", made)
	}
}

// TestNotReadyIsNotMade: a call that may not begin when a place is free gives the place back, and counts as none.
func TestNotReadyIsNotMade(t *testing.T) {
	g := NewGate(1)
	ctx := reconcile.WithReady(t.Context(), func() bool { return false })
	if _, err := g.Enter(ctx, reconcile.Call{Mutates: true}); !errors.Is(err, reconcile.ErrNotReady) || g.Made() != (Calls{}) {
		t.Errorf("%v, %+v", err, g.Made())
	}
	leave, err := g.Enter(t.Context(), reconcile.Call{})
	if err != nil || g.Made().Reads != 1 {
		t.Fatalf("the place is not free: %v, %+v", err, g.Made())
	}
	leave(nil)
}
