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

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
