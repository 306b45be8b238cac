//go:build unix

package engine_test

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestPlanIsLinear holds planning to a cost that grows with the graph and no faster. It goes by the processor time of this
// process: what else runs on the machine counts little.
func TestPlanIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	took := func(n int) time.Duration {
		b, g := newBench(t), mesh(n)
		best := time.Duration(math.MaxInt64)
		for range 3 {
			runtime.GC()
			since := processorTime(t)
			b.plan(g)
			best = min(best, processorTime(t)-since)
		}
		return best
	}
	small, large := took(1000), took(16_000)
	if large > 64*small {
		t.Errorf("1,000 take %s, 16,000 take %s", small, large)
	}
}

// TestMemoryIsLinear holds what every command allocates for a resource to the same however many there are, and to so many bytes.
func TestMemoryIsLinear(t *testing.T) {
	const small, large = 1000, 8000
	perResource := func(n int) (bytes map[string]uint64) {
		b, g := newBench(t), mesh(n)
		bytes = map[string]uint64{}
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"plan", func() { b.plan(g) }},
			{"deploy", func() { b.deploy(g) }},
			{"plan again", func() { b.plan(g) }},
			{"plan of half", func() { half := *g; half.Resources = half.Resources[:n/2]; b.plan(&half) }},
			{"destroy", func() { b.destroy() }},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			step.do()
			runtime.ReadMemStats(&after)
			bytes[step.name] = (after.TotalAlloc - before.TotalAlloc) / uint64(n)
		}
		return bytes
	}
	most := map[string]uint64{"plan": 4700, "deploy": 23_500, "plan again": 9300, "plan of half": 8500, "destroy": 23_000}
	few, many := perResource(small), perResource(large)
	for name := range few {
		if many[name] > few[name]*3/2 {
			t.Errorf("%s: %d bytes for each of %d resources, and %d for each of %d", name, few[name], small, many[name], large)
		}
		if many[name] > most[name] {
			t.Errorf("%s: %d bytes for each resource, at most %d", name, many[name], most[name])
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
