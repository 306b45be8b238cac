//go:build unix

package yamlstack_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
)

// large is a stack of n resources with five props each, every one with a reference.
func large(n int) []byte {
	var b strings.Builder
	b.WriteString("stack: large\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  r%d:\n    kind: test.Queue\n    props:\n      name: thing-%d\n      retries: %d\n      fifo: true\n"+
			"      visibilityTimeout: 90s\n      deadLetter: \"${r%d.arn}\"\n", i, i, i, (i+n-1)%n)
	}
	return []byte(b.String())
}

func BenchmarkLoad10000(b *testing.B) {
	data, c := large(10_000), catalog(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := yamlstack.Load(b.Context(), c, yamlstack.Input{Path: "/s/athanor.yaml", Data: data, Stage: "dev"}); err != nil {
			b.Fatal(err)
		}
	}
}

// A stack that is ten times as large costs ten times as much of the processor and of memory. What a step costs that is
// quadratic would be a hundred times as much; the clock says nothing on a machine that does much else, and is for the
// benchmark.
func TestLargeStack(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand resources")
	}
	c := catalog(t)
	load := func(n int) {
		s, err := yamlstack.Load(t.Context(), c, yamlstack.Input{Path: "/s/athanor.yaml", Data: large(n), Stage: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Graph.Resources) != n {
			t.Fatalf("%d resources, want %d", len(s.Graph.Resources), n)
		}
	}
	load(1_000)
	took, allocated := cost(t, func() {
		for range 10 {
			load(1_000)
		}
	})
	tookAll, allocatedAll := cost(t, func() { load(10_000) })
	t.Logf("ten times 1,000 resources: %v of the processor and %d MiB; 10,000: %v and %d MiB", took, allocated, tookAll, allocatedAll)
	if tookAll > 4*took || allocatedAll > 2*allocated || allocatedAll > 200 {
		t.Errorf("ten times 1,000 resources: %v of the processor and %d MiB; 10,000: %v and %d MiB", took, allocated, tookAll, allocatedAll)
	}
}

// cost is what this process uses of the processor, and allocates in MiB, while something is done.
func cost(t *testing.T, do func()) (time.Duration, uint64) {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := used()
	do()
	took := used() - began
	runtime.ReadMemStats(&after)
	return took, (after.TotalAlloc - before.TotalAlloc) >> 20
}
