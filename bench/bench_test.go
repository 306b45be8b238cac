package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/bench/opentofu"
)

// TestPhases takes a small stack of each shape through its life, with what each phase must cost whatever the machine.
func TestPhases(t *testing.T) {
	const n = 20
	for _, shape := range []opentofu.Shape{opentofu.Flat, opentofu.Chain, opentofu.Fan, opentofu.DAG} {
		t.Run(string(shape), func(t *testing.T) {
			s := newOurs(t, shape, n)
			for _, p := range phases() {
				if err := s.prepare(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				r, err := s.run(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if r.Wall <= 0 || r.CPU <= 0 || r.PeakRSS <= 0 || runtime.GOOS == "linux" && r.PeakAnon <= 0 {
					t.Errorf("%s: not measured: %+v", p.name, r.Cost)
				}
				if err := affordable(p, shape, n, r); err != nil {
					t.Error(err)
				}
				if size, err := s.StateSize(); err != nil || size > 200_000 {
					t.Errorf("%s: a state file of %d bytes, %v", p.name, size, err)
				}
			}
		})
	}
}

// affordable holds a run to the counts that do not depend on the machine.
func affordable(p phase, shape opentofu.Shape, n int, r bench.Run) error {
	most := n + 2
	if p.name == "again" {
		most = 0
	}
	if p.name == "one" && shape == opentofu.Flat {
		most = 3
	}
	if r.Commits > most {
		return fmt.Errorf("%s of %s %d: %d commits, at most %d", p.name, shape, n, r.Commits, most)
	}
	return nil
}

// BenchmarkStack is each phase of a stack's life as a whole process, every commit durable. Of stacks for which OpenTofu
// needs minutes, ours alone is measured. Each number is the median of so many rounds, whatever -benchtime is.
func BenchmarkStack(b *testing.B) {
	for _, size := range []struct {
		shape  opentofu.Shape
		n      int
		rounds int
		alone  bool
	}{
		{opentofu.Flat, 1000, 3, false},
		{opentofu.DAG, 1000, 3, false},
		{opentofu.Fan, 1000, 3, false},
		{opentofu.Chain, 500, 3, false},
		{opentofu.Flat, 10_000, 1, false},
		{opentofu.DAG, 10_000, 3, true},
		{opentofu.Fan, 10_000, 3, true},
		{opentofu.Flat, 100_000, 1, true},
	} {
		n := sized(size.n)
		b.Run(fmt.Sprintf("%s/%d", size.shape, n), func(b *testing.B) {
			tofu, err := opentofu.Find("..")
			if err != nil {
				b.Log("no ratios: ", err)
			}
			if size.alone {
				tofu = ""
			}
			us, them := newOurs(b, size.shape, n), newTheirs(b, tofu, size.shape, n)
			for _, p := range phases() {
				b.Run(p.name, func(b *testing.B) { benchmarkPhase(b, p, size.shape, size.rounds, us, them) })
			}
		})
	}
}

func benchmarkPhase(b *testing.B, p phase, shape opentofu.Shape, rounds int, us, them *stage) {
	var our, their series
	measured := func(s *stage, into *series) {
		if err := s.prepare(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		r, err := s.run(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		if p.name == "deploy" && s.first == 0 {
			if s.first, err = s.StateSize(); err != nil {
				b.Fatal(err)
			}
		}
		*into = append(*into, r)
	}
	for b.Loop() {
		for range rounds {
			if them != nil {
				measured(them, &their)
			}
			measured(us, &our)
			if err := affordable(p, shape, us.n, our[len(our)-1]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the cost of measuring is in it
	b.ReportMetric(our.median(wall), "ms")
	b.ReportMetric(our.median(cpu), "cpu-ms")
	b.ReportMetric(our.median(memory), "MiB")
	b.ReportMetric(our.median(anon), "anon-MiB")
	if p.counted != nil {
		b.ReportMetric(our.median(commits), "commits")
		b.ReportMetric(our.median(calls), "calls")
	}
	if p.name == "deploy" {
		reportSizes(b, us, them)
	}
	if them != nil {
		b.ReportMetric(their.median(wall)/our.median(wall), "tofu/ms")
		b.ReportMetric(their.median(cpu)/our.median(cpu), "tofu/cpu-ms")
		b.ReportMetric(their.median(memory)/our.median(memory), "tofu/MiB")
		b.ReportMetric(their.median(anon)/our.median(anon), "tofu/anon-MiB")
		b.ReportMetric(their.median(wall), "tofu-ms")
	}
}

// reportSizes tells how large the state files were after the first deploy, and how large ours is now, with its earlier versions.
func reportSizes(b *testing.B, us, them *stage) {
	kept, err := us.StateSize()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(us.first)/1000, "file-KB")
	b.ReportMetric(float64(kept)/1000, "kept-KB")
	if them != nil {
		b.ReportMetric(float64(them.first)/float64(us.first), "tofu/file")
	}
}

// BenchmarkStart is from the start of the process to its end, which comes after its first output.
func BenchmarkStart(b *testing.B) {
	const yaml = "stack: tiny\nresources:\n  hello: {kind: local.Value, props: {input: hello}}\n"
	for _, args := range [][]string{{"version"}, {"plan", "--stage", stageName}} {
		b.Run(args[0], func(b *testing.B) {
			s, err := bench.New(built(b), b.TempDir(), opentofu.Flat, 1)
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Dir, "athanor.yaml"), []byte(yaml), 0o600); err != nil {
				b.Fatal(err)
			}
			var runs series
			for b.Loop() {
				cost, err := s.Command(b.Context(), args...)
				if err != nil && cost.Exit != 2 { // changes are pending
					b.Fatal(err)
				}
				runs = append(runs, bench.Run{Cost: cost})
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(runs.median(wall), "ms")
			b.ReportMetric(runs.median(cpu), "cpu-ms")
			b.ReportMetric(runs.median(memory), "MiB")
			b.ReportMetric(runs.median(anon), "anon-MiB")
		})
	}
}
