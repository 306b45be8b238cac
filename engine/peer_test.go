package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// neighbours are stores by name, whose stages are all sealed with keys of one secret.
type neighbours struct {
	t      *testing.T
	dir    string
	stores map[string]statestore.Store
	asked  int
}

func (n *neighbours) Open(_ context.Context, name string) (statestore.Store, error) {
	n.asked++
	if s := n.stores[name]; s != nil {
		return s, nil
	}
	return nil, errors.New("no such store")
}

func (n *neighbours) Key(stage statestore.Stage, id string) (*seal.Key, error) {
	return seal.Load(seal.Place{Config: n.dir, Stack: stage.Stack, Stage: stage.Name}, id)
}

// neighbour deploys another stack with some outputs.
func (n *neighbours) neighbour(b *bench, store, stack, stage string, outputs m) {
	n.t.Helper()
	key, err := seal.LoadOrMake(n.dir, stack, stage)
	if err != nil {
		n.t.Fatal(err)
	}
	e := &engine.Engine{Catalog: b.e.Catalog, Store: n.stores[store], Key: key}
	g := &engine.Graph{
		Format: engine.GraphFormat, Stack: stack, Stage: stage, Outputs: outputs,
		Secrets:   map[string]engine.SecretSource{"pw": {Env: "NEIGHBOUR_PW"}},
		Resources: []engine.Resource{kind("Note", res("note", m{"text": stack}))},
	}
	p, err := e.Plan(n.t.Context(), g, engine.PlanOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := e.Apply(n.t.Context(), p, engine.ApplyOptions{Command: "deploy"}); err != nil {
		n.t.Fatal(err)
	}
}

func newNeighbours(t *testing.T, b *bench) *neighbours {
	t.Setenv("NEIGHBOUR_PW", "s3cr3t-of-the-neighbour")
	n := &neighbours{t: t, dir: t.TempDir(), stores: map[string]statestore.Store{"": b.store, "bolt:other": mem.New()}}
	b.e.Peers = n
	return n
}

// out is the token of another stack's output.
func out(stack, stage, store, path string) string {
	return token.Plain.Output(token.Stack{Name: stack, Stage: stage, Store: store}, tree.Path(path), false)
}

// TestOutputsOfOtherStacks: they are known at plan, whole and in parts, and nothing changes while they do not.
func TestOutputsOfOtherStacks(t *testing.T) {
	b := newBench(t)
	n := newNeighbours(t, b)
	n.neighbour(b, "", "network", "test", m{"color": "red", "zones": []any{"x", "y"}, "deep": m{"shape": "round"}})
	n.neighbour(b, "bolt:other", "base", "prod", m{"peer": "p"})
	g := graph(res("a", m{"color": out("network", "test", "", "color"), "shape": out("network", "test", "", "deep.shape"), "peer": "-" + out("base", "prod", "bolt:other", "peer")}))
	g.Outputs = m{"zone": out("network", "test", "", "zones[1]")}

	n.asked = 0
	p := b.plan(g)
	if got := reasons(p); !strings.Contains(got, "a.color: <nil> → red") || !strings.Contains(got, "a.peer: <nil> → -p") || strings.Contains(got, "${") {
		t.Errorf("plan: %s", got)
	}
	if n.asked != 2 {
		t.Errorf("stores were opened %d times, want each once", n.asked)
	}
	r := b.deploy(g)
	if r.Outputs["zone"] != "y" {
		t.Errorf("outputs %v", r.Outputs)
	}
	b.settled(g)

	n.neighbour(b, "", "network", "test", m{"color": "red", "zones": []any{"x", "z"}, "deep": m{"shape": "round"}})
	if p := b.plan(g); actions(p) != "a:unchanged" || len(p.OutputChanges) != 1 || p.OutputChanges[0].Want != "z" {
		t.Errorf("only the output has changed: %s %s %+v", actions(p), reasons(p), p.OutputChanges)
	}
	n.neighbour(b, "", "network", "test", m{"color": "blue", "zones": []any{"x", "z"}, "deep": m{"shape": "round"}})
	if p := b.plan(g); actions(p) != "a:update" || p.Actions[0].Reasons[0].Source != engine.ByProgram {
		t.Errorf("changed: %s %s", actions(p), reasons(p))
	}
}

// TestSecretOutputsStaySecret: what was secret there is masked here.
func TestSecretOutputsStaySecret(t *testing.T) {
	b := newBench(t)
	n := newNeighbours(t, b)
	n.neighbour(b, "", "network", "test", m{"pw": "⟦secret:pw⟧", "open": "x"})
	g := graph(res("a", m{"color": "pw=" + out("network", "test", "", "pw")}))
	g.Outputs = m{"again": out("network", "test", "", "pw")}
	p := b.plan(g)
	doc, err := json.Marshal(p)
	if err != nil || strings.Contains(string(doc), "s3cr3t") || !p.Actions[0].Reasons[0].Secret {
		t.Errorf("%v %s", err, doc)
	}
	if r := b.deploy(g); !r.Secret["again"] || r.Outputs["again"] != "s3cr3t-of-the-neighbour" {
		t.Errorf("outputs %v, secret %v", r.Outputs, r.Secret)
	}
	b.settled(g)
}

func TestMissingOutputsOfOtherStacks(t *testing.T) {
	b := newBench(t)
	n := newNeighbours(t, b)
	n.neighbour(b, "", "network", "prod", m{"color": "red"})
	n.neighbour(b, "", "empty", "test", nil)
	b.deploy(graph(res("own", m{})))
	for _, c := range []struct {
		stack, stage, store, path string
		missing                   error
		says, hint                string
		known                     []string
	}{
		{stack: "netwrk", stage: "prod", path: "color", missing: values.ErrNoStack, says: `a: color: no stack "netwrk" has state in this store`, hint: "did you mean network?", known: []string{"empty", "network", "shop"}},
		{stack: "network", stage: "test", path: "color", missing: values.ErrNoStage, says: `stack network has no stage "test" with state`, hint: "there is prod", known: []string{"prod"}},
		{stack: "network", stage: "prod", path: "colour", missing: values.ErrNoOutput, says: `network/prod has no output "colour"`, hint: "did you mean color?", known: []string{"color"}},
		{stack: "network", stage: "prod", path: "color.deep", missing: values.ErrNoOutput, says: `network/prod has no output "color.deep"`, known: []string{"color"}},
		{stack: "empty", stage: "test", path: "color", missing: values.ErrNoOutput, says: `empty/test has no output "color"`, hint: "deploy that stack first", known: []string{}},
		{stack: "network", stage: "prod", store: "bolt:other", path: "color", missing: values.ErrNoStack, says: "in bolt:other", known: nil},
		{stack: "network", stage: "prod", store: "bolt:none", path: "color", says: "no such store"},
		{stack: "shop", stage: "test", path: "color", says: "cannot refer to its own outputs"},
	} {
		t.Run(c.says, func(t *testing.T) {
			g := graph(res("a", m{"color": out(c.stack, c.stage, c.store, c.path)}))
			g.Resources[0].Source = "main.go:7"
			_, err := b.e.Plan(t.Context(), g, b.opts)
			problems, ok := errors.AsType[*engine.GraphError](err)
			if !ok || !strings.Contains(err.Error(), c.says) || problems.Problems[0].Source != "main.go:7" {
				t.Fatalf("%v, want %s", err, c.says)
			}
			if c.missing == nil {
				return
			}
			missing, ok := errors.AsType[*engine.PeerError](err)
			if !ok || !errors.Is(err, c.missing) || !slices.Equal(missing.Known, c.known) || !strings.Contains(missing.Hint(), c.hint) {
				t.Errorf("%v: known %v, hint %q", err, missing.Known, missing.Hint())
			}
		})
	}

	t.Run("another key", func(t *testing.T) {
		n.dir = t.TempDir()
		_, err := b.e.Plan(t.Context(), graph(res("a", m{"color": out("network", "prod", "", "color")})), b.opts)
		if !errors.Is(err, seal.ErrKey) || !strings.Contains(err.Error(), "network/prod: the stage key") {
			t.Errorf("%v", err)
		}
	})
}

// TestSavedPlanNoticesOtherStacks: a saved plan is held to the outputs that it was made with.
func TestSavedPlanNoticesOtherStacks(t *testing.T) {
	b := newBench(t)
	n := newNeighbours(t, b)
	n.neighbour(b, "", "network", "test", m{"color": "red", "other": "1"})
	g := graph(res("a", m{"color": out("network", "test", "", "color")}))
	saved := b.saved(b.plan(g))
	n.neighbour(b, "", "network", "test", m{"color": "red", "other": "2"})
	if _, err := b.give(saved, g); err != nil {
		t.Fatalf("an output that is not used: %v", err)
	}
	g.Resources[0].Props["shape"] = "round"
	saved = b.saved(b.plan(g))
	n.neighbour(b, "", "network", "test", m{"color": "blue", "other": "2"})
	_, err := b.give(saved, g)
	if stale, ok := errors.AsType[*engine.StaleError](err); !ok || !slices.Equal(stale.Moved, []string{"the output network/test.color"}) {
		t.Errorf("%v %v", err, reconcile.Hints(err))
	}
}
