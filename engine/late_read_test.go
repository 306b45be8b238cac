package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/statestore"
)

// lateRead is a stack in which b gets its color from a read that looks for a by an attribute of it.
func lateRead(a m) *engine.Graph {
	g := graph(res("a", a), res("b", m{"color": "⟦z.color⟧"}))
	g.Reads = []engine.Read{{Address: "z", Kind: "world.Thing", Query: m{"name": "⟦a.name⟧"}}}
	g.Outputs = m{"color": "⟦z.color⟧"}
	return g
}

// TestReadOfWhatIsMade reads what the same stack makes: planning says what is known after it, the run reads right before the value is used,
// and where nothing is done to what the read refers to it is read while planning, as every other one.
func TestReadOfWhatIsMade(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"color": "red"})
	p := b.plan(g)
	if actions(p) != "a:create b:create" || !strings.Contains(reasons(p), "b.color: <nil> → ⟦z.color⟧") {
		t.Errorf("first it plans %s: %s", actions(p), reasons(p))
	}
	if len(p.OutputChanges) != 1 || !p.OutputChanges[0].Unknown {
		t.Errorf("of outputs it plans %+v", p.OutputChanges)
	}
	r := b.deploy(g)
	if r.State != statestore.Succeeded || b.world.of("b")[0].Color != "red" || r.Outputs["color"] != "red" {
		t.Fatalf("%s: %+v, %v", failures(r), b.world.of("b"), r.Outputs)
	}
	if needs := b.row("b").Needs; !slices.Contains(needs, "a") {
		t.Errorf("what uses a read of a needs %v", needs)
	}
	b.settled(g)

	// What moves the value moves what uses it, and nothing that was not announced.
	g = lateRead(m{"color": "blue"})
	if p = b.plan(g); actions(p) != "a:update b:update?" {
		t.Errorf("of a change it plans %s", actions(p))
	}
	if b.deploy(g); b.world.of("b")[0].Color != "blue" {
		t.Errorf("b is %s", b.world.of("b")[0].Color)
	}
	b.settled(g)
	g = lateRead(m{"color": "blue", "peer": "x"})
	if p = b.plan(g); actions(p) != "a:update b:update?" {
		t.Errorf("of a change of something else it plans %s", actions(p))
	}
	if r = b.deploy(g); r.Summary.Updated != 1 || r.Summary.Unchanged != 1 {
		t.Errorf("a change of something else did %+v", r.Summary)
	}
	b.settled(g)

	// What a read would look for goes last.
	b.world.takeLog()
	old := b.world.of("b")[0].Name
	b.destroy()
	if log := b.world.takeLog(); len(log) != 2 || log[0] != "delete "+old {
		t.Errorf("destroy did %v", log)
	}
}

// TestReadThatMovesWhatCannotChange gives a value of a read to what is replaced by it: that is announced, and it is done only if the value moved.
func TestReadThatMovesWhatCannotChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"color": "red"})
	g.Resources[1].Props = m{"shape": "⟦z.color⟧"}
	b.deploy(g)
	b.settled(g)
	g.Resources[0].Props = m{"color": "red", "peer": "x"}
	if p := b.plan(g); actions(p) != "a:update b:replace?" {
		t.Fatalf("it plans %s", actions(p))
	}
	if r := b.deploy(g); r.Summary.Replaced != 0 || len(b.world.of("b")) != 1 {
		t.Errorf("the same value did %+v", r.Summary)
	}
	g.Resources[0].Props = m{"color": "blue", "peer": "x"}
	if r := b.deploy(g); r.Summary.Replaced != 1 || b.world.of("b")[0].Shape != "blue" {
		t.Errorf("another value did %+v: %s", r.Summary, failures(r))
	}
	b.settled(g)
}

// TestChainOfReads reads by what another read tells, and what nobody uses but an output.
func TestChainOfReads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, th := range []*thing{{Name: "red", Color: "deep"}, {Name: "blue", Color: "light"}} {
		th.Kind, th.Tags = "world.Thing", map[string]string{}
		b.world.things[th.Name] = th
	}
	g := lateRead(m{"color": "red"})
	g.Reads = append(g.Reads, engine.Read{Address: "more", Kind: "world.Thing", Query: m{"name": "⟦z.color⟧"}})
	g.Resources[1].Props = m{"color": "⟦more.color⟧"}
	g.Outputs = m{"more": "⟦more.color⟧"}
	if r := b.deploy(g); b.world.of("b")[0].Color != "deep" || r.Outputs["more"] != "deep" {
		t.Fatalf("%s: %v", failures(r), r.Outputs)
	}
	b.settled(g)
	g.Resources = g.Resources[:1] // the output alone is left
	g.Resources[0].Props = m{"color": "blue"}
	if r := b.deploy(g); r.Outputs["more"] != "light" {
		t.Errorf("%s: %v", failures(r), r.Outputs)
	}
	b.settled(g)

	// Without a resource between them reads are read while planning, in their order.
	b.world.things["start"] = &thing{Kind: "world.Thing", Name: "start", Color: "red", Tags: map[string]string{}}
	g = graph(res("b", m{"color": "⟦more.color⟧"}))
	g.Reads = []engine.Read{
		{Address: "more", Kind: "world.Thing", Query: m{"name": "⟦z.color⟧"}}, {Address: "z", Kind: "world.Thing", Query: m{"name": "start"}},
	}
	if p := b.plan(g); !strings.Contains(reasons(p), "b.color: <nil> → deep") {
		t.Errorf("it plans %s", reasons(p))
	}
}

// TestReadAfterAFailure: what uses a read fails with it, and is blocked by what the read refers to. Others go on, and the next run makes good.
func TestReadAfterAFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"name": "one", "color": "red"})
	g.Resources = append(g.Resources, res("c", m{}))
	b.world.fail["create one"] = errDenied
	if r := b.deploy(g); r.Summary.Failed != 1 || r.Summary.Blocked != 1 || r.Summary.Created != 1 || len(r.Failures) != 1 || !errors.Is(r.Failures[0], errDenied) {
		t.Errorf("a failure before the read did %+v: %s", r.Summary, failures(r))
	}
	delete(b.world.fail, "create one")
	g.Reads[0].Query = m{"name": "not-⟦a.name⟧"}
	r := b.deploy(g)
	if r.Summary.Failed != 1 || r.Summary.Created != 1 || len(r.Failures) != 1 || !strings.Contains(failures(r), "z: read: there is no such world.Thing") {
		t.Errorf("a read that finds nothing did %+v: %s", r.Summary, failures(r))
	}
	_, err := b.e.Plan(t.Context(), g, b.opts)
	if err == nil || !strings.Contains(err.Error(), "there is no such world.Thing") {
		t.Errorf("a read of what is there is planned with %v", err)
	}
	g.Reads[0].Query = m{"name": "⟦a.name⟧"}
	b.deploy(g)
	b.settled(g)

	// A read for an output alone fails the run.
	g = graph(res("d", m{}))
	g.Reads, g.Outputs = []engine.Read{{Address: "z", Kind: "world.Thing", Query: m{"name": "not-⟦d.name⟧"}}}, m{"color": "⟦z.color⟧"}
	if r := b.deploy(g); r.State != statestore.Failed || len(r.Failures) != 1 || r.Failures[0].Address != "z" {
		t.Errorf("an output that cannot be read ends as %s: %s", r.State, failures(r))
	}
}

// TestReadInACycle: a cycle that a late prop opens may go through a read. One that goes through its query alone is refused.
func TestReadInACycle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"color": "red", "peer": "⟦b.id⟧"})
	if r := b.deploy(g); r.State != statestore.Succeeded || b.world.of("a")[0].Peer == "" || b.world.of("b")[0].Color != "red" {
		t.Fatalf("%s", failures(r))
	}
	b.settled(g)
	b.destroy()
	if len(b.world.things) > 0 {
		t.Errorf("destroy leaves %v", b.world.names())
	}
	g.Resources[0].Props = m{"color": "⟦b.color⟧"}
	if _, err := b.e.Plan(t.Context(), g, b.opts); err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("a cycle is planned with %v", err)
	}
}

// TestReadWithoutState plans and destroys a stack of which state is lost: what a read refers to is found first.
func TestReadWithoutState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"color": "red"})
	b.deploy(g)
	b.lose()
	if p := b.plan(g); actions(p) != "a:recover b:recover" {
		t.Fatalf("it plans %s", actions(p))
	}
	p, err := b.e.PlanDestroy(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, engine.PlanOptions{TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "destroy"}); err != nil || r.State != statestore.Succeeded || len(b.world.things) > 0 {
		t.Errorf("destroy leaves %v (%v)", b.world.names(), err)
	}
}

// TestReadOfASelection: a target takes along what its read refers to, and what is left out of a run leaves out what reads it.
func TestReadOfASelection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := lateRead(m{"color": "red"})
	g.Resources = append(g.Resources, res("c", m{}))
	b.opts.Exclude = []string{"a"}
	if p := b.plan(g); actions(p) != "a:unchanged b:unchanged c:create" {
		t.Errorf("without a it plans %s", actions(p))
	}
	b.deploy(g)
	b.opts.Exclude, b.opts.Target = nil, []string{"b"}
	if p := b.plan(g); actions(p) != "a:create b:create c:unchanged" {
		t.Errorf("of b it plans %s", actions(p))
	}
	b.deploy(g)
	b.opts.Target = nil
	b.settled(g)
}

// TestFailedOutputsAreTold: an output that has no value although all is known is told with the reason, by a run and by one that
// has nothing to do; neither has succeeded.
func TestFailedOutputsAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}))
	failing, err := token.Plain.Then("f", "⟦a.color⟧")
	if err != nil {
		t.Fatal(err)
	}
	g.Funcs.Then = map[string]func(any) (any, error){"f": func(any) (any, error) { return nil, errors.New("it cannot be computed") }}
	g.Outputs = m{"bad": failing, "good": "⟦a.color⟧"}
	for _, when := range []string{"deployed", "nothing to do"} {
		var told []string
		b.e.Events = func(e engine.Event) {
			if e.Type == engine.EventWarning {
				told = append(told, e.Note)
			}
		}
		p := b.plan(g)
		if warned := strings.Join(p.Warnings, "\n"); strings.Contains(warned, "output bad ") != (when == "nothing to do") {
			t.Errorf("%s: the plan warns of %q", when, warned)
		}
		r, err := b.apply(g, nil)
		if err != nil || r.Outputs["good"] != "red" || len(told) != 1 || !strings.Contains(told[0], "output bad ") || !strings.Contains(told[0], "it cannot be computed") {
			t.Errorf("%s: %v, outputs %v, told %q", when, err, r.Outputs, told)
		}
		if r.State != statestore.Failed || r.Complete() || r.Summary.OutputsFailed != 1 {
			t.Errorf("%s: it ends as %s, complete %v, %d outputs failed", when, r.State, r.Complete(), r.Summary.OutputsFailed)
		}
	}
}
