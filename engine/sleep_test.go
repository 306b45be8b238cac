package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/statestore"
)

// devKind lives in a dev session alone, like a process that is watched: it is there as long as its session is.
func devKind(w *world) *reconciletest.Kind[noteProps, runLive, noteAttrs] {
	k := runKind(w)
	k.Type, k.InDev, k.Moves = "world.Dev", true, []string{"text"}
	k.Observe = func(_ context.Context, s reconciletest.Site[noteProps, noteAttrs]) (runLive, error) {
		if s.Last == nil || s.Dev == nil || s.Dev.Dir != s.Last.Short {
			return runLive{}, reconcile.ErrAbsent
		}
		return runLive{*s.Last, s.Had}, nil
	}
	create := k.Create
	k.Create = func(ctx context.Context, s reconciletest.Site[noteProps, noteAttrs]) (noteAttrs, error) {
		a, err := create(ctx, s)
		a.Short = s.Dev.Dir
		return a, err
	}
	return k
}

func dev(addr, text string) engine.Resource {
	return engine.Resource{Address: addr, Kind: "world.Dev", Props: m{"text": text}}
}

// A plain deploy neither starts what lives in dev nor misses it, whatever the record says of it.
func TestWhatLivesInDev(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), dev("web", "⟦a.id⟧"))
	g.Outputs = m{"text": "⟦web.text⟧"}
	p := b.plan(g)
	if got := actions(p); got != "a:create web:unchanged" || !p.Actions[1].InDev || p.Summary.InDev != 1 || p.Summary.Unchanged != 0 {
		t.Fatalf("plan: %s %+v", got, p.Summary)
	}
	if r := b.deploy(g); r.Summary.InDev != 1 || r.Summary.Created != 1 || slices.ContainsFunc(b.world.takeLog(), func(s string) bool { return strings.HasPrefix(s, "run ") }) {
		t.Fatalf("a deploy started it: %+v", r.Summary)
	}
	if p := b.plan(g); p.Pending() {
		t.Fatalf("a settled plan is pending: %s", actions(p))
	}

	b.e.Dev = &reconcile.Dev{Dir: "one"}
	if got := actions(b.plan(g)); got != "a:unchanged web:create" {
		t.Fatalf("in dev: %s", got)
	}
	if r := b.deploy(g); r.Summary.Created != 1 || r.Outputs["text"] == nil {
		t.Fatalf("in dev: %+v %v", r.Summary, r.Outputs)
	}
	b.settled(g)

	// The session ends without a word; the record keeps what it knew.
	b.e.Dev = nil
	for name, plan := range map[string]func() *engine.Plan{
		"plan":  func() *engine.Plan { return b.plan(g) },
		"drift": func() *engine.Plan { return b.drift(g) },
	} {
		if p := plan(); p.Pending() || p.Summary.InDev != 1 {
			t.Errorf("%s after a session: %s", name, actions(p))
		}
	}
	b.world.takeLog()
	if r := b.deploy(g); r.Run != "" || len(b.world.takeLog()) > 0 {
		t.Fatalf("a deploy after a session did something: %+v", r.Summary)
	}

	// Another session starts it again; a destroy takes away what is left.
	b.e.Dev = &reconcile.Dev{Dir: "two"}
	if got := actions(b.plan(g)); got != "a:unchanged web:create" {
		t.Fatalf("in the next session: %s", got)
	}
	b.deploy(g)
	b.e.Dev = nil
	b.world.takeLog()
	if r := b.destroy(); r.Summary.Deleted != 2 || !slices.ContainsFunc(b.world.takeLog(), func(s string) bool { return strings.HasPrefix(s, "undo ") }) {
		t.Fatalf("destroy: %+v", r.Summary)
	}
	if r := b.destroy(); r.State != statestore.Succeeded {
		t.Fatalf("second destroy: %+v", r)
	}
}

// What is deployed cannot be made of what lives in dev alone.
func TestADeployNeedsNothingOfDev(t *testing.T) {
	b := newBench(t)
	g := graph(dev("web", "x"), res("a", m{"after": "⟦web.text⟧"}), dev("worker", "⟦web.text⟧"))
	p := b.plan(g)
	if got := actions(p); got != "a:blocked web:unchanged worker:unchanged" || !strings.Contains(p.Actions[0].Problem, "web runs in dev only") {
		t.Fatalf("%s: %s", got, p.Actions[0].Problem)
	}
	b.e.Dev = &reconcile.Dev{Dir: "one"}
	b.deploy(g)
	b.settled(g)
}

// What it needed can go, although it is not touched itself.
func TestEdgesOfWhatSleeps(t *testing.T) {
	b := newBench(t)
	b.e.Dev = &reconcile.Dev{Dir: "one"}
	b.deploy(graph(res("a", m{"color": "red"}), dev("web", "⟦a.id⟧")))
	b.e.Dev = nil
	g := graph(dev("web", "x"))
	if r := b.deploy(g); r.Summary.Deleted != 1 || r.State != statestore.Succeeded || len(b.world.things) != 0 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	if p := b.plan(g); p.Pending() {
		t.Fatalf("pending: %s", actions(p))
	}
}

// What lives in a session may end by itself, which no row tells: a narrow plan looks at it too.
func TestNarrowPlanLooksAtWhatLivesInDev(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), dev("web", "⟦a.id⟧"))
	b.e.Dev = &reconcile.Dev{Dir: "one"}
	b.opts.Dev = &engine.Dev{Narrow: true}
	b.deploy(g)
	before := b.world.reads
	p := b.plan(g)
	if p.Pending() || b.world.reads != before || !p.Actions[1].InDev {
		t.Fatalf("%s after %d reads: %s", actions(p), b.world.reads-before, reasons(p))
	}
	b.e.Dev = &reconcile.Dev{Dir: "two"} // where nothing runs yet
	if got := actions(b.plan(g)); got != "a:unchanged web:create" {
		t.Fatalf("in the next session: %s", got)
	}
}
