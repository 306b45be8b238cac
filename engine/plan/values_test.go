package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// askedKind is a kind that says what it is, and cannot be asked for anything else: a pass that reads fails the test.
type askedKind struct {
	reconcile.Any
	spec *reconcile.Spec
}

func (k askedKind) Spec() *reconcile.Spec { return k.spec }

// TestDecideByValues: a program, entries and what reading showed are enough to decide about a whole stage, in order, with the
// reasons and the operations of each resource. There is no cloud, no store and no context, and no kind that could be read with.
func TestDecideByValues(t *testing.T) {
	t.Parallel()
	size := reconcile.Step{Path: "size", Have: int64(1), Want: int64(2)}
	engine := reconcile.Step{Path: "engine", Have: "a", Want: "b", Replaces: true}
	declared := func(addr string, look reconcile.Look, live bool, needs ...string) *Node {
		n := observed(addr, look, live)
		n.Kind, n.Needs, n.Decl.Options.DependsOn = askedKind{spec: n.Spec}, needs, needs
		return n
	}
	undeclared := func(addr string, look reconcile.Look, o func(*state.Entry)) *Node {
		n := declared(addr, look, true)
		n.Decl = nil
		o(n.Entry)
		return n
	}
	own := func(addr string, steps ...reconcile.Step) reconcile.Look {
		tag := ownTag
		tag.Address = addr
		return there(tag, steps...)
	}
	full := own("data")
	full.Holds = true
	c := deciding(PlanOptions{})
	c.Declared = []*Node{
		declared("web", reconcile.Look{Absent: true}, false, "db"),
		declared("db", own("db", engine), true, "net"),
		declared("api", own("api", size), true, "net"),
		declared("net", own("net"), true),
	}
	leftover := []*Node{
		undeclared("old", own("old"), func(*state.Entry) {}),
		undeclared("data", full, func(*state.Entry) {}),
		undeclared("part", own("part"), func(e *state.Entry) { e.SetOptions(&graph.Options{DeletedWith: "data"}) }),
		undeclared("kept", own("kept"), func(e *state.Entry) { e.SetOptions(&graph.Options{Retain: true}) }),
	}
	entries := map[string]*state.Entry{}
	for _, n := range slices.Concat(c.Declared, leftover) {
		c.Nodes[n.Address], entries[n.Address] = n, n.Entry
	}
	if err := c.Arrange(entries); err != nil {
		t.Fatal(err)
	}

	for _, n := range c.Sorted {
		c.decide(n)
	}
	DeleteFirst{c.Index}.Spread()
	c.OneOwner()
	chosen := &Chosen{}
	guards := Guards{Catalog: c.Catalog}
	l := &Leftovers{Basis: c.Basis, Refusals: c.Refusals, Chosen: chosen, Guards: guards}
	g := &Guarding{Guards: guards, Chosen: chosen, Refusals: c.Refusals}
	for _, n := range leftover {
		l.ClassifyLeftover(n)
		g.Guard(n, n.Look().Holds)
	}
	l.GoWith(leftover)
	lines := &Lines{Announcer: Announcer{Catalog: c.Catalog, MayDelete: guards.MayDelete, DeletedWith: c.GoesWith}, Basis: c.Basis, Chosen: chosen}

	var have []string
	for _, line := range lines.All(slices.Concat(c.Sorted, leftover)) {
		text := fmt.Sprintf("%s: %s", line.Address, line.Action)
		for _, r := range line.Reasons {
			if line.Action != Create {
				text += fmt.Sprintf(", %s %v → %v by the %s", r.Path, r.Have, r.Want, r.Source)
			}
		}
		for _, s := range line.Steps {
			for _, o := range s.Operations {
				text += fmt.Sprintf(" [%s]", o.Verb)
			}
		}
		have = append(have, strings.TrimSpace(text+" "+line.Problem))
	}
	want := []string{
		"api: update, size 1 → 2 by the program [set]",
		"data: blocked holds data and would be deleted",
		"db: replace, engine a → b by the program [create] [remove]",
		"kept: forget [detach] [release]",
		"net: unchanged",
		"old: delete [remove]",
		"part: blocked it is deleted with data, which stays",
		"web: create [create]",
	}
	if !slices.Equal(have, want) {
		t.Errorf("decided:\n%s", strings.Join(have, "\n"))
	}
	var order []string
	for _, n := range c.Sorted {
		order = append(order, n.Address)
	}
	if !slices.Equal(order, []string{"net", "api", "db", "web"}) {
		t.Errorf("order: %v", order)
	}
	if refused := c.Refused(); !errors.Is(refused, reconcile.ErrHoldsData) {
		t.Errorf("refused: %v", refused)
	}
}
