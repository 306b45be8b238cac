package yamlstack_test

import (
	"fmt"
	"runtime"
	"strings"
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

// The bounds are far above what is measured, so that a busy machine does not fail them, and far below what a
// step that is not linear would take.
func TestLargeStack(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand resources")
	}
	data, c := large(10_000), catalog(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	s, err := yamlstack.Load(t.Context(), c, yamlstack.Input{Path: "/s/athanor.yaml", Data: data, Stage: "dev"})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Graph.Resources) != 10_000 {
		t.Fatalf("%d resources", len(s.Graph.Resources))
	}
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("10,000 resources in %v, %d MiB allocated in all", took, allocated)
	if took > 3*time.Second || allocated > 200 {
		t.Errorf("took %v and %d MiB", took, allocated)
	}
}
