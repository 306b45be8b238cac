package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// histories are what a resource went through before its record was lost. Each returns the graph that is then deployed.
var histories = map[string]func(b *bench, k string) *engine.Graph{
	"made": func(b *bench, k string) *engine.Graph {
		g := graph(kind(k, res("a", m{"shape": "1"})), res("b", m{"after": "⟦a.id⟧"}))
		b.deploy(g)
		return g
	},
	"replaced three times": func(b *bench, k string) *engine.Graph {
		var g *engine.Graph
		for i := range 4 {
			g = graph(kind(k, res("a", m{"shape": fmt.Sprint(i)})), res("b", m{"after": "⟦a.id⟧"}))
			b.deploy(g)
		}
		return g
	},
	"renamed": func(b *bench, k string) *engine.Graph {
		b.deploy(graph(kind(k, res("old", m{})), res("b", m{"after": "⟦old.id⟧"})))
		g := graph(kind(k, res("a", m{}, from("old"))), res("b", m{"after": "⟦a.id⟧"}))
		b.deploy(g)
		return g
	},
	"renamed twice and replaced": func(b *bench, k string) *engine.Graph {
		b.deploy(graph(kind(k, res("first", m{"shape": "1"})), res("b", m{"after": "⟦first.id⟧"})))
		b.deploy(graph(kind(k, res("second", m{"shape": "1"}, from("first"))), res("b", m{"after": "⟦second.id⟧"})))
		b.deploy(graph(kind(k, res("second", m{"shape": "2"}, from("first"))), res("b", m{"after": "⟦second.id⟧"})))
		g := graph(kind(k, res("a", m{"shape": "2"}, from("second", "first"))), res("b", m{"after": "⟦a.id⟧"}))
		b.deploy(g)
		return g
	},
	"renamed, and so said only since the loss": func(b *bench, k string) *engine.Graph {
		b.deploy(graph(kind(k, res("old", m{})), res("b", m{"after": "⟦old.id⟧"})))
		return graph(kind(k, res("a", m{}, from("old"))), res("b", m{"after": "⟦a.id⟧"}))
	},
}

// TestRecoveryIsSilent: whatever a resource went through, its lost state costs no creation, no deletion and no
// question.
func TestRecoveryIsSilent(t *testing.T) {
	for _, k := range []string{"Thing", "Bare", "Assigned", "Bulk", "Late"} {
		for name, history := range histories {
			for _, lost := range []string{"file", "a", "b", "a, then b"} {
				t.Run(k+" "+name+" lost "+lost, func(t *testing.T) {
					b := newBench(t)
					g := history(b, k)
					b.loseSome(g, lost)
					b.world.takeLog()
					r := b.deploy(g)
					for _, line := range b.world.takeLog() {
						if !strings.HasPrefix(line, "tag ") {
							t.Errorf("a recovery made the call %s", line)
						}
					}
					if len(r.Failures) > 0 || r.Summary.Created+r.Summary.Deleted+r.Summary.Replaced > 0 || len(b.world.things) != 2 {
						t.Fatalf("%+v %s %v", r.Summary, failures(r), b.world.names())
					}
					b.settled(g)
				})
			}
		}
	}
}

// loseSome loses the file, or rows one by one, each found again before the next is lost.
func (b *bench) loseSome(g *engine.Graph, what string) {
	b.t.Helper()
	rows := map[string]bool{}
	for _, addr := range []string{"a", "old", "b"} {
		rows[addr] = b.row(addr).Address != ""
	}
	first := "a"
	if !rows["a"] {
		first = "old"
	}
	switch what {
	case "file":
		b.loseFile()
	case "b":
		b.loseRow("b")
	default:
		b.loseRow("b", first) // what needs a row goes with it
		if what == "a" {
			return
		}
		b.deploy(g)
		b.loseRow("b")
	}
}

// TestRemovedInTheSameChange: what the program dropped while state was lost is found by its owner tag and deleted.
func TestRemovedInTheSameChange(t *testing.T) {
	for _, k := range []string{"Thing", "Assigned", "Bulk"} {
		b := newBench(t)
		b.deploy(graph(kind(k, res("a", m{})), res("b", m{"after": "⟦a.id⟧"}), kind(k, res("c", m{}))))
		b.loseFile()
		g := graph(kind(k, res("c", m{})))
		p := b.plan(g)
		if actions(p) != "a:delete b:delete c:recover" || !p.Recovered {
			t.Fatalf("%s: %s", k, actions(p))
		}
		if r := b.deploy(g); len(r.Failures) > 0 || len(b.world.things) != 1 {
			t.Fatalf("%s: %s %v", k, failures(r), b.world.names())
		}
		b.settled(g)
	}
}

// TestPlannedOnlyIsNeverDeleted: what a plan would have taken over is nobody's business without the flag.
func TestPlannedOnlyIsNeverDeleted(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("z", m{})))
	b.world.things["pot"] = &thing{Kind: "world.Thing", Name: "pot", Color: "red", Tags: map[string]string{}}
	g := graph(res("z", m{}), res("a", m{"name": "pot", "color": "blue"}))
	b.opts.Adopt = true
	p := b.plan(g)
	if got := actions(p); got != "a:adopt z:unchanged" || !strings.Contains(reasons(p), "a.color: red → blue") || !strings.Contains(reasons(p), `a.tags["athanor:stack"]`) {
		t.Fatalf("%s: %s", got, reasons(p))
	}
	b.opts.Adopt = false
	for _, g := range []*engine.Graph{graph(), graph(res("z", m{}))} {
		if r := b.deploy(g); len(r.Failures) > 0 || b.world.things["pot"] == nil || b.world.things["pot"].Color != "red" {
			t.Fatalf("%s %+v", failures(r), b.world.things["pot"])
		}
	}
	b.destroy()
	if b.world.things["pot"] == nil {
		t.Error("destroyed what was only planned")
	}
}

// TestFixedDifferencesAreNeverAdoptedSilently: refused, or replaced by request; also when it shows only during the deploy.
func TestFixedDifferencesAreNeverAdoptedSilently(t *testing.T) {
	found := func() *bench {
		b := newBench(t)
		b.world.things["pot"] = &thing{Kind: "world.Thing", Name: "pot", Color: "red", Shape: "round", Tags: map[string]string{}}
		b.opts.Adopt = true
		return b
	}
	b, g := found(), graph(res("a", m{"name": "pot", "shape": "square"}))
	refused, err := b.e.Plan(t.Context(), g, b.opts)
	if !errors.Is(err, reconcile.ErrReplace) || !errors.Is(err, engine.ErrRefused) {
		t.Fatalf("%v", err)
	}
	if a := lineOf(t, refused, "a"); a.Action != engine.Blocked || a.From != "" {
		t.Errorf("a refused adoption says that it comes from %q: %+v", a.From, a)
	}
	b.opts.Replace = []string{"a"}
	p := b.plan(g)
	if actions(p) != "a:replace" || !p.Actions[0].DeleteFirst {
		t.Fatalf("%s", actions(p))
	}
	if r := b.deploy(g); len(r.Failures) > 0 || b.world.things["pot"].Shape != "square" || len(b.world.things) != 1 {
		t.Fatalf("%s %+v", failures(r), b.world.things["pot"])
	}
	b.opts = engine.PlanOptions{}
	b.settled(g)

	// The name is known only in the deploy: it stops there, and state has nothing of it as declared.
	b, g = found(), graph(res("up", m{"color": "pot"}), res("a", m{"name": "⟦up.color⟧", "shape": "square"}))
	r := b.deploy(g)
	if r.Summary.Failed != 1 || !strings.Contains(failures(r), "needs replacing: shape") || b.row("a").Address != "" {
		t.Fatalf("%+v %s %+v", r.Summary, failures(r), b.row("a"))
	}
	if th := b.world.things["pot"]; th.Shape != "round" || len(th.Tags) > 0 {
		t.Errorf("touched: %+v", th)
	}
}

// TestTwoStoresOnOneStage: the second one finds what the first made, says so, and deletes nothing undeclared by itself.
func TestTwoStoresOnOneStage(t *testing.T) {
	b := newBench(t)
	both := graph(res("a", m{"color": "1"}), kind("Assigned", res("b", m{})))
	b.deploy(both)
	first := b.store

	b.store = mem.New()
	b.e.Store = b.store
	one := graph(res("a", m{"color": "1"}))
	p, err := b.e.Plan(t.Context(), one, b.opts)
	if !errors.Is(err, engine.ErrOtherStore) || !strings.Contains(err.Error(), "thing:Assigned-1") {
		t.Fatalf("%v", err)
	}
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "another state store has tagged") || !strings.Contains(strings.Join(p.Actions[0].Notes, " "), "another state store") {
		t.Errorf("not said aloud: %v %v", p.Warnings, p.Actions[0].Notes)
	}
	// With a target the undeclared one is recorded with the rest of what was found, and is still nobody's to delete.
	b.opts.Target = []string{"a"}
	if r := b.deploy(one); len(r.Failures) > 0 {
		t.Fatal(failures(r))
	}
	b.opts.Target = nil
	if _, err := b.e.Plan(t.Context(), one, b.opts); !errors.Is(err, engine.ErrOtherStore) || len(b.world.things) != 2 {
		t.Fatalf("after a targeted deploy: %v %v", err, b.world.names())
	}
	if _, err := b.e.PlanDestroy(t.Context(), testStage, nil, b.opts); !errors.Is(err, engine.ErrOtherStore) {
		t.Errorf("destroy: %v", err)
	}

	// Back at the first: its own state, the owner tag of the other. Said, reconciled, and not deleted either.
	b.store, b.e.Store = first, first
	p = b.plan(both)
	if actions(p) != "a:update b:unchanged" || len(p.Warnings) == 0 {
		t.Fatalf("%s %v", actions(p), p.Warnings)
	}
	if _, err := b.e.Plan(t.Context(), graph(both.Resources[1]), b.opts); !errors.Is(err, engine.ErrOtherStore) {
		t.Errorf("undeclared, marked by the other: %v", err)
	}
	b.opts.TakeOver = true
	if r := b.destroy(); len(r.Failures) > 0 || len(b.world.things) != 0 {
		t.Fatalf("%s %v", failures(r), b.world.names())
	}
}

// TestDeletionRightAfterAnotherStoreTaggedIt: the look before the deletion sees what the plan did not.
func TestDeletionRightAfterAnotherStoreTaggedIt(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"name": "pot"}), res("b", m{})))
	p := b.plan(graph(res("b", m{})))
	mark := adopt.MarkOf(b.world.things["pot"].Tags)
	mark.Store = "elsewhere"
	b.world.things["pot"].Tags = adopt.Tags(mark)
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil || len(r.Failures) != 1 || !errors.Is(r.Failures[0], engine.ErrOtherStore) || b.world.things["pot"] == nil {
		t.Fatalf("%v %s", err, failures(r))
	}
}

// TestAdoptedWhileSomebodyElseDoes: an owner that came after the plan is not overruled.
func TestAdoptedWhileSomebodyElseDoes(t *testing.T) {
	b := newBench(t)
	b.world.things["pot"] = &thing{Kind: "world.Thing", Name: "pot", Tags: map[string]string{}}
	b.opts.Adopt = true
	p := b.plan(graph(res("a", m{"name": "pot", "color": "blue"})))
	b.world.things["pot"].Tags = adopt.Tags(theirs)
	r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if err != nil || !strings.Contains(failures(r), "belongs to x of other/test") || b.world.things["pot"].Color != "" {
		t.Fatalf("%v %s %+v", err, failures(r), b.world.things["pot"])
	}
}

// TestOneOwner: two addresses, or two stacks, never share one object.
func TestOneOwner(t *testing.T) {
	refused := func(b *bench, g *engine.Graph, want ...string) {
		t.Helper()
		_, err := b.e.Plan(t.Context(), g, b.opts)
		if err == nil {
			t.Fatalf("planned; want an error with %v", want)
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v: does not say %q", err, text)
			}
		}
	}
	adopting := func(id string) func(*engine.Options) { return func(o *engine.Options) { o.Adopt = id } }

	// In state as another address, whatever the kind can carry and whatever flag is set.
	for _, k := range []string{"Thing", "Bare", "Same"} {
		b := newBench(t)
		b.deploy(graph(kind(k, res("a", m{"name": "pot"}))))
		b.opts.Adopt = true
		refused(b, graph(kind(k, res("b", m{"name": "pot"}))), "thing:pot", "is in state as a")
	}
	// Named by two.
	b := newBench(t)
	b.world.things["pot"] = &thing{Kind: "world.Assigned", Name: "pot", Tags: map[string]string{}}
	refused(b, graph(kind("Assigned", res("a", m{}, adopting("thing:pot"))), kind("Assigned", res("b", m{}, adopting("thing:pot")))),
		"a names the same world.Assigned: thing:pot")
	// Found by two during the deploy: the second one is stopped before it changes anything.
	b = newBench(t)
	b.world.things["pot"] = &thing{Kind: "world.Bare", Name: "pot", Tags: map[string]string{}}
	b.opts.Adopt, b.e.Parallel = true, 1
	r := b.deploy(graph(res("u", m{"color": "pot"}), kind("Bare", res("a", m{"name": "⟦u.color⟧", "color": "1"})), kind("Bare", res("b", m{"name": "⟦u.color⟧", "color": "2"}))))
	sets := 0
	for _, line := range b.world.takeLog() {
		if line == "set pot" {
			sets++
		}
	}
	if len(r.Failures) != 1 || sets != 1 || !strings.Contains(failures(r), "is in state as") {
		t.Errorf("%s, set %d times", failures(r), sets)
	}
	// With the owner tag of another stack: named, it is taken over, and said; by a flag it never is.
	b = newBench(t)
	b.world.things["pot"] = &thing{Kind: "world.Thing", Name: "pot", Tags: adopt.Tags(theirs)}
	b.opts.Adopt = true
	refused(b, graph(res("a", m{"name": "pot"})), "belongs to x of other/test")
	refused(b, graph(res("a", m{"name": "pot"}, adopting("*"))), "belongs to x of other/test")
	g := graph(res("a", m{"name": "pot"}, adopting("thing:pot")))
	p := b.plan(g)
	if actions(p) != "a:adopt" || !strings.Contains(strings.Join(p.Actions[0].Notes, " "), "x of other/test") {
		t.Errorf("%s %v", actions(p), p.Actions[0].Notes)
	}
	b.deploy(g)
	b.settled(g)
}

// TestWhatHasNoOwnerTagAndIsInStateOfAnotherStage is said; whether it is one object the engine cannot know here.
func TestWhatHasNoOwnerTagAndIsInStateOfAnotherStage(t *testing.T) {
	b := newBench(t)
	g := graph(kind("Same", res("a", m{"name": "page"})))
	b.deploy(g)
	g.Stage = "prod"
	_, err := b.e.Plan(t.Context(), g, b.opts)
	var owner *adopt.OwnerError
	if !errors.As(err, &owner) || owner.Holder != "shop/test:a" {
		t.Fatalf("%v", err)
	}
	if snap, err := b.store.Load(t.Context(), statestore.Stage{Stack: "shop", Name: "prod"}); err != nil || len(snap.Rows) > 0 {
		t.Errorf("%v %v", err, snap.Rows)
	}
}

// TestDestroyOfAStageWithoutStateSparesOtherStages: what carries no owner tag, and is in the state of another stage, is not deleted by the
// destroy of a stage whose state was lost, or which never was.
func TestDestroyOfAStageWithoutStateSparesOtherStages(t *testing.T) {
	b := newBench(t)
	g := graph(kind("Same", res("a", m{"name": "page"})), kind("Same", res("own", m{"name": "own"})))
	b.deploy(graph(g.Resources[0]))
	b.world.things["own"] = &thing{Kind: "world.Same", Name: "own", Region: b.world.things["page"].Region}
	g.Stage = "typo"
	p, err := b.e.PlanDestroy(t.Context(), statestore.Stage{Stack: "shop", Name: "typo"}, g, b.opts)
	if err != nil || actions(p) != "own:delete" || !strings.Contains(strings.Join(p.Warnings, " "), "a is in state as shop/test:a") {
		t.Fatalf("%v, %s, %q", err, actions(p), p.Warnings)
	}
}

// TestDestroyNamesWhatNothingSaysTheOwnerOf: what cannot carry an owner tag and has a given name stays when state was lost, and is named. It
// was left without a word.
func TestDestroyNamesWhatNothingSaysTheOwnerOf(t *testing.T) {
	b := newBench(t)
	g := graph(kind("Bare", res("a", m{"name": "page"})))
	b.deploy(g)
	b.lose()
	p, err := b.e.PlanDestroy(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, b.opts)
	if err != nil || actions(p) != "" || !strings.Contains(strings.Join(p.Warnings, " "), "page exists, nothing says who owns it, and it stays") {
		t.Fatalf("%v, %s, %q", err, actions(p), p.Warnings)
	}
}
