//go:build unix

package athanor_test

import (
	"syscall"
	"testing"
	"time"
)

// Ten thousand declarations take as much of the processor as ten times a thousand, where a step that is quadratic would
// take ten times as much. The clock is for BenchmarkDeclare10000.
func TestTenThousandDeclarations(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand resources")
	}
	declare := func(n int) {
		if g := mustEvaluate(t, declarations(n)); len(g.Resources) != n {
			t.Errorf("%d resources, want %d", len(g.Resources), n)
		}
	}
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	declare(1_000)
	began := used()
	for range 10 {
		declare(1_000)
	}
	took := used() - began
	began = used()
	declare(10_000)
	tookAll := used() - began
	t.Logf("of the processor: ten times 1,000 declarations %v, 10,000 %v", took, tookAll)
	if tookAll > 4*took {
		t.Errorf("of the processor: ten times 1,000 declarations %v, 10,000 %v", took, tookAll)
	}
}
