package simtest_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestEnumerationIsDeterministic: two enumerations of the proof name the same lines in the same order, on one processor
// and on two, and no line twice. With -proof=full it takes all cells of the matrix.
func TestEnumerationIsDeterministic(t *testing.T) {
	enumerate := func(processors int, d depth, all []*scenario) [][]string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		keys := make([][]string, len(all))
		for i, sc := range all {
			add := func(it item) bool {
				keys[i] = append(keys[i], it.key)
				return true
			}
			if d == whole {
				sc.enumerate(t, d, add)
			} else {
				sc.lines(t, d, sc.inBubble(t, point{}, nil), add)
			}
		}
		return keys
	}
	agree := func(d depth, all []*scenario) {
		first := enumerate(1, d, all)
		for i, again := range enumerate(2, d, all) {
			if !slices.Equal(first[i], again) {
				t.Errorf("%s: the lines were\n%q\nand are\n%q", all[i].name, first[i], again)
			}
		}
		keys := slices.Sorted(slices.Values(slices.Concat(first...)))
		if once := slices.Compact(slices.Clone(keys)); len(once) != len(keys) {
			t.Errorf("%d of %d lines are repeated", len(keys)-len(once), len(keys))
		}
	}
	all, n := append(scenarios(), matrix()...), 0
	if *proofFlag == "" { // cells are made alike: one in eight every night, and every third of what that leaves every day
		all = slices.DeleteFunc(all, func(sc *scenario) bool {
			n++
			return sc.cell && hashed(sc.name)%8 != 0 || !proctest.Played(n, 3)
		})
	}
	agree(single, all)
	agree(whole, slices.DeleteFunc(scenarios(), func(sc *scenario) bool {
		return !slices.Contains([]string{"delete a cycle", "delete with its parent", "update slowly"}, sc.name)
	}))
}
