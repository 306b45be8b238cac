package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// cutter ends the process at one point of a run: from then on no call and no commit gets through. It is the store
// too, so that commits are points like calls.
type cutter struct {
	statestore.Store
	mu     sync.Mutex
	points []string
	at     int // the point to end at, -1: never
	dead   bool
}

func (c *cutter) point(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCut
	}
	c.points = append(c.points, name)
	if len(c.points)-1 == c.at {
		c.dead = true
		return errCut
	}
	return nil
}

func (c *cutter) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	if err := c.point("before commit"); err != nil {
		return lease, &statestore.FencedError{}
	}
	next, err := c.Store.Commit(ctx, lease, batch)
	if err == nil && c.point("after commit") != nil {
		return next, &statestore.FencedError{}
	}
	return next, err
}

// story is one change of a stack: what is there, and what is deployed while the process ends.
type story struct {
	name   string
	before *engine.Graph
	dev    *engine.Dev // of the deploy before
	prep   func(b *bench)
	graph  *engine.Graph
	adopt  bool
}

func kind(k string, r engine.Resource) engine.Resource {
	r.Kind = "world." + k
	return r
}

func deleteFirst(o *engine.Options) { o.DeleteFirst = true }

func stories() []story {
	a := func(p m, c ...func(*engine.Options)) engine.Resource { return res("a", p, c...) }
	return []story{
		{name: "create", graph: graph(a(m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"}))},
		{name: "create unmarked", graph: graph(kind("Bare", a(m{"color": "red"})), kind("Bare", res("b", m{"after": "⟦a.id⟧"})))},
		{name: "create assigned", graph: graph(kind("Assigned", a(m{"color": "red"})), kind("Assigned", res("b", m{"after": "⟦a.id⟧"})))},
		{name: "create slow", graph: graph(kind("Slow", a(m{"color": "red"})), res("b", m{"after": "⟦a.id⟧"}))},
		{name: "create child", graph: graph(kind("Slow", a(m{"color": "red"})), kind("Child", res("b", m{"after": "⟦a.id⟧"})))},
		{name: "given name", graph: graph(a(m{"name": "pot"}))},
		{name: "update", before: graph(a(m{"color": "red"}), res("b", m{"after": "⟦a.color⟧"})), graph: graph(a(m{"color": "blue"}), res("b", m{"after": "⟦a.color⟧"}))},
		{name: "replace", before: graph(a(m{"shape": "round"}), res("b", m{"after": "⟦a.id⟧"})), graph: graph(a(m{"shape": "square"}), res("b", m{"after": "⟦a.id⟧"}))},
		{name: "replace assigned", before: graph(kind("Assigned", a(m{"shape": "round"}))), graph: graph(kind("Assigned", a(m{"shape": "square"})))},
		{name: "replace unmarked", before: graph(kind("Bare", a(m{"shape": "round"}))), graph: graph(kind("Bare", a(m{"shape": "square"})))},
		{name: "replace both", before: graph(a(m{"shape": "round"}), res("b", m{"base": "⟦a.id⟧"})), graph: graph(a(m{"shape": "square"}), res("b", m{"base": "⟦a.id⟧"}))},
		{
			name: "delete first", before: graph(a(m{"shape": "round"}, deleteFirst), res("b", m{"base": "⟦a.id⟧"}), res("c", m{"after": "⟦b.id⟧"})),
			graph: graph(a(m{"shape": "square"}, deleteFirst), res("b", m{"base": "⟦a.id⟧"}), res("c", m{"after": "⟦b.id⟧"})),
		},
		{name: "same given name", before: graph(a(m{"shape": "round", "name": "pot"})), graph: graph(a(m{"shape": "square", "name": "pot"}))},
		{name: "delete", before: graph(a(m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"})), graph: graph(a(m{"color": "red"}))},
		{name: "delete all", before: graph(a(m{}), res("b", m{"after": "⟦a.id⟧"})), graph: graph()},
		{name: "cycle", graph: graph(a(m{"peer": "⟦b.id⟧"}), res("b", m{"peer": "⟦a.id⟧"}))},
		{
			name: "cycle replaced", before: graph(a(m{"peer": "⟦b.id⟧", "shape": "round"}), res("b", m{"peer": "⟦a.id⟧"})),
			graph: graph(a(m{"peer": "⟦b.id⟧", "shape": "square"}), res("b", m{"peer": "⟦a.id⟧"})),
		},
		{name: "cycle deleted", before: graph(a(m{"peer": "⟦b.id⟧"}), res("b", m{"peer": "⟦a.id⟧"})), graph: graph()},
		{name: "move", before: graph(a(m{"color": "red"})), graph: graph(res("n", m{"color": "red"}, from("a")))},
		{
			name: "swap", before: graph(a(m{"color": "red"}), res("b", m{"color": "blue"})),
			graph: graph(a(m{"color": "blue"}, from("b")), res("b", m{"color": "red"}, from("a"))),
		},
		{name: "move and replace", before: graph(a(m{"shape": "round"})), graph: graph(res("n", m{"shape": "square"}, from("a")))},
		{name: "kind changed", before: graph(a(m{"color": "red"})), graph: graph(kind("Assigned", a(m{"color": "red"})))},
		{name: "drifted", before: graph(a(m{"color": "red"})), prep: func(b *bench) {
			for _, t := range b.world.things {
				t.Color = "green"
			}
		}, graph: graph(a(m{"color": "red"}))},
		{name: "gone", before: graph(kind("Assigned", a(m{"color": "red"})), res("b", m{"after": "⟦a.id⟧"})), prep: func(b *bench) {
			maps.DeleteFunc(b.world.things, func(_ string, t *thing) bool { return t.Kind == "world.Assigned" })
			b.world.gone["world.Assigned a 1"]++
		}, graph: graph(kind("Assigned", a(m{"color": "red"})), res("b", m{"after": "⟦a.id⟧"}))},
		{name: "adopt", prep: func(b *bench) {
			b.world.things["pot"] = &thing{Kind: "world.Thing", Name: "pot", Color: "red", Tags: map[string]string{}}
		}, graph: graph(a(m{"name": "pot", "color": "blue"})), adopt: true},
		{name: toCloud, dev: &engine.Dev{}, before: hosted("red"), graph: hosted("red")},
		{name: toMachine, dev: inCloud(), before: hosted("red"), prep: func(b *bench) { b.opts.Dev = &engine.Dev{} }, graph: hosted("red")},
	}
}

func from(old ...string) func(*engine.Options) {
	return func(o *engine.Options) { o.RenamedFrom = old }
}

// shape is the end state of a world, without the names that a slot decides.
func (w *world) shape() string {
	addr := map[string]string{"": ""}
	name := func(t *thing) string {
		if mark := adopt.MarkOf(t.Tags); !mark.IsZero() {
			return mark.Address
		}
		parts := strings.Split(t.Name, "-")
		return "~" + parts[min(2, len(parts)-1)]
	}
	for _, t := range w.things {
		addr["thing:"+t.Name] = name(t)
	}
	ref := func(s string) string {
		for id, a := range addr {
			if id != "" && strings.Contains(s, id) {
				return strings.ReplaceAll(s, id, "→"+a)
			}
		}
		return s
	}
	var lines []string
	for _, t := range w.things {
		lines = append(lines, fmt.Sprintf("%s %s color=%s shape=%s peer=%s after=%s", t.Kind, name(t), t.Color, ref(t.Shape), ref(t.Peer), ref(t.After)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// stage sets a story up and returns the bench with a cutter in front of its store.
func (s *story) stage(t *testing.T, at int) (*bench, *cutter) {
	b := newBench(t)
	b.world.steps = 1
	if s.before != nil {
		b.opts.Dev = s.dev
		b.deploy(s.before)
		b.opts.Dev = nil
	}
	if s.prep != nil {
		s.prep(b)
	}
	b.opts.Adopt = s.adopt
	c := &cutter{Store: b.store, at: at}
	return b, c
}

// run deploys a story's graph until the cut.
func (s *story) run(t *testing.T, b *bench, c *cutter) {
	t.Helper()
	p := b.plan(s.graph)
	b.e.Store, b.world.cut = c, c.point
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if c.at < 0 && (err != nil || len(r.Failures) > 0) {
		t.Fatalf("%s: %v %+v", s.name, err, r)
	}
	b.world.cut, b.e.Store = nil, c.Store
}

// TestEveryCrashConverges ends the process at every point of every story and runs again, with the record and without.
func TestEveryCrashConverges(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			b, c := s.stage(t, -1)
			s.run(t, b, c)
			want, points := b.world.shape(), c.points
			b.settled(s.graph)
			for _, lost := range []bool{false, true} {
				// Without anything declared there is nowhere to look: destroy says so. A swap that was cut leaves two
				// objects with one owner tag, which nothing but state tells apart. Nobody looks on this machine for
				// what a deploy leaves there.
				if lost && (len(s.graph.Resources) == 0 || slices.Contains([]string{"swap", toCloud, toMachine}, s.name)) {
					continue
				}
				for at := range points {
					t.Run(fmt.Sprintf("%d %s lost=%v", at, points[at], lost), func(t *testing.T) { s.crash(t, at, lost, want) })
				}
			}
		})
	}
}

func (s *story) crash(t *testing.T, at int, lost bool, want string) {
	b, c := s.stage(t, at)
	s.run(t, b, c)
	if !c.dead {
		return // commits were grouped in another way, and the point was not reached
	}
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	if lost {
		b.lose()
		b.opts.TakeOver = true
	} else if _, err := b.store.Interrupt(t.Context(), stage, statestore.Order{Unlock: true, Who: "test", Why: "the process is gone"}); err != nil {
		t.Fatal(err)
	}
	p, err := b.e.Plan(t.Context(), s.graph, b.opts)
	if err != nil {
		t.Fatalf("plan after the cut: %v\n%s", err, b.world.shape())
	}
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if err != nil || len(r.Failures) > 0 {
		t.Fatalf("after the cut: %v %v: %s", err, failures(r), actions(p))
	}
	if got := b.world.shape(); got != want {
		t.Fatalf("after the cut (%s):\n%s\nwant:\n%s", actions(p), got, want)
	}
	for what, n := range b.world.made {
		if lost {
			n -= b.world.gone[what] // without state numbers begin again when nothing is left to read one from
		}
		if n > 1 {
			t.Errorf("%s was created %d times", what, n)
		}
	}
	b.opts.TakeOver = false
	b.settled(s.graph)
	if snap, err := b.store.Load(t.Context(), stage); err != nil || len(snap.Check()) > 0 {
		t.Errorf("record: %v %v", err, snap.Check())
	}
}

func failures(r *engine.Result) string {
	if r == nil {
		return ""
	}
	var all []error
	for _, f := range r.Failures {
		all = append(all, f)
	}
	if err := errors.Join(all...); err != nil {
		return err.Error()
	}
	return ""
}
