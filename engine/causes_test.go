package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// twelve are resources that do not need each other.
func twelve(kind string, props m) *engine.Graph {
	var all []engine.Resource
	for i := range 12 {
		r := res(fmt.Sprintf("q%02d", i), props)
		r.Kind = kind
		all = append(all, r)
	}
	return graph(all...)
}

// refuse lets the cloud refuse an operation on everything, naming the object and the request each time, as clouds do.
func (b *bench) refuse(operation string) {
	for i, name := range b.world.names() {
		name = b.world.things[name].Name
		b.world.fail[operation+" "+name] = fmt.Errorf("%w: may not %s %s, RequestID: r-%d", errDenied, operation, name, i)
	}
}

// shared fails unless there is one cause of twelve addresses.
func shared(t *testing.T, when string, causes []engine.Cause) engine.Cause {
	t.Helper()
	if len(causes) != 1 || len(causes[0].Addresses) != 12 || causes[0].ID == "" {
		t.Fatalf("%s: the causes are %+v, want one of twelve addresses", when, causes)
	}
	return causes[0]
}

// TestOneCauseIsToldOnce: an error that twelve resources have in common is one cause in the plan, in the result of a run, and
// in the text of a refusal.
func TestOneCauseIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, destroy := range []bool{false, true} {
		b := newBench(t)
		g := twelve("world.Thing", m{"color": "red"})
		b.deploy(g)
		b.refuse("observe")
		var p *engine.Plan
		var err error
		if destroy {
			p, err = b.e.PlanDestroy(t.Context(), testStage, g, engine.PlanOptions{})
		} else {
			p, err = b.e.Plan(t.Context(), g, engine.PlanOptions{})
		}
		if p == nil {
			t.Fatal(err)
		}
		when := fmt.Sprintf("destroy %v", destroy)
		c := shared(t, when, b.saved(p).Causes)
		for _, line := range p.Actions {
			if line.Action != engine.Blocked || line.Cause != c.ID || line.Problem == "" {
				t.Errorf("%s: %s is %s with cause %q: %s", when, line.Address, line.Action, line.Cause, line.Problem)
			}
		}
	}

	b := newBench(t)
	g := twelve("world.Thing", m{"color": "red"})
	b.deploy(g)
	var told []string
	b.e.Events = func(e engine.Event) {
		if e.Address != "" && e.Status == engine.StatusFailed {
			told = append(told, e.Cause)
		}
	}
	b.refuse("set")
	r, err := b.apply(twelve("world.Thing", m{"color": "blue"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := shared(t, "update", r.Causes)
	if len(r.Failures) != 12 || len(told) != 12 || slices.ContainsFunc(told, func(id string) bool { return id != c.ID }) {
		t.Errorf("%d failures; the events name the causes %q, want %s", len(r.Failures), told, c.ID)
	}
}

// TestOneLocationIsToldOnce: a location that cannot be reached is one line of the error, with everything that lies there.
func TestOneLocationIsToldOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := twelve("world.Thing", m{})
	for i := range g.Resources {
		g.Resources[i].Settings = m{"region": "far"}
	}
	b.world.unreachable = "far"
	_, err := b.e.Plan(t.Context(), g, engine.PlanOptions{})
	if err == nil || strings.Count(err.Error(), "denied") != 1 {
		t.Fatalf("the refusal: %v", err)
	}
	for i := range g.Resources {
		if !strings.Contains(err.Error(), g.Resources[i].Address) {
			t.Errorf("the refusal does not name %s: %v", g.Resources[i].Address, err)
		}
	}
}

// TestConsequencesComeLast: what is blocked by another resource names the one at the root of it, and comes after the cause.
func TestConsequencesComeLast(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := []engine.Resource{res("root", m{"color": "red"})}
	last := "root"
	for i := range 11 {
		next := fmt.Sprintf("a%02d", i)
		all, last = append(all, res(next, m{"after": "⟦" + last + ".name⟧"})), next
	}
	g := graph(all...)
	b.deploy(g)
	b.unreadable(false)
	b.world.fail["observe "+b.world.of("root")[0].Name] = errDenied
	p, err := b.e.Plan(t.Context(), g, engine.PlanOptions{})
	if p == nil {
		t.Fatal(err)
	}
	if len(p.Causes) != 1 || len(p.Causes[0].Addresses) != 11 || p.Causes[0].Follows != "root" {
		t.Errorf("the causes: %+v", p.Causes)
	}
	for _, line := range p.Actions {
		if want := "root"; line.Address != "root" && line.BlockedBy != want {
			t.Errorf("%s is blocked by %q, want %q: %s", line.Address, line.BlockedBy, want, line.Problem)
		}
	}
	refusal := p.Refusal()
	if refusal == nil {
		t.Fatal("a plan with what cannot be planned is not refused")
	}
	if text := strings.Split(refusal.Error(), "\n"); len(text) != 2 || !strings.Contains(text[0], "denied") || !strings.Contains(text[1], "a00") {
		t.Errorf("the refusal: %q", text)
	}
}

// TestOneReasonIsToldOnce: where every call of a location fails for one reason, kinds and operations make no difference.
func TestOneReasonIsToldOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(twelve("world.Thing", m{"color": "red"}))
	refuse := func(operation string) {
		for i, name := range b.world.names() {
			name = b.world.things[name].Name
			b.world.fail[operation+" "+name] = reconcile.WithCommon(
				reconcile.WithHint(fmt.Errorf("%w: operation %d of service %d", errDenied, i, i%3), "sign in"), "the session has expired")
		}
	}
	refuse("observe")
	p, err := b.e.Plan(t.Context(), twelve("world.Thing", m{"color": "red"}), engine.PlanOptions{})
	if p == nil {
		t.Fatal(err)
	}
	if c := shared(t, "plan", b.saved(p).Causes); c.Error != "the session has expired" || c.Hint != "sign in" {
		t.Errorf("the cause: %+v", c)
	}
	refused, ok := errors.AsType[*engine.RefusedError](p.Refusal())
	if !ok || len(engine.GroupProblems(refused.Problems)) != 1 || engine.GroupProblems(refused.Problems)[0].Cause.ID != p.Causes[0].ID {
		t.Errorf("the refusal: %v", p.Refusal())
	}
	clear(b.world.fail)
	refuse("set")
	r, err := b.apply(twelve("world.Thing", m{"color": "blue"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := shared(t, "run", r.Causes); c.Error != "the session has expired" || len(r.Failures) != 12 {
		t.Errorf("the cause of %d failures: %+v", len(r.Failures), c)
	}
}

// TestSearchedNamesAreNoCause: a first search that fails names what it searched for, which is another name for each resource.
func TestSearchedNamesAreNoCause(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := twelve("world.Thing", m{"color": "red"})
	b.deploy(g)
	b.refuse("observe")
	b.loseFile()
	p, err := b.e.Plan(t.Context(), g, engine.PlanOptions{})
	if p == nil {
		t.Fatal(err)
	}
	shared(t, "a search by name", p.Causes)
}
