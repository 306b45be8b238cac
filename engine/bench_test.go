package engine_test

import (
	"fmt"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// chain is n notes, each needing the one before.
func chain(n int) *engine.Graph {
	g := graph()
	for i := range n {
		text := "start"
		if i > 0 {
			text = fmt.Sprintf("⟦n%d.text⟧", i-1)
		}
		g.Resources = append(g.Resources, kind("Note", res(fmt.Sprintf("n%d", i), m{"text": text})))
	}
	return g
}

// mesh is n notes in layers of a hundred. Each refers to five of the first layer and comes after one of the layer
// before; were the five of that layer too, texts would grow fivefold with each.
func mesh(n int) *engine.Graph {
	g := graph()
	for i := range n {
		r := kind("Note", res(fmt.Sprintf("n%d", i), nil))
		text := fmt.Sprintf("t%d", i)
		if i >= 100 {
			for k := range 5 {
				text += fmt.Sprintf(" ⟦n%d.text⟧", (i*7+k*13)%100)
			}
			r.Options.DependsOn = []string{fmt.Sprintf("n%d", i-100)}
		}
		r.Props = m{"text": text}
		g.Resources = append(g.Resources, r)
	}
	return g
}

func TestChainCostsACommitEach(t *testing.T) {
	const n = 40
	b := newBench(t)
	g := chain(n)
	g.Outputs = m{"last": fmt.Sprintf("⟦n%d.text⟧", n-1)}
	r := b.deploy(g)
	if r.Commits > n+2 || r.Summary.Created != n {
		t.Errorf("%d commits for %d", r.Commits, n)
	}
	b.settled(g)
	// Independent ones share commits.
	wide := graph()
	for i := range 200 {
		wide.Resources = append(wide.Resources, kind("Note", res(fmt.Sprintf("w%d", i), m{"text": "x"})))
	}
	c := newBench(t)
	if r := c.deploy(wide); r.Commits > 202 || len(r.Failures) > 0 {
		t.Errorf("%d commits", r.Commits)
	}
}

func benchmarkPlan(b *testing.B, n int, deployed bool) {
	g := mesh(n)
	w := newBench(b)
	if deployed {
		w.deploy(g)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := w.plan(g); len(p.Actions) != n {
			b.Fatal(len(p.Actions))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/plan")
}

func BenchmarkPlanNew1000(b *testing.B)        { benchmarkPlan(b, 1000, false) }
func BenchmarkPlanNew10000(b *testing.B)       { benchmarkPlan(b, 10_000, false) }
func BenchmarkPlanUnchanged10000(b *testing.B) { benchmarkPlan(b, 10_000, true) }
func BenchmarkPlanNew100000(b *testing.B)      { benchmarkPlan(b, 100_000, false) }

func BenchmarkDeployChain100(b *testing.B) {
	for b.Loop() {
		w := newBench(b)
		w.deploy(chain(100))
	}
}
