package durations_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func learned(samples map[string]time.Duration) durations.Table {
	var run durations.Taken
	for kind, d := range samples {
		run.Add(kind, "create", d)
	}
	t, _ := durations.Table(nil).With(&run)
	return t
}

// TestRanks: a rank is the longest expected time to the end, of a kind that nobody timed the first one counts as long, and what
// waits for itself has none.
func TestRanks(t *testing.T) {
	known := learned(map[string]time.Duration{"fast": time.Second, "long": time.Hour})
	work := []durations.Work{
		{Kind: "fast", Operation: "create", Address: "a", After: []int{1, 2}},
		{Kind: "fast", Operation: "create", Address: "b"},
		{Kind: "long", Operation: "delete", Address: "c"}, // as its creation
		{Kind: "new", Operation: "create", Address: "z"},
		{Kind: "new", Operation: "create", Address: "y"},
		{Kind: "fast", Operation: "create", Address: "x", After: []int{6}},
		{Kind: "fast", Operation: "create", Address: "w", After: []int{5}},
	}
	want := []time.Duration{time.Hour + time.Second, time.Second, time.Hour, time.Second, time.Minute, 0, 0}
	if got := durations.Ranks(work, known); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTable: a table is the same after it was written and read, and changes halfway to what a run shows.
func TestTable(t *testing.T) {
	known := learned(map[string]time.Duration{"a": 1500 * time.Millisecond, "b": 400 * time.Microsecond, "c": 1e6 * time.Hour})
	v, err := tree.Decode(tree.Canonical(known.Tree()))
	if err != nil {
		t.Fatal(err)
	}
	read := durations.Of(v)
	if !maps.EqualFunc(known, read, maps.Equal[map[string]time.Duration, map[string]time.Duration]) {
		t.Errorf("%v was read as %v", known, read)
	}
	if read["c"]["create"] != 24*time.Hour {
		t.Errorf("a time without bounds: %v", read["c"])
	}
	for _, c := range []struct {
		took, want time.Duration
		differs    bool
	}{{1600 * time.Millisecond, 1550 * time.Millisecond, false}, {3 * time.Second, 2250 * time.Millisecond, true}} {
		var run durations.Taken
		run.Add("a", "create", c.took)
		run.Add("a", "create", c.took)
		next, differs := read.With(&run)
		if next["a"]["create"] != c.want || differs != c.differs || read["a"]["create"] != 1500*time.Millisecond {
			t.Errorf("%v: %v %t", c.took, next["a"], differs)
		}
	}
	if _, differs := read.With(&durations.Taken{}); differs {
		t.Error("a run that did nothing has shown something")
	}
	for _, damaged := range []any{nil, "x", map[string]any{"a": 1}, map[string]any{"a": map[string]any{"create": "x", "delete": int64(-1)}}} {
		if got := durations.Of(damaged); len(got) != 0 {
			t.Errorf("%v was read as %v", damaged, got)
		}
	}
}

// TestPath: what a run waited for ends with what ended last, and goes by what ended last before each.
func TestPath(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	work := []durations.Work{{After: []int{2}}, {After: []int{2, 4}}, {After: []int{4}}, {}, {}}
	if got := durations.Path(work, []time.Time{at(9), at(5), at(12), at(13), at(20)}); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("%v", got)
	}
	if got := durations.Path(work, []time.Time{at(9), {}, {}, at(10), {}}); !slices.Equal(got, []int{3}) {
		t.Errorf("%v of what ended", got)
	}
	if got := durations.Path(nil, nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}
