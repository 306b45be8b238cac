package simtest_test

import (
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine/simtest"
)

// inBubble plays a point in time of its own.
func (sc *scenario) inBubble(t *testing.T, p point, want *outcome) (out *outcome) {
	synctest.Test(t, func(t *testing.T) {
		out = sc.play(t.Context(), p, want)
	})
	return out
}

// points are all ways to disturb a scenario once, in the order of its events.
func (sc *scenario) points(ref *outcome) []point {
	var all []point
	add := func(e simtest.Event, o simtest.Outcome, lost bool) {
		if lost && sc.notLost != "" || sc.limit != nil && sc.limit(e.Name, o, lost) != "" {
			return
		}
		all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, o)}, lost: lost})
	}
	for _, e := range ref.first.Events {
		for _, o := range simtest.Cuts(e) {
			add(e, o, false)
			add(e, o, true)
		}
		for _, o := range simtest.Faults(e) {
			add(e, o, false)
		}
	}
	return all
}

func TestEveryPoint(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			ref := sc.inBubble(t, point{}, nil)
			if len(ref.wrong) > 0 {
				t.Fatal(ref.wrong)
			}
			bad := 0
			all := sc.points(ref)
			for _, p := range all {
				out := sc.inBubble(t, p, ref)
				if len(out.wrong) > 0 {
					bad++
					if bad <= 3 {
						t.Errorf("%s: %s\nplan: %s\nthen: %v", p, out.wrong, planText(out.last.Plan), out.last.Events)
					}
				}
			}
			t.Logf("%d points, %d bad", len(all), bad)
		})
	}
}
