package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// lineOf is the line of a plan about an address.
func lineOf(t *testing.T, p *engine.Plan, addr string) *engine.Planned {
	t.Helper()
	for i := range p.Actions {
		if p.Actions[i].Address == addr {
			return &p.Actions[i]
		}
	}
	t.Fatalf("the plan has no line of %s: %s", addr, actions(p))
	return nil
}

// saved is a plan as a file holds it.
func (b *bench) saved(p *engine.Plan) *engine.Plan {
	b.t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		b.t.Fatal(err)
	}
	read, err := engine.ReadPlan(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return read
}

// give applies a saved plan with its program.
func (b *bench) give(saved *engine.Plan, g *engine.Graph) (*engine.Result, error) {
	b.t.Helper()
	return b.e.Apply(b.t.Context(), saved, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy", Graph: g})
}

// TestRecoveredUpstreamMovesItsAttributes: an object that is found again and differs is changed like any other, so that
// what its change may move is announced for those that refer to it.
func TestRecoveredUpstreamMovesItsAttributes(t *testing.T) {
	b := newBench(t)
	user := res("b", m{"after": "⟦a.color⟧"})
	b.deploy(graph(res("a", m{"color": "red"}), user))
	b.lose()
	g := graph(res("a", m{"color": "blue"}), user)
	p := b.plan(g)
	if got := actions(p); got != "a:recover b:recover" {
		t.Fatalf("plan: %s", got)
	}
	after := slices.IndexFunc(lineOf(t, p, "b").Reasons, func(r engine.Reason) bool { return r.Path == tree.Path("after") && r.Unknown })
	if after < 0 {
		t.Errorf("the update of b is not announced: %s", reasons(p))
	}
	b.deploy(g)
	b.settled(g)
}

// TestOutputsArePlanned: an output that deploying would change is part of the plan, of whether anything is pending, and of
// its document, and is masked where it is secret.
func TestOutputsArePlanned(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}))
	changes := func(outputs map[string]any) string {
		g.Outputs = outputs
		var texts []string
		p := b.saved(b.plan(g))
		for _, c := range p.OutputChanges {
			texts = append(texts, fmt.Sprintf("%s: %v → %v", c.Name, c.Have, c.Want))
		}
		if p.Pending() != (len(texts) > 0) || p.Summary.OutputsChanged != len(texts) {
			t.Errorf("pending %t with %q", p.Pending(), texts)
		}
		return strings.Join(texts, "; ")
	}
	b.deploy(g)
	for _, c := range []struct {
		outputs map[string]any
		want    string
	}{
		{m{"color": "⟦a.color⟧", "text": "one"}, "color: <nil> → red; text: <nil> → one"},
		{m{"color": "⟦a.color⟧", "text": "two"}, "text: one → two"},
		{m{"text": "two"}, "color: red → <nil>"},
		{m{"text": "two"}, ""},
	} {
		if got := changes(c.outputs); got != c.want {
			t.Errorf("%v: %q, want %q", c.outputs, got, c.want)
		}
		b.deploy(g)
		b.settled(g)
	}
	b.e.Secret = func(context.Context, string, engine.SecretSource) (string, error) { return "hush", nil }
	g.Secrets = map[string]engine.SecretSource{"word": {Env: "WORD"}}
	if got := changes(m{"text": "⟦secret:word⟧"}); strings.Contains(got, "hush") || !strings.Contains(got, reconcile.Mask) {
		t.Errorf("a secret: %q", got)
	}
}

// TestOnlyWhatWasAnnouncedIsDone: between a plan and its application somebody changes what the plan does not mention. The
// resource stops, and the others go on, for a saved plan and for one that is applied at once.
func TestOnlyWhatWasAnnouncedIsDone(t *testing.T) {
	changes := map[string]func(*thing){
		"a path that is not announced":       func(x *thing) { x.Peer = "somebody's" },
		"a third value at an announced path": func(x *thing) { x.Color = "green" },
		"the owner tag":                      func(x *thing) { delete(x.Tags, "athanor:store") },
		"a tag of somebody":                  func(x *thing) { x.Tags["team"] = "payments" },
		"nothing can change it in place":     func(x *thing) { x.Shape = "square" },
	}
	for name, change := range changes {
		for _, saved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, saved %t", name, saved), func(t *testing.T) {
				b := newBench(t)
				b.deploy(graph(res("a", m{"color": "red"}), res("b", m{"color": "red"}), res("u", m{"after": "⟦a.color⟧"}), res("k", m{})))
				g := graph(res("a", m{"color": "blue"}), res("b", m{"color": "blue"}), res("u", m{"after": "⟦a.color⟧"}), res("k", m{}))
				p := b.plan(g)
				if saved {
					p = b.saved(p)
				}
				change(b.world.of("a")[0])
				change(b.world.of("k")[0]) // announced as unchanged: it is neither read nor touched
				before, kept := *b.world.of("a")[0], *b.world.of("k")[0]
				before.Tags, kept.Tags = maps.Clone(before.Tags), maps.Clone(kept.Tags)
				r, err := b.give(p, g)
				if err != nil {
					t.Fatal(err)
				}
				if r.Summary.Failed != 1 || r.Summary.Blocked != 1 || r.Summary.Updated != 1 || r.Summary.Unchanged != 1 || !errors.Is(r.Failures[0], operation.ErrChanged) {
					t.Errorf("%+v %s", r.Summary, failures(r))
				}
				if hints := reconcile.Hints(r.Failures[0]); len(hints) == 0 || !strings.Contains(hints[0], "plan again") {
					t.Errorf("hints %q", hints)
				}
				if now := *b.world.of("a")[0]; !reflect.DeepEqual(now, before) {
					t.Errorf("a was changed: %+v, it was %+v", now, before)
				}
				if now := *b.world.of("k")[0]; !reflect.DeepEqual(now, kept) {
					t.Errorf("k was changed: %+v, it was %+v", now, kept)
				}
				b.deploy(g)
				b.settled(g)
			})
		}
	}
}
