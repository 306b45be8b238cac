package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// here is leave to work on what deploy made; own is a dev session on its own stage.
func here() *engine.Dev { return &engine.Dev{Here: true, Narrow: true} }
func own() *engine.Dev  { return &engine.Dev{Narrow: true} }

// line is n resources of which each refers to the one before.
func line(n int) *engine.Graph {
	g := graph()
	for i := range n {
		props := m{"color": "red"}
		if i > 0 {
			props["after"] = fmt.Sprintf("⟦t%d.id⟧", i-1)
		}
		g.Resources = append(g.Resources, res(fmt.Sprintf("t%d", i), props))
	}
	return g
}

// seen gives the names that are looked at while do runs.
func (b *bench) seen(do func()) []string {
	var names []string
	b.world.looked = func(_, name string) { names = append(names, name) }
	do()
	b.world.looked = nil
	slices.Sort(names)
	return slices.Compact(names)
}

// warm makes the engine of a dev session: its places stay open.
func (b *bench) warm(d *engine.Dev) {
	b.e.Warm, b.opts.Dev = engine.NewWarm(), d
}

// A narrow plan looks at what differs from its row, and at what uses a value of it that may change.
func TestNarrowPlanLooksAtWhatDiffers(t *testing.T) {
	b := newBench(t)
	b.warm(own())
	g := line(5)
	b.deploy(g)
	if looks := b.seen(func() { b.plan(g) }); len(looks) != 0 {
		t.Fatalf("nothing changed, and it looked at %v", looks)
	}
	opened := b.world.opened[""]
	g.Resources[2].Props["color"] = "blue"
	var p *engine.Plan
	if looks := b.seen(func() { p = b.plan(g) }); len(looks) != 1 || actions(p) != "t0:unchanged t1:unchanged t2:update t3:unchanged t4:unchanged" {
		t.Fatalf("looked at %v: %s", looks, actions(p))
	}
	if r := b.deploy(g); r.Summary.Updated != 1 || r.Summary.Unchanged != 4 || r.Calls.Reads > 3 {
		t.Fatalf("%+v %+v", r.Summary, r.Calls)
	}
	// A replacement changes the identity, which the next one uses in place and nobody beyond it.
	g.Resources[1].Props["shape"] = "square"
	if looks := b.seen(func() { p = b.plan(g) }); len(looks) != 2 || actions(p) != "t0:unchanged t1:replace t2:update? t3:unchanged t4:unchanged" {
		t.Fatalf("looked at %v: %s", looks, actions(p))
	}
	b.deploy(g)
	if b.world.opened[""] != opened {
		t.Errorf("places were opened again: %v", b.world.opened)
	}
	b.opts.Dev = &engine.Dev{} // as a whole: the narrow runs left nothing undone
	b.settled(g)
}

// What a row says of an object that is deleted or was edited is believed, until somebody asks for a read.
func TestNarrowPlanLooksWhereItIsTold(t *testing.T) {
	b := newBench(t)
	b.warm(own())
	g := line(3)
	b.deploy(g)
	for _, th := range b.world.things {
		th.Color = "green"
	}
	if p := b.plan(g); p.Pending() {
		t.Fatalf("it looked: %s", actions(p))
	}
	b.opts.Dev = &engine.Dev{Narrow: true, Look: []string{"t1"}}
	var p *engine.Plan
	if looks := b.seen(func() { p = b.plan(g) }); len(looks) != 1 || actions(p) != "t0:unchanged t1:update t2:unchanged" || p.Actions[1].Reasons[0].Source != engine.ByWorld {
		t.Fatalf("looked at %v: %s %s", looks, actions(p), reasons(p))
	}
}

// Whatever a run leaves undone is seen without anything but the record: in a new process, after an interrupt.
func TestNarrowPlanGoesOn(t *testing.T) {
	b := newBench(t)
	b.warm(own())
	g := line(4)
	g.Resources[1].Props["name"] = "pot"
	b.world.fail["create pot"] = errDenied
	b.deploy(g)
	clear(b.world.fail)
	b.warm(own())
	if p := b.plan(g); actions(p) != "t0:unchanged t1:create t2:create t3:create" {
		t.Fatalf("%s", actions(p))
	}
	if r := b.deploy(g); r.Summary.Created != 3 || r.Summary.Unchanged != 1 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	b.opts.Dev = &engine.Dev{}
	b.settled(g)
}

// Cycles: a member that was believed is looked at when another one, which it needs through a late path, is replaced.
func TestNarrowPlanOfACycle(t *testing.T) {
	b := newBench(t)
	b.warm(own())
	g := graph(res("a", m{"peer": "⟦b.id⟧"}), res("b", m{"peer": "⟦a.id⟧"}), res("c", m{"after": "⟦a.id⟧"}))
	b.deploy(g)
	for i, addr := range []string{"a", "b"} {
		g.Resources[i].Props["shape"] = "square"
		if r := b.deploy(g); r.Summary.Replaced != 1 || r.Summary.Failed > 0 {
			t.Fatalf("%s: %+v %v", addr, r.Summary, r.Failures)
		}
		b.opts.Dev = &engine.Dev{}
		b.settled(g)
		b.opts.Dev = own()
	}
}

// What is only read is read once, and again when time has passed.
func TestNarrowPlanReadsOnce(t *testing.T) {
	b := newBench(t)
	b.warm(own())
	b.world.things["zone"] = &thing{Kind: "world.Thing", Name: "zone", Color: "red", Tags: map[string]string{}}
	g := graph(res("a", m{"color": "⟦z.color⟧"}))
	g.Reads = []engine.Read{{Address: "z", Kind: "world.Thing", ID: "thing:zone"}}
	b.deploy(g)
	if looks := b.seen(func() { b.plan(g) }); len(looks) != 0 {
		t.Fatalf("it looked at %v", looks)
	}
	b.world.things["zone"].Color = "blue"
	b.e.Warm.Cool()
	if p := b.plan(g); actions(p) != "a:update" {
		t.Fatalf("%s", actions(p))
	}
}

// A stage that deploy made is refused, and with leave nothing that it made is deleted.
func TestDevDeletesNothingThatDeployMade(t *testing.T) {
	b := newBench(t)
	g := graph(res("kept", m{}), res("changed", m{"color": "red", "after": "⟦kept.id⟧"}))
	b.deploy(g)
	b.warm(own())
	if _, err := b.e.Plan(t.Context(), g, b.opts); !errors.Is(err, engine.ErrDeployed) {
		t.Fatalf("not refused: %v", err)
	}
	b.opts.Dev = here()
	g = graph(res("changed", m{"color": "blue", "after": "⟦new.id⟧"}), res("new", m{}))
	p := b.plan(g)
	if actions(p) != "changed:update new:create" || !strings.Contains(strings.Join(p.Warnings, " "), "kept is not declared any more") {
		t.Fatalf("%s %v", actions(p), p.Warnings)
	}
	if r := b.deploy(g); r.Summary.Deleted != 0 || len(b.world.things) != 3 {
		t.Fatalf("%+v %v", r.Summary, b.world.names())
	}
	// A replacement deletes too, and what dev made goes.
	replaced := graph(res("changed", m{"shape": "square"}), res("new", m{}))
	if _, err := b.e.Plan(t.Context(), replaced, b.opts); !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "would be replaced") {
		t.Fatalf("not refused: %v", err)
	}
	if r := b.deploy(graph(res("changed", m{"color": "blue"}))); r.Summary.Deleted != 1 || len(b.world.things) != 2 {
		t.Fatalf("%+v %v", r.Summary, b.world.names())
	}
	if r := b.destroy(); r.Summary.Deleted != 0 || len(b.world.things) != 2 {
		t.Fatalf("destroyed: %+v %v", r.Summary, b.world.names())
	}
	b.opts.Dev = nil
	b.deploy(graph(res("changed", m{"color": "blue"})))
	if len(b.world.things) != 1 {
		t.Errorf("deploy leaves it too: %v", b.world.names())
	}
}

// When the record is lost, the name of the stage says whose is what is found.
func TestDevFindsAgain(t *testing.T) {
	for stage, mine := range map[string]bool{"local-ada": true, "prod": false} {
		b := newBench(t)
		g := graph(res("a", m{}), res("b", m{}))
		g.Stage = stage
		b.warm(own())
		b.deploy(g)
		b.lose()
		b.opts.TakeOver = true // another store, of this machine
		g.Resources = g.Resources[:1]
		b.deploy(g)
		if gone := len(b.world.things) == 1; gone != mine {
			t.Errorf("%s: left is %v", stage, b.world.names())
		}
		_, err := b.e.Plan(t.Context(), g, b.opts)
		if refused := errors.Is(err, engine.ErrDeployed); refused == mine {
			t.Errorf("%s: %v", stage, err)
		}
	}
}
