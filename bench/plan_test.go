//go:build unix

package bench_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/seal"
)

const (
	layer = 100
	edges = 5
)

// mesh is n values in layers: each but those of the first refers to five of the first and comes after one of the layer
// before. Were the five of that layer too, values would grow fivefold with each.
func mesh(n int) *engine.Graph {
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "bench", Stage: stageName}
	for i := range n {
		input := []any{fmt.Sprintf("value-%d", i)}
		r := engine.Resource{Address: fmt.Sprintf("r%d", i), Kind: "local.Value"}
		if i >= layer {
			for k := range edges {
				input = append(input, fmt.Sprintf("⟦r%d.output[0]⟧", (i*7+k*13)%layer))
			}
			r.Options.DependsOn = []string{fmt.Sprintf("r%d", i-layer)}
		}
		r.Props = map[string]any{"input": input}
		g.Resources = append(g.Resources, r)
	}
	return g
}

func newEngine(t testing.TB) *engine.Engine {
	t.Helper()
	dir := t.TempDir()
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	store, err := bolt.Open(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.LoadOrMake(filepath.Join(dir, "key"), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	return &engine.Engine{Catalog: catalog, Store: store, Key: key}
}

// used is the processor time of this process so far, of the garbage collector too.
func used(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestMesh proves that the graph which is planned is the one that the benchmark says.
func TestMesh(t *testing.T) {
	e, g := newEngine(t), mesh(3*layer)
	p, err := e.Plan(t.Context(), g, engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Summary.Created != 3*layer {
		t.Errorf("plan: %+v", p.Summary)
	}
	for _, a := range p.Actions {
		if a.Address == fmt.Sprintf("r%d", 3*layer-1) && len(a.Needs) != edges+1 {
			t.Errorf("%s needs %v", a.Address, a.Needs)
		}
	}
}

// BenchmarkPlan is planning in process, of resources with five references each: all new, and all there and unchanged.
// Nothing is read but the record; values know themselves.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{sized(10_000), sized(100_000)} {
		for _, deployed := range []bool{false, true} {
			name := map[bool]string{false: "new", true: "unchanged"}[deployed]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { benchmarkPlan(b, n, deployed) })
		}
	}
}

func benchmarkPlan(b *testing.B, n int, deployed bool) {
	e, g := newEngine(b), mesh(n)
	if deployed {
		p, err := e.Plan(b.Context(), g, engine.PlanOptions{})
		if err == nil {
			_, err = e.Apply(b.Context(), p, engine.ApplyOptions{Command: "deploy"})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	var spent time.Duration
	for b.Loop() {
		before := used(b)
		p, err := e.Plan(b.Context(), g, engine.PlanOptions{})
		if err != nil {
			b.Fatal(err)
		}
		spent += used(b) - before
		if p.Pending() == deployed || len(p.Actions) != n {
			b.Fatalf("plan: %+v", p.Summary)
		}
	}
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms")
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N)/float64(n), "cpu-µs/resource")
}
