package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// interruption is a run that waits for something when it is asked to stop.
type interruption struct {
	name string
	// before deploys what must be there, and after leaves the cloud so that the run waits. Both may be nil.
	before func(b *bench)
	stuck  func(b *bench)
	graph  *engine.Graph
	// heal takes away what the run waited for.
	heal func(b *bench)
	// wait is --wait; parallel that of the engine.
	wait     time.Duration
	parallel int
}

func interruptions() []interruption {
	late := graph(kind("Late", res("a", m{})))
	slow := graph(kind("Slow", res("a", m{})), res("b", m{"after": "⟦a.color⟧"}))
	plain := graph(res("a", m{"name": "a"}), res("b", m{"name": "b", "after": "⟦a.id⟧"}))
	stumbles := func(call string, err error) (stuck, heal func(*bench)) {
		return func(b *bench) {
				b.world.during = func(op, name string) { // from the run on: its plan is made before
					b.world.mu.Lock()
					defer b.world.mu.Unlock()
					b.world.fail[call] = err
				}
			}, func(b *bench) {
				b.world.during = nil
				clear(b.world.fail)
			}
	}
	read, healRead := stumbles("observe a", errThrottled)
	create, healCreate := stumbles("create a", errThrottled)
	drop, healDrop := stumbles("delete a", errThrottled)
	return []interruption{
		{
			name: "not visible yet", graph: late,
			before: func(b *bench) { b.deploy(late); b.world.stale = time.Hour },
			stuck:  func(*bench) {},
			heal:   func(b *bench) { b.world.stale = 0 },
		},
		{
			name: "not ready", graph: slow,
			stuck: func(b *bench) { b.world.steps = 1 << 30 },
			heal: func(b *bench) {
				for _, thing := range b.world.things {
					thing.Busy = 0
				}
			},
		},
		{name: "a read is throttled", graph: plain, stuck: read, heal: healRead},
		{name: "a creation is throttled", graph: plain, stuck: create, heal: healCreate},
		{
			name: "a deletion is throttled", graph: graph(),
			before: func(b *bench) { b.deploy(graph(res("a", m{"name": "a"}))) }, stuck: drop, heal: healDrop,
		},
		{
			name: "a deletion that may not be visible yet", graph: graph(),
			before: func(b *bench) { b.deploy(late); b.world.stale = time.Hour },
			stuck:  func(*bench) {},
			heal:   func(b *bench) { b.world.stale = 0 },
		},
		{
			name: "another run holds the stage", graph: plain, wait: time.Hour,
			stuck: func(b *bench) {
				j, err := statestore.Begin(b.t.Context(), b.store, testStage, statestore.Claim{Run: "other", Command: "deploy"})
				if err != nil {
					b.t.Fatal(err)
				}
				b.t.Cleanup(func() { _ = j.Close() })
				b.world.during = nil
				time.AfterFunc(time.Minute, func() { _ = j.Finish(context.Background(), statestore.Succeeded, nil) })
			},
			heal: func(*bench) { time.Sleep(2 * time.Minute) },
		},
	}
}

// Every wait ends within a second of the first signal, from any sender. Nothing is created after it, and the next run
// completes what this one left.
func TestInterruptEndsEveryWait(t *testing.T) {
	for _, c := range interruptions() {
		for _, by := range []string{"signal", "cancel"} {
			if by == "cancel" && c.wait > 0 {
				continue // there is no run yet that could be asked
			}
			t.Run(c.name+"/"+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.play(t, by) })
			})
		}
	}
}

func (c interruption) play(t *testing.T, by string) {
	b := newBench(t)
	b.e.Parallel = c.parallel
	if c.before != nil {
		c.before(b)
	}
	p := b.plan(c.graph)
	c.stuck(b)
	interrupt, signalled := make(chan struct{}), time.Time{}
	time.AfterFunc(3*time.Second, func() {
		signalled = time.Now()
		b.world.mu.Lock()
		b.world.log = nil
		b.world.mu.Unlock()
		if by == "signal" {
			close(interrupt)
			return
		}
		if asked, err := b.store.Interrupt(context.Background(), testStage, statestore.Order{Who: "somebody"}); !asked || err != nil {
			t.Errorf("cancel: %t %v", asked, err)
		}
	})
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy", Interrupt: interrupt, Wait: c.wait})
	if took := time.Since(signalled); signalled.IsZero() || took > time.Second {
		t.Errorf("ended %s after the signal", took)
	}
	if c.wait > 0 {
		if !errors.Is(err, reconcile.ErrInterrupted) {
			t.Errorf("error %v", err)
		}
	} else if err != nil || r.State != statestore.Cancelled || len(r.Failures) > 0 {
		t.Fatalf("%v %+v %s", err, r, failures(r))
	}
	if log := b.world.takeLog(); len(log) > 0 {
		t.Errorf("calls after the signal: %v", log)
	}
	c.heal(b)
	b.deploy(c.graph)
	b.settled(c.graph)
	if want := len(c.graph.Resources); len(b.world.things) != want {
		t.Errorf("%v, want %d", b.world.names(), want)
	}
}

// Calls that wait for their turn are not begun after an interrupt: only those in flight are awaited.
func TestInterruptEndsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.e.Parallel = 2
		var all []engine.Resource
		for i := range 20 {
			all = append(all, res(fmt.Sprintf("n%02d", i), m{"name": fmt.Sprintf("n%02d", i)}))
		}
		interrupt, creating := make(chan struct{}), 0
		var at time.Time // of the interrupt
		b.world.during = func(op, _ string) {
			if op != "create" {
				return
			}
			b.world.mu.Lock()
			if !at.IsZero() && time.Now().After(at) {
				t.Error("a creation begins after the interrupt")
			}
			creating++
			last := creating == 5
			b.world.mu.Unlock()
			time.Sleep(2 * time.Second)
			if last {
				b.world.mu.Lock()
				at = time.Now()
				b.world.mu.Unlock()
				close(interrupt)
			}
		}
		r, err := b.e.Apply(t.Context(), b.plan(graph(all...)), engine.ApplyOptions{Command: "deploy", Interrupt: interrupt})
		if err != nil || r.State != statestore.Cancelled {
			t.Fatalf("%v %+v", err, r)
		}
		// What was created and not read again yet counts as interrupted: nobody knows that it is as declared.
		// The one beside the fifth may have ended first, and a seventh have begun in its place.
		s := r.Summary
		if made := len(b.world.things); made < 5 || made > 7 || s.Created+s.Interrupted != made || s.NotStarted != 20-made {
			t.Errorf("%d made: %+v", made, r.Summary)
		}
		b.world.during = nil
		g := graph(all...)
		b.deploy(g)
		b.settled(g)
	})
}

// What the run says of a resource whose wait was cut short: that it was interrupted and what it waited for, no failure.
func TestInterruptIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.steps = 1 << 30
		interrupt := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(interrupt) })
		var events []engine.Event
		b.e.Events = func(e engine.Event) {
			if e.Type == engine.EventDone {
				events = append(events, e)
			}
		}
		g := graph(kind("Slow", res("a", m{})), res("b", m{"after": "⟦a.color⟧"}))
		r, err := b.e.Apply(t.Context(), b.plan(g), engine.ApplyOptions{Command: "deploy", Interrupt: interrupt})
		if err != nil || r.Summary.Interrupted != 1 || r.Summary.NotStarted != 1 || r.Summary.Failed+r.Summary.Blocked != 0 {
			t.Fatalf("%v %+v", err, r)
		}
		i := slices.IndexFunc(events, func(e engine.Event) bool { return e.Address == "a" })
		if i < 0 || events[i].Status != engine.StatusInterrupted || !strings.Contains(events[i].Note, "starting") {
			t.Errorf("%+v", events)
		}
	})
}

// A run that lost its lease waits for nothing any more: it could not go on with what it waits for.
func TestLostLeaseEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.steps = 1 << 30
		unlocked := time.Time{}
		time.AfterFunc(3*time.Second, func() {
			unlocked = time.Now()
			_, _ = b.store.Interrupt(context.Background(), testStage, statestore.Order{Unlock: true, Who: "me", Why: "test"})
		})
		_, err := b.e.Apply(t.Context(), b.plan(graph(kind("Slow", res("a", m{})))), engine.ApplyOptions{Command: "deploy"})
		if took := time.Since(unlocked); !errors.Is(err, statestore.ErrFenced) || took > time.Second {
			t.Errorf("%v, %s after the unlock", err, took)
		}
	})
}

// The time of a resource is that of its calls, without the time that they wait for their turn.
func TestElapsedLeavesOutTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.e.Parallel = 2
		var all []engine.Resource
		for i := range 6 {
			all = append(all, res(fmt.Sprintf("n%d", i), m{"name": fmt.Sprintf("n%d", i)}))
		}
		p := b.plan(graph(all...))
		b.world.during = func(string, string) { time.Sleep(time.Second) }
		var took []float64
		b.e.Events = func(e engine.Event) {
			if e.Type == engine.EventDone {
				took = append(took, e.Elapsed)
			}
		}
		r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
		if want := []float64{3, 3, 3, 3, 3, 3}; err != nil || len(r.Failures) > 0 || !slices.Equal(took, want) {
			t.Errorf("took %v, want a look, a creation and a look: %v (%v)", took, want, err)
		}
	})
}
