package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// of returns the objects of an address in the world.
func (w *world) of(addr string) []*thing {
	var all []*thing
	for _, name := range w.names() {
		if t := w.things[name]; adopt.MarkOf(t.Tags).Address == addr {
			all = append(all, t)
		}
	}
	return all
}

func (b *bench) row(addr string) engine.RowView {
	b.t.Helper()
	rows, err := b.e.Rows(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, true)
	if err != nil {
		b.t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r engine.RowView) bool { return r.Address == addr })
	if i < 0 {
		return engine.RowView{}
	}
	return rows[i]
}

func TestRevertedReplacementDropsTheCandidate(t *testing.T) {
	b := newBench(t)
	old := graph(kind("Slow", res("a", m{"shape": "round"}, func(o *engine.Options) { o.Timeouts.Create = 1 })))
	b.deploy(graph(kind("Slow", res("a", m{"shape": "round"}))))
	b.world.steps = 1 << 20
	changed := graph(kind("Slow", res("a", m{"shape": "square"}, func(o *engine.Options) { o.Timeouts.Create = 300_000_000 })))
	if r := b.deploy(changed); r.Summary.Failed != 1 {
		t.Fatalf("%+v", r.Summary)
	}
	if row := b.row("a"); len(row.Generations) != 2 || len(b.world.things) != 2 {
		t.Fatalf("%+v", row)
	}
	// A further run goes on with the same candidate.
	if r := b.deploy(changed); r.Summary.Failed != 1 || len(b.world.things) != 2 {
		t.Fatalf("%+v %v", r.Summary, b.world.names())
	}
	old.Resources[0].Options = engine.Options{}
	if got := actions(b.plan(old)); got != "a:unchanged a:delete" {
		t.Fatalf("plan: %s", got)
	}
	r := b.deploy(old)
	if len(r.Failures) > 0 || len(b.world.things) != 1 || b.world.of("a")[0].Shape != "round" {
		t.Fatalf("%v %v", failures(r), b.world.names())
	}
	b.settled(old)
}

func TestCandidateThatIsNoLongerWanted(t *testing.T) {
	b := newBench(t)
	shape := func(s string) *engine.Graph {
		return graph(kind("Slow", res("a", m{"shape": s}, func(o *engine.Options) { o.Timeouts.Create = 300_000_000 })))
	}
	b.deploy(shape("round"))
	b.world.steps = 1 << 20
	b.deploy(shape("square"))
	b.world.steps = 0
	for _, th := range b.world.things {
		th.Busy = 0
	}
	r := b.deploy(shape("flat"))
	if len(r.Failures) > 0 || len(b.world.things) != 1 || b.world.of("a")[0].Shape != "flat" {
		t.Fatalf("%s %v", failures(r), b.world.names())
	}
	b.settled(shape("flat"))
}

func TestCondemnedIsRetriedAndBlocksNobody(t *testing.T) {
	b := newBench(t)
	shape := func(s string) *engine.Graph {
		return graph(res("a", m{"shape": s}), res("b", m{"after": "⟦a.id⟧"}))
	}
	b.deploy(shape("0"))
	// Each replacement leaves one that cannot be deleted; the fifth name is refused.
	for i, s := range []string{"1", "2", "3"} {
		for _, th := range b.world.of("a") {
			b.world.fail["delete "+th.Name] = errDenied
		}
		r := b.deploy(shape(s))
		if len(b.world.of("a")) != i+2 || len(r.Failures) == 0 || r.Summary.Replaced != 1 || r.State != statestore.Failed {
			t.Fatalf("%s: %v %v", s, failures(r), b.world.names())
		}
		if p := b.plan(shape(s)); strings.Count(actions(p), "a:delete") != i+1 || !strings.Contains(actions(p), "a:unchanged") || !p.Pending() {
			t.Fatalf("not shown: %s", actions(p))
		}
	}
	for _, th := range b.world.of("a") {
		b.world.fail["delete "+th.Name] = errDenied
	}
	r := b.deploy(shape("4"))
	if !strings.Contains(failures(r), "wait for their deletion") || len(b.world.of("a")) != 4 {
		t.Fatalf("a fifth: %v %v", failures(r), b.world.names())
	}
	clear(b.world.fail)
	b.deploy(shape("3"))
	if len(b.world.of("a")) != 1 || b.world.of("a")[0].Shape != "3" {
		t.Fatalf("%v", b.world.names())
	}
	b.settled(shape("3"))
}

func TestSeveralFindsAfterALostState(t *testing.T) {
	b := newBench(t)
	shape := func(s string) *engine.Graph { return graph(res("a", m{"shape": s})) }
	b.deploy(shape("0"))
	b.world.fail["delete "+b.world.of("a")[0].Name] = errDenied
	b.deploy(shape("1"))
	clear(b.world.fail)

	for _, want := range []string{"0", "1", "2"} {
		t.Run(want, func(t *testing.T) {
			c := newBench(t)
			c.deploy(shape("0"))
			c.world.fail["delete "+c.world.of("a")[0].Name] = errDenied
			c.deploy(shape("1"))
			clear(c.world.fail)
			c.lose()
			if _, err := c.e.Plan(t.Context(), shape(want), c.opts); !errors.Is(err, engine.ErrOtherStore) {
				t.Fatalf("the older one, marked by another store, would go: %v", err)
			}
			c.opts.TakeOver = true
			p := c.plan(shape(want))
			r := c.deploy(shape(want))
			if len(r.Failures) > 0 || len(c.world.things) != 1 || c.world.of("a")[0].Shape != want {
				t.Fatalf("%s: %s: %s: %v", want, actions(p), failures(r), c.world.names())
			}
			if want == "2" && !strings.HasPrefix(actions(p), "a:replace") {
				t.Errorf("none fits: %s", actions(p))
			}
			c.settled(shape(want))
		})
	}
}

func TestUntaggedFindsAreAmbiguous(t *testing.T) {
	b := newBench(t)
	shape := func(s string) *engine.Graph { return graph(kind("Bare", res("a", m{"shape": s}))) }
	b.deploy(shape("0"))
	b.world.fail["delete "+b.world.names()[0]] = errDenied
	b.deploy(shape("1"))
	clear(b.world.fail)
	for _, th := range b.world.things {
		th.Shape = "1"
	}
	b.lose()
	p, err := b.e.Plan(t.Context(), shape("1"), b.opts)
	if err == nil && actions(p) != "a:blocked" || !strings.Contains(reasons(p), "look like it") {
		t.Fatalf("%v %s %s", err, actions(p), reasons(p))
	}
	b.deploy(shape("1"))
	if len(b.world.things) != 2 {
		t.Errorf("deleted something: %v", b.world.names())
	}
}

func TestKindAndPlaceChange(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	g := graph(kind("Bare", res("a", m{"color": "red"})))
	p := b.plan(g)
	if actions(p) != "a:replace" || p.Actions[0].Reasons[0].Path != "kind" {
		t.Fatalf("%s %s", actions(p), reasons(p))
	}
	b.deploy(g)
	if len(b.world.things) != 1 || b.world.things[b.world.names()[0]].Kind != "world.Bare" {
		t.Fatalf("%v", b.world.names())
	}
	b.settled(g)

	// Another region in the program replaces across locations; the old object is deleted with its own settings.
	g.Resources[0].Settings = m{"region": "north"}
	p = b.plan(g)
	if actions(p) != "a:replace" || !strings.Contains(reasons(p), "provider") {
		t.Fatalf("%s %s", actions(p), reasons(p))
	}
	r := b.deploy(g)
	if len(r.Failures) > 0 || len(b.world.things) != 1 || !strings.HasPrefix(b.world.names()[0], "north/") {
		t.Fatalf("%s %v", failures(r), b.world.names())
	}
	b.settled(g)
	if r := b.destroy(); r.Summary.Deleted != 1 || len(b.world.things) != 0 {
		t.Fatalf("%+v %v", r.Summary, b.world.names())
	}
}

// TestGlobalKinds: objects that are one for all regions are the same whatever region they are reached from.
func TestGlobalKinds(t *testing.T) {
	b := newBench(t)
	north := func(g *engine.Graph) *engine.Graph {
		g.Resources[0].Settings = m{"region": "north"}
		return g
	}
	here := graph(kind("Global", res("a", m{"color": "red"})), res("b", m{"after": "⟦a.id⟧"}))
	b.deploy(here)
	if row := b.row("a"); row.Generations[0].Place.Region != "capital" {
		t.Fatalf("in %v", row.Generations[0].Place)
	}
	there := north(graph(kind("Global", res("a", m{"color": "red"})), res("b", m{"after": "⟦a.id⟧"})))
	if r := b.deploy(there); r.Summary.Unchanged != 2 || len(b.world.things) != 2 {
		t.Fatalf("moved: %+v %v", r.Summary, b.world.names())
	}
	b.settled(there)

	// Without state it is found from there, and what the state's location is does not change.
	b.lose()
	if r := b.deploy(there); r.Summary.Recovered != 2 || r.Summary.Created+r.Summary.Deleted > 0 || len(b.world.things) != 2 {
		t.Fatalf("%+v %v", r.Summary, b.world.names())
	}
	b.settled(there)

	// Two regions are no way to have two of one name.
	twins := north(graph(kind("Global", res("c", m{"name": "pot"})), kind("Global", res("d", m{"name": "pot"}))))
	if _, err := b.e.Plan(t.Context(), twins, b.opts); err == nil || !strings.Contains(err.Error(), "names the same world.Global: pot") {
		t.Errorf("%v", err)
	}
	// An orphan is looked for in the places that handles lead to, and is in the one that it counts as being in.
	b.put("Global", "old", b.ours("old", 1))
	o, err := b.e.PlanOrphans(t.Context(), testStage, here, b.opts)
	if err != nil || standings(o.Things) != "old:ours=old" || o.Things[0].Place.Region != "capital" || o.Places[0].Region != "" {
		t.Errorf("%v %s %v", err, standings(o.Things), o.Places)
	}
	if r := b.destroy(); r.Summary.Deleted != 3 { // the orphan goes as well
		t.Errorf("%+v %v", r.Summary, b.world.names())
	}
}

func TestOtherCredentialsAreRefusedBeforeAnythingIsRead(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{}), kind("Bare", res("b", m{})))
	b.deploy(g)
	b.world.account, b.world.reads = "2", 0
	_, err := b.e.Plan(t.Context(), g, b.opts)
	var place *engine.PlaceError
	if !errors.As(err, &place) || place.Recorded.Account != "1" || place.Have.Account != "2" || !strings.Contains(err.Error(), "world/1") || !strings.Contains(err.Error(), "world/2") {
		t.Fatalf("%v", err)
	}
	if b.world.reads != 0 {
		t.Errorf("%d reads", b.world.reads)
	}
	if _, err := b.e.PlanDestroy(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, nil, b.opts); !errors.As(err, &place) || b.world.reads != 0 {
		t.Errorf("destroy: %v, %d reads", err, b.world.reads)
	}
}

func TestRenames(t *testing.T) {
	colors := func(b *bench) string {
		var s []string
		for _, name := range b.world.names() {
			th := b.world.things[name]
			s = append(s, adopt.MarkOf(th.Tags).Address+"="+th.Color)
		}
		slices.Sort(s)
		return strings.Join(s, " ")
	}
	start := []engine.Resource{res("a", m{"color": "1"}), res("b", m{"color": "2"}), res("c", m{"color": "3"})}
	for _, c := range []struct {
		name string
		then []engine.Resource
		want string
		made int
	}{
		{"shift", []engine.Resource{res("b", m{"color": "1"}, from("a")), res("c", m{"color": "2"}, from("b")), res("d", m{"color": "3"}, from("c"))}, "b=1 c=2 d=3", 0},
		{"swap", []engine.Resource{res("a", m{"color": "2"}, from("b")), res("b", m{"color": "1"}, from("a")), res("c", m{"color": "3"})}, "a=2 b=1 c=3", 0},
		{"circle", []engine.Resource{res("a", m{"color": "3"}, from("c")), res("b", m{"color": "1"}, from("a")), res("c", m{"color": "2"}, from("b"))}, "a=3 b=1 c=2", 0},
		{"new in the old place", []engine.Resource{res("z", m{"color": "1"}, from("a")), res("a", m{"color": "9"}), res("b", m{"color": "2"}), res("c", m{"color": "3"})}, "a=9 b=2 c=3 z=1", 1},
		{"list", []engine.Resource{res("z", m{"color": "1"}, from("y", "a")), res("b", m{"color": "2"}), res("c", m{"color": "3"})}, "b=2 c=3 z=1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.deploy(graph(start...))
			b.world.takeLog()
			g := graph(c.then...)
			r := b.deploy(g)
			made, deleted := 0, 0
			for _, line := range b.world.takeLog() {
				if strings.HasPrefix(line, "create") {
					made++
				}
				if strings.HasPrefix(line, "delete") {
					deleted++
				}
			}
			if len(r.Failures) > 0 || colors(b) != c.want || made != c.made || deleted != 0 {
				t.Fatalf("%s: %s, made %d, deleted %d", failures(r), colors(b), made, deleted)
			}
			b.settled(g)
			b.lose()
			b.opts.TakeOver = true
			if r := b.deploy(g); len(r.Failures) > 0 || colors(b) != c.want {
				t.Fatalf("after a loss: %s %s", failures(r), colors(b))
			}
			b.settled(g)
		})
	}
	b := newBench(t)
	b.deploy(graph(start...))
	_, err := b.e.Plan(t.Context(), graph(res("x", m{}, from("a")), res("y", m{}, from("a"))), b.opts)
	var wrong *engine.GraphError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "both say") {
		t.Errorf("two claims: %v", err)
	}
}

func TestDeletionUnderWayAndDeclaredAgain(t *testing.T) {
	for _, g := range []*engine.Graph{graph(res("a", m{"color": "red"})), graph(res("a", m{"name": "pot"})), graph(kind("Assigned", res("a", m{})))} {
		b := newBench(t)
		b.deploy(g)
		name := b.world.names()[0]
		b.world.fail["delete "+name] = errDenied
		b.deploy(graph())
		clear(b.world.fail)
		p := b.plan(g)
		if !strings.Contains(actions(p), "a:create") || !strings.Contains(actions(p), "a:delete") {
			t.Fatalf("%s", actions(p))
		}
		b.world.takeLog()
		r := b.deploy(g)
		log := strings.Join(b.world.takeLog(), ",")
		if len(r.Failures) > 0 || len(b.world.things) != 1 || !strings.Contains(log, "create") || !strings.Contains(log, "delete "+name) {
			t.Fatalf("%s %v %s", failures(r), b.world.names(), log)
		}
		b.settled(g)
	}
}

func TestForeignOwnerTagIsNeverDeleted(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"name": "pot"})))
	b.world.things["pot"].Tags = adopt.Tags(reconcile.Mark{Stack: "other", Stage: "test", Address: "x", Generation: 1, Store: "s"})
	p, _ := b.e.Plan(t.Context(), graph(), b.opts)
	if actions(p) != "a:blocked" {
		t.Fatalf("%s", actions(p))
	}
	b.deploy(graph())
	// Another generation of our own is not this one either.
	b.world.things["pot"].Tags = adopt.Tags(reconcile.Mark{Stack: "shop", Stage: "test", Address: "b", Generation: 1, Store: "s"})
	b.deploy(graph())
	if len(b.world.things) != 1 {
		t.Error("deleted")
	}
}

// A run that was cut after it had changed an object, and before it could write that to state, leaves nothing to change.
// What state says of the object is brought up to date all the same: deleting it goes by that.
func TestWhatACutRunChangedReachesState(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	b.world.of("a")[0].Color = "blue" // as the cut run did
	blue := graph(res("a", m{"color": "blue"}))
	if p := b.plan(blue); actions(p) != "a:unchanged" {
		t.Fatalf("plan: %s", actions(p))
	}
	b.deploy(blue)
	if have := b.row("a").Generations[0].Attrs["color"]; have != "blue" {
		t.Errorf("the record says %v, want blue", have)
	}
	b.settled(blue)
}
