package simtest_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// shape of a random program: what each address is, and what it refers to.
type sketch struct {
	kinds  []string
	colors []int
	sizes  []int
	refs   []int    // the address before it that it refers to, -1 for none
	via    []string // through which prop
	gone   []bool
}

// drawSketch makes a program of up to six resources that refer to earlier ones.
func drawSketch(t *rapid.T) *sketch {
	s := &sketch{}
	for i := range rapid.IntRange(1, 6).Draw(t, "resources") {
		s.kinds = append(s.kinds, rapid.SampledFrom([]string{"Named", "Named", "Plain", "Assigned", "Slow", "Stale", "Revises", "Paged"}).Draw(t, "kind"))
		s.colors = append(s.colors, rapid.IntRange(0, 2).Draw(t, "color"))
		s.sizes = append(s.sizes, rapid.IntRange(0, 1).Draw(t, "size"))
		s.refs = append(s.refs, rapid.IntRange(-1, i-1).Draw(t, "refers to"))
		s.via = append(s.via, rapid.SampledFrom([]string{"after", "base", "peer"}).Draw(t, "through"))
		s.gone = append(s.gone, false)
	}
	return s
}

// edit changes a program as people do.
func (s *sketch) edit(t *rapid.T) *sketch {
	e := &sketch{slices.Clone(s.kinds), slices.Clone(s.colors), slices.Clone(s.sizes), slices.Clone(s.refs), slices.Clone(s.via), slices.Clone(s.gone)}
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		i := rapid.IntRange(0, len(e.kinds)-1).Draw(t, "of")
		switch rapid.SampledFrom([]string{"color", "size", "remove", "ref", "kind"}).Draw(t, "edit") {
		case "color":
			e.colors[i] = (e.colors[i] + 1) % 3
		case "size":
			e.sizes[i] = 1 - e.sizes[i]
		case "remove":
			e.gone[i] = !e.gone[i]
		case "ref":
			e.refs[i] = rapid.IntRange(-1, i-1).Draw(t, "refers to")
		case "kind":
			if e.kinds[i] == "Named" {
				e.kinds[i] = "Assigned"
			} else {
				e.kinds[i] = "Named"
			}
		}
	}
	return e
}

// graph is the sketch as a program. What refers to something that is deleted refers to nothing.
func (s *sketch) graph() *engine.Graph {
	var all []engine.Resource
	for i, kind := range s.kinds {
		if s.gone[i] {
			continue
		}
		props := m{"color": fmt.Sprint("c", s.colors[i]), "size": fmt.Sprint("s", s.sizes[i])}
		if to := s.refs[i]; to >= 0 && !s.gone[to] {
			attr := "id"
			if s.kinds[to] == "Revises" && s.via[i] != "base" {
				attr = "revision"
			}
			props[s.via[i]] = fmt.Sprintf("⟦r%d.%s⟧", to, attr)
		}
		all = append(all, res(kind, fmt.Sprint("r", i), props))
	}
	return graph(all...)
}

// TestRandomStacks: whatever the program, the edits and the faults, one run in peace makes it so, the next has nothing to do,
// and a destroy leaves nothing.
func TestRandomStacks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := drawSketch(r)
		second := first.edit(r)
		sc := &scenario{name: "random", setup: []move{deployed(first.graph())}, do: simtest.Command{Graph: second.graph()}}
		ref := sc.inBubble(t, point{}, nil)
		if len(ref.wrong) > 0 {
			r.Fatalf("in peace: %s\n%s", ref.wrong, planText(ref.first.Plan))
		}
		events := slices.DeleteFunc(slices.Clone(ref.first.Events), func(e simtest.Event) bool { return len(simtest.Cuts(e)) == 0 })
		if len(events) == 0 {
			return
		}
		e := rapid.SampledFrom(events).Draw(r, "event")
		p := point{runs: []map[string]simtest.Outcome{once(e.Name, rapid.SampledFrom(slices.Concat(simtest.Cuts(e), simtest.Faults(e))).Draw(r, "outcome"))}}
		if next := sc.inBubble(t, p, ref); next.next != nil && rapid.Bool().Draw(r, "twice") {
			if again := slices.DeleteFunc(next.next.Events, func(e simtest.Event) bool { return len(simtest.Cuts(e)) == 0 }); len(again) > 0 {
				e := rapid.SampledFrom(again).Draw(r, "event of the second run")
				p.runs = append(p.runs, once(e.Name, rapid.SampledFrom(simtest.Cuts(e)).Draw(r, "outcome of the second run")))
			}
		}
		out := sc.inBubble(t, p, ref)
		if len(out.wrong) > 0 {
			r.Fatalf("%s: %s\n%s", p, out.wrong, planText(ref.first.Plan))
		}
		gone := &scenario{name: "random, gone", setup: []move{deployed(first.graph()), deployed(second.graph())}, do: simtest.Command{Destroy: true}}
		if end := gone.inBubble(t, point{}, nil); len(end.wrong) > 0 || end.shape != "" {
			r.Fatalf("destroyed: %s %s", end.shape, end.wrong)
		}
	})
}
