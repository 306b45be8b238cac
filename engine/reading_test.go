package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// TestReading: a plan says of each resource that its read begins and ends, and how many it reads: what is declared, what is no
// longer, and of what is in state alone nothing.
func TestReading(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(graph(res("a", m{}), res("b", m{}), res("old", m{})))
	var mu sync.Mutex
	var seen []string
	total := 0
	b.e.Reading = func(r engine.Reading) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(r.Address, " ", r.Kind, " ", r.Done))
		total = r.Total
	}
	p := b.plan(graph(res("a", m{}), res("b", m{})))
	slices.Sort(seen)
	seen = slices.Compact(seen)
	want := []string{
		"a world.Thing false", "a world.Thing true", "b world.Thing false", "b world.Thing true", "old world.Thing false", "old world.Thing true",
	}
	if !slices.Equal(seen, want) || total != 3 {
		t.Errorf("read %s of %d, want %s of 3", strings.Join(seen, ", "), total, strings.Join(want, ", "))
	}
	if engine.Reads(p) < 3 {
		t.Errorf("%d calls that read", engine.Reads(p))
	}
}
