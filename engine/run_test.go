package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/statestore"
)

var testStage = statestore.Stage{Stack: "shop", Name: "test"}

func (b *bench) apply(g *engine.Graph, change func(*engine.ApplyOptions)) (*engine.Result, error) {
	b.t.Helper()
	o := engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"}
	if change != nil {
		change(&o)
	}
	return b.e.Apply(b.t.Context(), b.plan(g), o)
}

func TestNoLevelBarriers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.steps = 20
		var order []string
		b.e.Events = func(e engine.Event) {
			if e.Type == engine.EventDone {
				order = append(order, e.Address)
			}
		}
		// A consumer of what is known at birth goes on; one that depends on readiness waits.
		g := graph(kind("Slow", res("slow", m{})), res("early", m{"after": "⟦slow.id⟧"}), res("next", m{"after": "⟦early.id⟧"}),
			res("late", m{"after": "⟦slow.color⟧"}), res("told", m{}, func(o *engine.Options) { o.DependsOn = []string{"slow"} }))
		if r := b.deploy(g); len(r.Failures) > 0 {
			t.Fatal(failures(r))
		}
		if got := strings.Join(order[:3], " "); got != "early next slow" {
			t.Errorf("%v", order)
		}
		b.settled(g)
	})
}

func TestLongestPathFirstAndBoundedCalls(t *testing.T) {
	b := newBench(t)
	b.e.Parallel = 1
	var started []string
	b.e.Events = func(e engine.Event) {
		if e.Type == engine.EventStart {
			started = append(started, e.Address)
		}
	}
	g := graph(res("a", m{"name": "a"}), res("x1", m{"name": "x1"}), res("x2", m{"name": "x2", "after": "⟦x1.id⟧"}), res("x3", m{"name": "x3", "after": "⟦x2.id⟧"}))
	b.deploy(g)
	// Work begins in order of rank; what begins at once may tell of it in either order.
	if b.world.most != 1 || !slices.Contains(started[:2], "x1") || len(started) != 4 {
		t.Errorf("%d calls at once, started %v", b.world.most, started)
	}
	// Sixteen by default, however many nodes are ready.
	c := newBench(t)
	var many []engine.Resource
	for i := range 200 {
		many = append(many, res(fmt.Sprintf("n%d", i), m{}))
	}
	c.deploy(graph(many...))
	if c.world.most > 16 || len(c.world.things) != 200 {
		t.Errorf("%d calls at once, %d things", c.world.most, len(c.world.things))
	}
}

func TestHungCallFailsItsOwnResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.hang["create stuck"], b.world.hang["create own"] = true, true
		g := graph(kind("Hasty", res("h", m{"name": "stuck"})), res("a", m{}), res("behind", m{"after": "⟦h.id⟧"}),
			res("o", m{"name": "own"}, func(o *engine.Options) { o.Timeouts.Create = 5 * time.Second }))
		since := time.Now()
		r := b.deploy(g)
		if took := time.Since(since); took < time.Minute || took > 2*time.Minute {
			t.Errorf("took %s", took)
		}
		if r.Summary.Created != 1 || r.Summary.Failed != 2 || r.Summary.Blocked != 1 || r.State != statestore.Failed {
			t.Errorf("%+v", r.Summary)
		}
		clear(b.world.hang)
		if r := b.deploy(g); len(r.Failures) > 0 {
			t.Error(failures(r))
		}
		b.settled(g)
	})
}

func TestVisibilityBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.stale = 8 * time.Second
		g := graph(kind("Late", res("a", m{"shape": "1"})))
		b.deploy(g)
		if len(b.world.things) != 1 {
			t.Fatalf("%v", b.world.names())
		}
		// Within the bound a plan says so, and a deploy waits instead of making it twice.
		b.world.stale = time.Hour
		p := b.plan(g)
		if actions(p) != "a:create" || !slices.Contains(p.Actions[0].Notes, "not yet visible") {
			t.Fatalf("%s %v", actions(p), p.Actions[0].Notes)
		}
		// Drift gives the same answer, and both say until when a run waits.
		drift, err := b.e.PlanDrift(t.Context(), testStage, g, b.opts)
		if until := p.Actions[0].WaitUntil; err != nil || actions(drift) != "a:create" || until.Before(time.Now()) || !drift.Actions[0].WaitUntil.Equal(until) {
			t.Errorf("%v: drift has %s until %v, the plan until %v", err, actions(drift), drift.Actions[0].WaitUntil, until)
		}
		var told []string
		b.e.Events = func(e engine.Event) { told = append(told, e.Note) }
		go func() { time.Sleep(3 * time.Second); b.world.mu.Lock(); b.world.stale = 0; b.world.mu.Unlock() }()
		if r := b.deploy(g); len(r.Failures) > 0 || len(b.world.things) != 1 {
			t.Fatalf("%s %v", failures(r), b.world.names())
		}
		if !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, "not visible yet, until ") }) {
			t.Errorf("the wait is not announced with its reason and its end: %q", told)
		}
		b.settled(g)
		// A deletion within the bound does not take "not yet" for "gone".
		b.world.stale = 9 * time.Second
		g2 := graph(kind("Late", res("b", m{})))
		b.deploy(g2)
		b.deploy(graph())
		if len(b.world.things) != 0 {
			t.Errorf("left: %v", b.world.names())
		}
		// Deleted for good, it is made again when the bound has passed.
		b.world.stale = 0
		b.deploy(g)
		clear(b.world.things)
		if r := b.deploy(g); len(r.Failures) > 0 || len(b.world.things) != 1 {
			t.Fatalf("%s %v", failures(r), b.world.names())
		}
	})
}

func TestWaitingBlocksWithoutFailing(t *testing.T) {
	b := newBench(t)
	g := graph(kind("Waits", res("w", m{"name": "sub"})), res("behind", m{"after": "⟦w.id⟧"}), res("far", m{"after": "⟦behind.id⟧"}), res("free", m{}))
	b.world.during = func(op, name string) {
		b.world.mu.Lock()
		defer b.world.mu.Unlock()
		if sub := b.world.things["sub"]; op == "observe" && sub != nil && sub.Wait == "" {
			sub.Wait = "confirm it"
		}
	}
	for round := range 2 {
		r := b.deploy(g)
		if r.State != statestore.Succeeded || r.Waiting["w"] != "confirm it" || len(r.Waiting) != 1 || len(r.Failures) > 0 {
			t.Fatalf("%+v %+v %s", r.Summary, r, failures(r))
		}
		if round == 0 && r.Summary.Blocked != 2 || round == 1 && (r.Summary.Waiting != 3 || r.Run != "") {
			t.Fatalf("round %d: %+v", round, r)
		}
	}
	b.world.during = nil
	b.world.things["sub"].Wait = ""
	if r := b.deploy(g); r.Summary.Created != 2 || len(r.Waiting) > 0 {
		t.Fatalf("%+v", r.Summary)
	}
	b.settled(g)
}

func TestHooks(t *testing.T) {
	b := newBench(t)
	var ran []string
	fail := map[string]bool{}
	g := graph(res("a", m{"shape": "1"}, func(o *engine.Options) {
		o.DeleteFirst = true
		o.Before, o.After = []engine.Hook{{Func: "before"}}, []engine.Hook{{Func: "after"}}
	}), res("b", m{}))
	g.Dir = t.TempDir()
	g.Funcs.Hooks = map[string]func(context.Context, engine.HookInfo) error{}
	for _, name := range []string{"before", "after"} {
		g.Funcs.Hooks[name] = func(_ context.Context, i engine.HookInfo) error {
			b.world.mu.Lock() // another resource is at work meanwhile
			defer b.world.mu.Unlock()
			ran = append(ran, fmt.Sprintf("%s %s %s %d", name, i.Address, i.Action, len(b.world.of("a"))))
			if fail[name] {
				return errors.New("no")
			}
			return nil
		}
	}
	fail["before"] = true
	if r := b.deploy(g); r.Summary.Failed != 1 || r.Summary.Created != 1 || len(b.world.of("a")) != 0 {
		t.Fatalf("%+v", r.Summary)
	}
	fail["before"], fail["after"] = false, true
	var told []string
	b.e.Events = func(e engine.Event) {
		if e.Type == engine.EventHook {
			told = append(told, fmt.Sprintf("%s %s", e.Note, e.Status))
		}
	}
	if r := b.deploy(g); r.Summary.Failed != 1 || len(b.world.of("a")) != 1 || !strings.Contains(failures(r), "the resource itself is done") {
		t.Fatalf("%+v %s", r.Summary, failures(r))
	}
	if got := strings.Join(told, ", "); got != "before done, after failed" {
		t.Errorf("of hooks the events say %q", got)
	}
	b.e.Events = nil
	b.settled(g)
	ran, fail["after"] = nil, false
	g.Resources[0].Props = m{"shape": "2"}
	b.deploy(g)
	if got := strings.Join(ran, ","); got != "before a delete 1,after a replace 1" {
		t.Errorf("%s", got)
	}
	// A command is data: it runs on deletion too, and its output is part of the error alone.
	g.Resources[1].Options.Before = []engine.Hook{{Run: "echo $ATHANOR_ADDRESS $ATHANOR_ACTION; exit 3"}}
	b.deploy(g)
	r := b.deploy(graph(g.Resources[0]))
	if r.Summary.Failed != 1 || !strings.Contains(failures(r), "exit status 3: b delete") || len(b.world.of("b")) != 1 {
		t.Errorf("%+v %s", r.Summary, failures(r))
	}
}

func TestOutputsOutliveAFailure(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "pot"}), res("b", m{"color": "red"}))
	g.Outputs = m{"a": "⟦a.id⟧", "b": "⟦b.color⟧"}
	b.deploy(g)
	b.world.fail["set "+b.world.of("b")[0].Name] = errDenied
	g.Resources[1].Props = m{"color": "blue"}
	r := b.deploy(g)
	values, _, err := b.e.Outputs(t.Context(), testStage)
	if err != nil || values["a"] != "thing:pot" || values["b"] != "red" || len(r.Failures) != 1 {
		t.Errorf("%v %v %s", values, err, failures(r))
	}
}

func TestInterrupts(t *testing.T) {
	for _, second := range []bool{false, true} {
		t.Run(fmt.Sprint("second=", second), func(t *testing.T) {
			b := newBench(t)
			g := graph(res("a", m{"name": "a"}), res("b", m{"name": "b", "after": "⟦a.id⟧"}))
			interrupt := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			b.world.during = func(op, _ string) {
				if op == "create" {
					once.Do(func() { close(interrupt) })
					if second {
						cancel()
					}
				}
			}
			b.world.hang["create a"] = second
			r, err := b.e.Apply(ctx, b.plan(g), engine.ApplyOptions{Command: "deploy", Interrupt: interrupt})
			if err != nil || r.State != statestore.Cancelled || r.Summary.NotStarted+r.Summary.Blocked != 1 {
				t.Fatalf("%v %+v", err, r)
			}
			if made := len(b.world.things); second && made != 0 || !second && (made != 1 || r.Summary.Created != 1) {
				t.Errorf("%v %+v", b.world.names(), r.Summary)
			}
			runs, _ := b.store.Runs(t.Context(), testStage, 0)
			if runs[0].State != statestore.Cancelled {
				t.Errorf("%+v", runs[0])
			}
			b.world.during = nil
			clear(b.world.hang)
			b.deploy(g)
			b.settled(g)
		})
	}
}

func TestFencedInMidRun(t *testing.T) {
	b := newBench(t)
	b.world.during = func(op, _ string) {
		if op == "create" {
			_, _ = b.store.Interrupt(context.Background(), testStage, statestore.Order{Unlock: true, Who: "me", Why: "test"})
		}
	}
	g := graph(res("a", m{"name": "a"}), res("b", m{"name": "b", "after": "⟦a.id⟧"}), res("c", m{"name": "c", "after": "⟦b.id⟧"}))
	_, err := b.apply(g, nil)
	if !errors.Is(err, statestore.ErrFenced) || len(b.world.things) != 1 {
		t.Fatalf("%v %v", err, b.world.names())
	}
	b.world.during = nil
	if runs, _ := b.store.Runs(t.Context(), testStage, 0); runs[0].State != statestore.Lost {
		t.Errorf("%+v", runs[0])
	}
	b.deploy(g)
	if runs, _ := b.store.Runs(t.Context(), testStage, 0); runs[0].State != statestore.Succeeded {
		t.Errorf("%+v", runs[0])
	}
	b.settled(g)
}

// A lease that is taken away after the look and before the call keeps the call from being made, although nothing is
// written in between that would have shown it. So it is with hooks.
func TestUnlockedBeforeACall(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"name": "a", "color": "red"})))
	unlock := func() {
		_, _ = b.store.Interrupt(context.Background(), testStage, statestore.Order{Unlock: true, Who: "me", Why: "test"})
	}
	for name, hooks := range map[string][]engine.Hook{"call": nil, "hook": {{Func: "unlock"}, {Func: "never"}}} {
		t.Run(name, func(t *testing.T) {
			b.world.takeLog()
			g := graph(res("a", m{"name": "a", "color": "blue"}, func(o *engine.Options) { o.Before = hooks }))
			called := false
			g.Funcs.Hooks = map[string]func(context.Context, engine.HookInfo) error{
				"unlock": func(context.Context, engine.HookInfo) error { unlock(); return nil },
				"never":  func(context.Context, engine.HookInfo) error { called = true; return nil },
			}
			p := b.plan(g)
			if hooks == nil {
				b.world.during = func(op, _ string) {
					if op == "observe" {
						unlock()
					}
				}
			}
			_, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
			b.world.during = nil
			if log := b.world.takeLog(); !errors.Is(err, statestore.ErrFenced) || len(log) > 0 || called {
				t.Errorf("%v; calls %v; the second hook ran: %t", err, log, called)
			}
		})
	}
}

// away is a store that cannot be reached for a while.
type away struct {
	statestore.Store
	gone atomic.Bool
}

func (s *away) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	if s.gone.Load() {
		return lease, &statestore.UnavailableError{Path: "state.db", Err: errors.New("no route")}
	}
	return s.Store.Commit(ctx, lease, batch)
}

func (s *away) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	if s.gone.Load() {
		return nil, &statestore.UnavailableError{Path: "state.db", Err: errors.New("no route")}
	}
	return s.Store.Runs(ctx, stage, limit)
}

// When the lease cannot be renewed, a run stops by itself before others may take the stage; while it has time left, or
// when the store is back before somebody took over, it goes on.
func TestStoreAwayInMidRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		away  time.Duration
		back  bool // before the call
		makes bool
	}{
		{"within the lease", 20 * time.Second, false, true},
		{"at its end", 24*time.Second + time.Millisecond, false, false},
		{"for long", time.Hour, false, false},
		{"for long, and back", time.Hour, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.deploy(graph(res("a", m{"name": "a", "color": "red"})))
				store := &away{Store: b.store}
				b.e.Store = store
				b.world.takeLog()
				g := graph(res("a", m{"name": "a", "color": "blue"}, func(o *engine.Options) { o.Before = []engine.Hook{{Func: "wait"}} }))
				g.Funcs.Hooks = map[string]func(context.Context, engine.HookInfo) error{"wait": func(context.Context, engine.HookInfo) error {
					store.gone.Store(true)
					time.Sleep(c.away)
					store.gone.Store(!c.back)
					return nil
				}}
				b.world.during = func(op, _ string) {
					if op == "set" {
						store.gone.Store(false) // so that the end can be written
					}
				}
				_, err := b.e.Apply(t.Context(), b.plan(g), engine.ApplyOptions{Command: "deploy"})
				if log := b.world.takeLog(); (len(log) == 1) != c.makes || (err == nil) != c.makes {
					t.Errorf("%v; calls %v", err, log)
				}
			})
		})
	}
}

func TestSavedPlans(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), res("b", m{}))
	saved := b.saved(b.plan(g))
	if _, err := b.give(saved, graph(res("a", m{"color": "blue"}), res("b", m{}))); !errors.Is(err, engine.ErrStale) || !strings.Contains(err.Error(), "the program") {
		t.Fatalf("program: %v", err)
	}
	if r, err := b.give(saved, g); err != nil || r.Summary.Created != 2 {
		t.Fatalf("%v", err)
	}
	if _, err := b.give(saved, g); !errors.Is(err, engine.ErrStale) || !strings.Contains(err.Error(), "serial") {
		t.Fatalf("serial: %v", err)
	}
	g.Resources[0].Props, g.Resources[1].Props = m{"color": "blue"}, m{"color": "x"}
	saved = b.saved(b.plan(g))
	b.world.of("a")[0].Shape = "drifted"
	r, err := b.give(saved, g)
	if err != nil || r.Summary.Failed != 1 || r.Summary.Updated != 1 || !errors.Is(r.Failures[0], operation.ErrChanged) {
		t.Fatalf("%v %+v %s", err, r.Summary, failures(r))
	}
	// Without a saved plan the change between look and work stops what would be replaced, too.
	b.world.of("a")[0].Shape = ""
	p := b.plan(g)
	b.world.of("a")[0].Shape = "drifted"
	r, err = b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil || !errors.Is(r.Failures[0], operation.ErrChanged) || len(b.world.of("a")) != 1 {
		t.Fatalf("%v %s", err, failures(r))
	}
}

func TestPlanIsMadeAgainWhenTheRecordMoved(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{}), res("b", m{}))
	p := b.plan(g)
	b.deploy(graph(res("a", m{})))
	if _, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"}); !errors.Is(err, engine.ErrNotApproved) {
		t.Fatalf("%v", err)
	}
	asked := ""
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy", Approve: func(p *engine.Plan) bool { asked = actions(p); return true }})
	if err != nil || asked != "a:unchanged b:create" || r.Summary.Created != 1 {
		t.Fatalf("%v %s %+v", err, asked, r)
	}
}

// renamed is a store whose identity a test sets.
type renamed struct {
	statestore.Store
	id string
}

func (s *renamed) ID(context.Context) (string, error) { return s.id, nil }

// TestPlanIsMadeAgainWhenTheStoreIsAnother: somebody else made the store between planning and the lease. Objects get
// the owner tag of the store that is there, since the next run would take them for another one's.
func TestPlanIsMadeAgainWhenTheStoreIsAnother(t *testing.T) {
	b := newBench(t)
	store := &renamed{b.store, "planned"}
	b.e.Store = store
	g := graph(res("a", m{}))
	p := b.plan(g)
	store.id = "made"
	if _, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"}); err != nil {
		t.Fatal(err)
	}
	if mark := adopt.MarkOf(b.world.of("a")[0].Tags); mark.Store != "made" {
		t.Errorf("marked %+v", mark)
	}
	g.Resources[0].Props = m{"color": "red"}
	saved := b.saved(b.plan(g))
	store.id = "another"
	if _, err := b.give(saved, g); !errors.Is(err, engine.ErrStale) || !strings.Contains(err.Error(), "the store") {
		t.Errorf("a saved plan: %v", err)
	}
}

func TestSelection(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{}), res("b", m{"after": "⟦a.id⟧"}), res("c", m{}))
	b.opts.Target = []string{"b"}
	if r := b.deploy(g); r.Summary.Created != 2 || len(b.world.of("c")) != 0 {
		t.Fatalf("%+v", r.Summary)
	}
	b.opts = engine.PlanOptions{Exclude: []string{"a"}}
	g.Resources[0].Props, g.Resources[1].Props = m{"color": "x"}, m{"after": "⟦a.id⟧", "color": "x"}
	if r := b.deploy(g); r.Summary.Created != 1 || r.Summary.Updated != 0 {
		t.Fatalf("%+v", r.Summary)
	}
	b.opts = engine.PlanOptions{Target: []string{"a"}}
	if _, err := b.e.Plan(t.Context(), graph(g.Resources[1], g.Resources[2]), b.opts); err == nil {
		t.Error("a reference to nothing")
	}
	b.opts.Target = []string{"nothing"}
	if _, err := b.e.Plan(t.Context(), g, b.opts); err == nil {
		t.Error("a target that is nothing")
	}
}

func TestKindsInStateAlone(t *testing.T) {
	b := newBench(t)
	g := graph(kind("Run", res("r", m{"text": "one"})), kind("Note", res("n", m{"text": "⟦r.text⟧"})))
	b.deploy(g)
	b.settled(g)
	b.lose()
	if p := b.plan(g); actions(p) != "n:recover r:update" {
		t.Fatal(actions(p))
	}
	b.world.takeLog()
	b.deploy(g)
	b.settled(g)
	g.Resources[0].Props = m{"text": "two"}
	b.deploy(g)
	if log := strings.Join(b.world.takeLog(), ","); log != "run two,undo one" {
		t.Errorf("undone with what it was made with: %s", log)
	}
	b.settled(g)
}
