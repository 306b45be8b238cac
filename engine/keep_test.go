package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// things is a chain of n resources of a kind, each needing the identity of the one before.
func things(of string, n int) *engine.Graph {
	g := graph()
	for i := range n {
		props := m{"color": "red"}
		if i > 0 {
			props["after"] = fmt.Sprintf("⟦t%d.id⟧", i-1)
		}
		g.Resources = append(g.Resources, kind(of, res(fmt.Sprintf("t%d", i), props)))
	}
	return g
}

// TestChainOfResources: the result of what is ready when it is created reaches state with the intent of the next, and
// with its own identity, where its name is enough to find it again; what the cloud names costs its identity as well.
func TestChainOfResources(t *testing.T) {
	const n = 12
	for of, each := range map[string]int{"Thing": 1, "Bare": 1, "Same": 1, "Assigned": 2} {
		b := newBench(t)
		g := things(of, n)
		if r := b.deploy(g); r.Commits != each*n+3 || r.Summary.Created != n {
			t.Errorf("%s: %d commits for %d, want %d", of, r.Commits, n, each*n+3)
		}
		b.settled(g)
	}
}

// identity is what is in state of an address.
func (b *bench) identity(addr string) string {
	b.t.Helper()
	snap, err := b.store.Load(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	row, ok := snap.Rows[addr]
	if !ok || len(row.Generations) != 1 {
		return ""
	}
	return row.Generations[0].Identity
}

// TestIdentityIsKeptBeforeWaiting reads the state whenever an object that is not ready is read again.
func TestIdentityIsKeptBeforeWaiting(t *testing.T) {
	b := newBench(t)
	b.world.steps = 3
	var seen []string
	created := false
	b.world.during = func(op, _ string) {
		switch {
		case op == "create":
			created = true
		case op == "observe" && created:
			seen = append(seen, b.identity("a"))
		}
	}
	b.deploy(graph(kind("Slow", res("a", nil))))
	if len(seen) < 3 || seen[0] != "" || seen[1] == "" {
		t.Errorf("on record at each look after its creation: %q", seen)
	}
}

// TestIdentityIsKeptWhenTheLookFails: the object is there, and what a further read says of it is an error.
func TestIdentityIsKeptWhenTheLookFails(t *testing.T) {
	b := newBench(t)
	b.world.during = func(op, name string) {
		if op == "create" {
			b.world.mu.Lock()
			defer b.world.mu.Unlock()
			b.world.fail["observe "+name] = errDenied
		}
	}
	r := b.deploy(graph(res("a", nil)))
	if len(r.Failures) != 1 || !errors.Is(r.Failures[0], errDenied) {
		t.Fatalf("failures: %v", r.Failures)
	}
	if b.identity("a") == "" {
		t.Error("its identity is not on record")
	}
}

// TestResultWaitsForNobodyWhoCannotCome: those that a result sets free fail at their read, so that it reaches state
// alone.
func TestResultWaitsForNobodyWhoCannotCome(t *testing.T) {
	b := newBench(t)
	g := things("Thing", 1)
	for i := range 3 {
		g.Resources = append(g.Resources, res(fmt.Sprintf("u%d", i), m{"after": "⟦t0.id⟧"}))
	}
	b.world.during = func(op, name string) {
		b.world.mu.Lock()
		defer b.world.mu.Unlock()
		if op == "observe" && strings.Contains(name, "-u") && len(b.world.things) > 0 {
			b.world.fail["observe "+name] = errDenied
		}
	}
	r := b.deploy(g)
	if len(r.Failures) != 3 || r.Summary.Created != 1 {
		t.Fatalf("%+v: %v", r.Summary, r.Failures)
	}
	if row := b.row("t0"); len(row.Generations) != 1 || row.Generations[0].State != statestore.Live {
		t.Errorf("on record: %+v", row)
	}
}

// TestDoneComesBeforeWhatItSetFree: what shares the commit of its upstream is not reported before it.
func TestDoneComesBeforeWhatItSetFree(t *testing.T) {
	b := newBench(t)
	var order []string
	b.e.Events = func(e engine.Event) {
		if e.Type == engine.EventDone {
			order = append(order, e.Address)
		}
	}
	b.deploy(things("Thing", 8))
	if have := strings.Join(order, " "); have != "t0 t1 t2 t3 t4 t5 t6 t7" {
		t.Errorf("done: %s", have)
	}
}
