package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// TestDurationsCostNothing: the table of durations takes no commit and no serial, a plan and a run that changes nothing do not
// write it, and one that is damaged stops nothing.
func TestDurationsCostNothing(t *testing.T) {
	g := graph(res("a", m{"name": "a"}), res("b", m{"name": "b", "after": "⟦a.id⟧"}))
	plain, timed := newBench(t), newBench(t)
	timed.e.KeepDurations = true
	without, with := plain.deploy(g), timed.deploy(g)
	was, err := plain.store.Load(t.Context(), testStage)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := timed.store.Load(t.Context(), testStage)
	if err != nil {
		t.Fatal(err)
	}
	if with.Commits != without.Commits || snap.Serial != was.Serial || len(was.Meta["durations"]) > 0 {
		t.Errorf("%d commits and serial %d, without a table %d and %d", with.Commits, snap.Serial, without.Commits, was.Serial)
	}
	body, err := timed.e.Key.Open(snap.Meta["durations"], state.Binding(testStage, "\x00durations"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tree.Decode(body)
	if table := durations.Of(v); err != nil || len(table["world.Thing"]) != 1 {
		t.Errorf("%v %s", err, body)
	}
	timed.settled(g)
	after, err := timed.store.Load(t.Context(), testStage)
	if err != nil || after.Revision != snap.Revision {
		t.Errorf("%v: a plan and an empty deploy moved the revision from %d to %d", err, snap.Revision, after.Revision)
	}
	for _, damaged := range []string{"", "{", "[1]", `{"world.Thing":{"create":"x"}}`} {
		c := newBench(t)
		c.e.KeepDurations = true
		c.putMeta("durations", c.e.Key.Seal([]byte(damaged), state.Binding(testStage, "\x00durations")))
		if r := c.deploy(g); len(r.Failures) > 0 || r.Summary.Created != 2 {
			t.Errorf("%q: %s", damaged, failures(r))
		}
	}
}

// TestSlowRunsSayWhatFor: a run of ten seconds names what took longest and what its end waited for; a shorter one does not.
func TestSlowRunsSayWhatFor(t *testing.T) {
	for name, takes := range map[string]time.Duration{"long": 6 * time.Second, "short": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.world.during = func(op, thing string) {
					switch op + " " + thing {
					case "create first":
						time.Sleep(takes)
					case "create second":
						time.Sleep(takes - time.Second/2)
					case "create aside":
						time.Sleep(takes / 2)
					}
				}
				r := b.deploy(graph(res("aside", m{"name": "aside"}), res("first", m{"name": "first"}), res("second", m{"name": "second", "after": "⟦first.id⟧"})))
				if name == "short" {
					if r.Slow != nil {
						t.Errorf("%s: %+v", r.Took, r.Slow)
					}
					return
				}
				if r.Slow == nil || r.Slow.Longest.Address != "first" || len(r.Slow.Path) != 2 || r.Slow.Path[0].Address != "first" || r.Slow.Path[1].Address != "second" {
					t.Errorf("%s: %+v", r.Took, r.Slow)
				}
			})
		})
	}
}

// windowGate lets a service be called once to create something in a window of 30 seconds.
type windowGate struct{ *rate.Limiter }

// Enter implements [reconcile.Gate].
func (g windowGate) Enter(ctx context.Context, call reconcile.Call) (func(error), error) {
	if call.Operation != "create" {
		return func(error) {}, nil
	}
	return func(error) {}, g.Wait(ctx)
}

// TestSlowRunsNameTheLimit: a resource that waited for its turn at a service that limits its calls took as long as that, and the run says how
// much of it was waiting. Its own calls took less than those of the other one.
func TestSlowRunsNameTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.gate = windowGate{rate.New(rate.Quota{Calls: 1, Window: 30 * time.Second})}
		b.world.during = func(op, thing string) {
			if op == "create" {
				time.Sleep(map[string]time.Duration{"begins": 12 * time.Second, "waits": time.Second}[thing])
			}
		}
		r := b.deploy(graph(res("begins", m{"name": "begins"}), res("waits", m{"name": "waits", "after": "⟦begins.id⟧"})))
		if want := (engine.Step{Address: "waits", Seconds: 1, Limited: 18}); r.Slow == nil || r.Slow.Longest != want {
			t.Errorf("%s: %+v, want %+v", r.Took, r.Slow, want)
		}
	})
}

// putMeta writes one stage-wide fact, as a run of its own.
func (b *bench) putMeta(name string, sealed []byte) {
	b.t.Helper()
	j, err := statestore.Begin(b.t.Context(), b.store, testStage, statestore.Claim{Run: "meta", Command: "deploy"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer j.Close()
	change := statestore.Change{Meta: map[string][]byte{name: sealed}, KeyID: b.e.Key.ID()}
	if err := j.FinishWith(b.t.Context(), change, statestore.Succeeded, nil); err != nil {
		b.t.Fatal(err)
	}
}
