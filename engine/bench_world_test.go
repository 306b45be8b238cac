package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// bench is an engine on a world and a store.
type bench struct {
	t     testing.TB
	world *world
	store statestore.Store
	e     *engine.Engine
	opts  engine.PlanOptions
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, world: newWorld(), store: mem.New()}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	catalog, err := reconcile.NewCatalog(b.world.provider(), b.world.machine())
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := seal.LoadOrMake(b.t.TempDir(), "shop", "test")
	if b.e != nil {
		key = b.e.Key
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.e = &engine.Engine{Catalog: catalog, Store: b.store, Key: key}
}

// lose makes a new, empty store, as if the file had been deleted.
func (b *bench) lose() {
	b.store = mem.New()
	b.e.Store, b.e.Known = b.store, true
}

func graph(resources ...engine.Resource) *engine.Graph {
	return &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Resources: resources}
}

func res(addr string, props map[string]any, change ...func(*engine.Options)) engine.Resource {
	r := engine.Resource{Address: addr, Kind: "world.Thing", Props: props}
	for _, c := range change {
		c(&r.Options)
	}
	return r
}

type m = map[string]any

func (b *bench) plan(g *engine.Graph) *engine.Plan {
	b.t.Helper()
	p, err := b.e.Plan(b.t.Context(), g, b.opts)
	if err != nil {
		b.t.Fatalf("plan: %v", err)
	}
	return p
}

func (b *bench) deploy(g *engine.Graph) *engine.Result {
	b.t.Helper()
	p := b.plan(g)
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if err != nil {
		b.t.Fatalf("deploy: %v", err)
	}
	return r
}

func (b *bench) destroy() *engine.Result {
	b.t.Helper()
	p, err := b.e.PlanDestroy(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, nil, b.opts)
	if err != nil {
		b.t.Fatalf("plan destroy: %v", err)
	}
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "destroy"})
	if err != nil {
		b.t.Fatalf("destroy: %v", err)
	}
	return r
}

// actions prints a plan as address:action, in order.
func actions(p *engine.Plan) string {
	var s []string
	for _, a := range p.Actions {
		text := a.Address + ":" + string(a.Action)
		if a.May {
			text += "?"
		}
		s = append(s, text)
	}
	return strings.Join(s, " ")
}

func (b *bench) settled(g *engine.Graph) {
	b.t.Helper()
	b.world.takeLog()
	if p := b.plan(g); p.Pending() {
		b.t.Errorf("still pending: %s: %s", actions(p), reasons(p))
	}
	r := b.deploy(g)
	if log := b.world.takeLog(); len(log) > 0 || r.Calls.Mutations > 0 || r.Commits > 0 || r.Run != "" {
		b.t.Errorf("a second deploy wrote %v, %d commits", log, r.Commits)
	}
}

func reasons(p *engine.Plan) string {
	var s []string
	for _, a := range p.Actions {
		for _, r := range a.Reasons {
			s = append(s, fmt.Sprintf("%s.%s: %v → %v (%s)", a.Address, r.Path, r.Have, r.Want, r.Source))
		}
		if a.Problem != "" {
			s = append(s, a.Address+": "+a.Problem)
		}
	}
	return strings.Join(s, "; ")
}
