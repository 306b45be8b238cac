package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

func TestLifeOfAStack(t *testing.T) {
	b := newBench(t)
	g := graph(
		res("a", m{"color": "red", "shape": "round"}),
		res("b", m{"color": "blue", "after": "⟦a.id⟧"}),
	)
	if got := actions(b.plan(g)); got != "a:create b:create" {
		t.Fatalf("plan: %s", got)
	}
	if len(b.world.log) > 0 {
		t.Fatalf("a plan wrote %v", b.world.log)
	}
	r := b.deploy(g)
	if r.Summary.Created != 2 || r.State != statestore.Succeeded || len(b.world.things) != 2 {
		t.Fatalf("deploy: %+v %v", r, b.world.names())
	}
	b.settled(g)

	// Drift is seen, told apart from a change of the program, and repaired.
	for _, th := range b.world.things {
		if th.Color == "red" {
			th.Color = "green"
		}
	}
	p := b.plan(g)
	if got := actions(p); got != "a:update b:unchanged" || p.Actions[0].Reasons[0].Source != engine.ByWorld {
		t.Fatalf("drift: %s %s", got, reasons(p))
	}
	b.deploy(g)
	b.settled(g)
	g.Resources[0].Props["color"] = "black"
	if p = b.plan(g); p.Actions[0].Reasons[0].Source != engine.ByProgram {
		t.Fatalf("change: %s", reasons(p))
	}
	b.deploy(g)
	b.settled(g)

	// A fixed prop replaces: new first, old last.
	b.world.takeLog()
	old := b.world.names()
	g.Resources[0].Props["shape"] = "square"
	if got := actions(b.plan(g)); got != "a:replace b:update?" {
		t.Fatalf("replace: %s", got)
	}
	r = b.deploy(g)
	log := strings.Join(b.world.takeLog(), ", ")
	if r.Summary.Replaced != 1 || !strings.HasPrefix(log, "create ") || !strings.HasSuffix(log, "delete "+old[0]) {
		t.Fatalf("replace: %+v: %s", r.Summary, log)
	}
	b.settled(g)

	// The record is lost: everything is found again.
	b.lose()
	p = b.plan(g)
	if got := actions(p); got != "a:recover b:recover" {
		t.Fatalf("recover: %s: %s", got, reasons(p))
	}
	if r = b.deploy(g); r.Summary.Recovered != 2 || r.Calls.Mutations != 0 && len(b.world.things) != 2 {
		t.Fatalf("recover: %+v", r.Summary)
	}
	b.settled(g)

	// What is no longer declared goes.
	g.Resources = g.Resources[1:]
	g.Resources[0].Props = m{"color": "blue"}
	if got := actions(b.plan(g)); got != "a:delete b:update" {
		t.Fatalf("delete: %s", got)
	}
	b.deploy(g)
	b.settled(g)
	if r = b.destroy(); r.Summary.Deleted != 1 || len(b.world.things) != 0 {
		t.Fatalf("destroy: %+v %v", r.Summary, b.world.names())
	}
	if r = b.destroy(); r.State != statestore.Succeeded {
		t.Fatalf("second destroy: %+v", r)
	}
}

func TestFailureStopsDependentsAlone(t *testing.T) {
	b := newBench(t)
	g := graph(
		res("bad", m{"name": "bad"}),
		res("behind", m{"after": "⟦bad.id⟧"}),
		res("good", m{"name": "good"}),
	)
	b.world.fail["create bad"] = errDenied
	r := b.deploy(g)
	if r.Summary.Created != 1 || r.Summary.Failed != 1 || r.Summary.Blocked != 1 || !errors.Is(r.Failures[0], errDenied) {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	delete(b.world.fail, "create bad")
	if r = b.deploy(g); r.Summary.Created != 2 || r.Summary.Unchanged != 1 {
		t.Fatalf("again: %+v", r.Summary)
	}
	b.settled(g)
}

func TestCycleThroughLatePath(t *testing.T) {
	b := newBench(t)
	g := graph(
		res("a", m{"peer": "⟦b.id⟧"}),
		res("b", m{"peer": "⟦a.id⟧"}),
	)
	r := b.deploy(g)
	if r.Summary.Created != 2 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	for _, th := range b.world.things {
		if !strings.HasPrefix(th.Peer, "thing:") {
			t.Errorf("%s has peer %q", th.Name, th.Peer)
		}
	}
	b.settled(g)
	if r := b.destroy(); r.Summary.Deleted != 2 || len(b.world.things) > 0 {
		t.Fatalf("destroy: %+v %v", r.Summary, r.Failures)
	}

	_, err := b.e.Plan(t.Context(), graph(
		res("a", m{"after": "⟦b.id⟧"}), res("b", m{"after": "⟦a.id⟧"})), b.opts)
	if err == nil || !strings.Contains(err.Error(), "a (after) → b (after) → a") {
		t.Errorf("cycle: %v", err)
	}
}

// TestDocumentThatNamesItsOwnObject: a document that may be set after the creation is left out whole while a part of it is not
// known, as a document with a hole is another one: it is set when the object that it names is created. Nothing of the kind is
// possible for a prop that the creation needs.
func TestDocumentThatNamesItsOwnObject(t *testing.T) {
	b := newBench(t)
	rules := m{"version": "1", "allow": []any{m{"what": "read", "on": "⟦a.id⟧/*"}}}
	other := m{"allow": []any{m{"on": "⟦b.id⟧"}}}
	g := graph(res("a", m{"rules": rules}), res("b", m{"rules": m{"on": "⟦c.id⟧"}}), res("c", m{"rules": other}))
	if r := b.deploy(g); r.Summary.Created != 3 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	for _, th := range b.world.things {
		if text := string(tree.Canonical(th.Rules)); !strings.Contains(text, "thing:") {
			t.Errorf("%s has the document %s", th.Name, text)
		}
	}
	b.settled(g)
	if r := b.destroy(); r.Summary.Deleted != 3 || len(b.world.things) > 0 {
		t.Fatalf("destroy: %+v %v", r.Summary, r.Failures)
	}
	for _, rules := range b.world.rules {
		if !strings.Contains(rules, "thing:") {
			t.Errorf("a document with a hole was set: %s", rules)
		}
	}
	_, err := b.e.Plan(t.Context(), graph(res("a", m{"after": "⟦a.id⟧"})), b.opts)
	if err == nil || !strings.Contains(err.Error(), "a (after) → a") {
		t.Errorf("its own attribute: %v", err)
	}
}

// A cycle through a part of a late prop that is nothing without it: the whole of that goes first, and then the members.
func TestCycleThroughPartOfLateProp(t *testing.T) {
	b := newBench(t)
	g := graph(
		res("a", m{"link": m{"to": "⟦b.id⟧"}}),
		res("b", m{"link": m{"to": "⟦a.id⟧"}}),
	)
	if r := b.deploy(g); r.Summary.Created != 2 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	for _, th := range b.world.things {
		if !strings.HasPrefix(th.Link, "thing:") {
			t.Errorf("%s has link %q", th.Name, th.Link)
		}
	}
	b.settled(g)
	if r := b.destroy(); r.Summary.Deleted != 2 || len(b.world.things) > 0 {
		t.Fatalf("destroy: %+v %v", r.Summary, r.Failures)
	}
}

func TestForeignIsRefusedUnlessAdopted(t *testing.T) {
	b := newBench(t)
	b.world.things["pot"] = &thing{Name: "pot", Color: "red", Tags: map[string]string{}}
	g := graph(res("pot", m{"name": "pot", "color": "blue"}))
	_, err := b.e.Plan(t.Context(), g, b.opts)
	if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "not ours") {
		t.Fatalf("refused: %v", err)
	}
	b.opts.Adopt = true
	p := b.plan(g)
	if actions(p) != "pot:adopt" {
		t.Fatalf("adopt: %s", actions(p))
	}
	b.deploy(g)
	if b.world.things["pot"].Color != "blue" {
		t.Error("not settled")
	}
	b.opts.Adopt = false
	b.settled(g)
}

func TestLostAnswerMakesOneObject(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "only"}))
	b.world.fail["after create only"] = errTransient
	if r := b.deploy(g); r.Summary.Created != 1 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
	b.settled(g)
}

func TestDataIsGuarded(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "jar"}))
	b.deploy(g)
	b.world.things["jar"].Data = 3
	if _, err := b.e.Plan(t.Context(), graph(), b.opts); !errors.Is(err, engine.ErrRefused) {
		t.Fatalf("deletion of data: %v", err)
	}
	b.opts.AllowDelete = []string{"a"}
	if r := b.deploy(graph()); r.Summary.Deleted != 1 {
		t.Fatalf("%+v %v", r.Summary, r.Failures)
	}
}

// TestLeaveOfAProp: the permission that a prop gives holds when the program is not at hand, and after state was lost
// and found.
func TestLeaveOfAProp(t *testing.T) {
	for _, lost := range []bool{false, true} {
		b := newBench(t)
		g := graph(res("a", m{"name": "jar", "forget": true}))
		b.deploy(g)
		b.world.things["jar"].Data = 3
		if lost {
			b.lose()
			b.deploy(g)
		}
		if r := b.destroy(); r.Summary.Deleted != 1 || len(b.world.things) != 0 {
			t.Errorf("lost %t: %+v %v", lost, r.Summary, r.Failures)
		}
	}
}

func TestRenameCostsOneTagCall(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("old", m{"color": "red"})))
	b.world.takeLog()
	g := graph(res("new", m{"color": "red"}, func(o *engine.Options) { o.RenamedFrom = []string{"old"} }))
	if got := actions(b.plan(g)); got != "new:move" {
		t.Fatalf("plan: %s", got)
	}
	r := b.deploy(g)
	if log := b.world.takeLog(); r.Summary.Moved != 1 || len(log) != 1 || !strings.HasPrefix(log[0], "tag ") {
		t.Fatalf("%+v %v", r.Summary, log)
	}
	b.settled(g)
	b.lose()
	if got := actions(b.plan(g)); got != "new:recover" {
		t.Fatalf("after loss: %s", got)
	}
}
