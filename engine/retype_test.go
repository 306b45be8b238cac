package engine_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// TestChangeOfKindKeepsWhatIsNamed declares another kind for what state has. An object that the author names by its identity there stays as it is; without
// a name it is replaced, and one that nobody finds or that is another resource's is an error.
func TestChangeOfKindKeepsWhatIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(graph(res("a", m{"name": "one", "color": "red"}), res("other", m{"name": "two"})))
	for _, th := range b.world.things {
		th.Kind = "" // it is seen as each kind that is asked for
	}
	declared := func(id, color string) *engine.Graph {
		other := kind("Hosted", res("other", m{"name": "two"}, func(o *engine.Options) { o.Adopt = "thing:two" }))
		return graph(kind("Hosted", res("a", m{"name": "one", "color": color}, func(o *engine.Options) { o.Adopt = id })), other, res("user", m{"after": "⟦a.id⟧"}))
	}
	if p := b.plan(declared("", "red")); actions(p) != "a:replace other:move user:create" {
		t.Errorf("without a name it plans %s", actions(p))
	}
	for id, want := range map[string]string{"thing:none": "there is no world.Hosted", "none": "there is no world.Hosted"} {
		if p := b.plan(declared(id, "red")); !strings.Contains(reasons(p), want) {
			t.Errorf("%s: it plans %s", id, reasons(p))
		}
	}
	g := declared("thing:one", "red")
	p := b.plan(g)
	if actions(p) != "a:move other:move user:create" || !strings.Contains(reasons(p), "a.kind: world.Thing → world.Hosted (program)") {
		t.Fatalf("it plans %s: %s", actions(p), reasons(p))
	}
	b.world.takeLog()
	r := b.deploy(g)
	if log := b.world.takeLog(); r.Summary.Moved != 2 || len(log) != 1 || !strings.HasPrefix(log[0], "create ") {
		t.Errorf("it does %v: %+v: %s", log, r.Summary, failures(r))
	}
	if row := b.row("a"); row.Generations[0].Kind != "world.Hosted" {
		t.Errorf("state has it as %s", row.Generations[0].Kind)
	}
	b.settled(g)
	b.destroy()
	if len(b.world.things) > 0 {
		t.Errorf("destroy leaves %v", b.world.names())
	}

	// A difference is set along with it. What is another resource's is not taken.
	b.deploy(graph(res("a", m{"name": "one", "color": "red"}), kind("Hosted", res("held", m{"name": "three"}))))
	for _, th := range b.world.things {
		th.Kind = ""
	}
	held := kind("Hosted", res("held", m{"name": "three"}))
	taking := func(id string) *engine.Graph {
		return graph(kind("Hosted", res("a", m{"name": "one", "color": "blue"}, func(o *engine.Options) { o.Adopt = id })), held)
	}
	if p := b.plan(taking("thing:three")); !strings.Contains(reasons(p), "is that of held") {
		t.Errorf("what another one holds is planned as %s: %s", actions(p), reasons(p))
	}
	g = taking("thing:one")
	if p := b.plan(g); actions(p) != "a:update held:unchanged" {
		t.Errorf("with another color it plans %s", actions(p))
	}
	b.deploy(g)
	b.settled(g)
}
