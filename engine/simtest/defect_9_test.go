package simtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// without goes on with a binary that lacks a kind.
func without(kind string) move {
	return func(_ context.Context, s *simtest.Sim) error { return s.Without(kind) }
}

// allKinds goes on with a binary that knows all kinds again, when the others are done: those that are of this color or
// deleted.
func allKinds(color string) move {
	return func(_ context.Context, s *simtest.Sim) error {
		left := 0
		for _, o := range s.Cloud.Objects() {
			if o.Owner.Address == "a" {
				left++
			}
			if o.Owner.Address == "a" && o.Fields["color"] != color {
				return fmt.Errorf("the others are not done: %s", s.Cloud)
			}
		}
		if (left > 0) != (color != "") {
			return fmt.Errorf("the others are not done: %s", s.Cloud)
		}
		return s.Without("")
	}
}

// unknownKinds are about entries of a kind that the binary lacks: everything else is done, and once it knows the kind again,
// that too.
func unknownKinds() []scenario {
	base, old, a := res("Named", "base", m{}), res("Plain", "old", m{"after": "⟦base.id⟧"}), res("Named", "a", m{"color": "red"})
	blue, b := res("Named", "a", m{"color": "blue"}), res("Named", "b", m{"after": "⟦a.id⟧"})
	was := func(more ...move) []move { return append([]move{deployed(graph(base, old, a))}, more...) }
	return []scenario{
		{name: "deploy beside an entry of a kind that is not known", setup: was(without("sim.Plain")), do: deploy(base, blue, b), fails: true, lift: allKinds("blue"), notLost: limitUnnamed},
		{name: "delete what an entry of a kind that is not known needs", setup: was(without("sim.Plain")), do: deploy(blue, b), fails: true, lift: allKinds("blue"), notLost: limitUnnamed},
		{name: "destroy with an entry of a kind that is not known", setup: was(without("sim.Plain")), do: simtest.Command{Destroy: true, Program: graph(base, blue, b)}, fails: true, lift: allKinds(""), notLost: limitUnnamed},
		{name: "another kind in place of one that is not known", setup: was(without("sim.Plain")), do: deploy(base, res("Named", "old", m{}), blue, b), fails: true, lift: allKinds("blue"), notLost: limitUnnamed},
	}
}

// TestAnUnknownKindStopsNobodyElse: the others are done, with what the entry is about shown, by every command.
func TestAnUnknownKindStopsNobodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		do   simtest.Command
		left []string // of base, old, a, b
	}{
		"deploy":  {deploy(res("Named", "base", m{}), res("Named", "a", m{"color": "blue"}), res("Named", "b", m{})), []string{"a blue", "b ", "base ", "old "}},
		"delete":  {deploy(res("Named", "a", m{"color": "blue"})), []string{"a blue", "base ", "old "}},
		"replace": {deploy(res("Named", "base", m{}), res("Named", "a", m{"color": "blue"}), res("Named", "old", m{}), res("Named", "b", m{"after": "⟦old.id⟧"})), []string{"a blue", "base ", "old "}},
		"destroy": {simtest.Command{Destroy: true}, []string{"base ", "old "}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t)
				first := graph(res("Named", "base", m{}), res("Plain", "old", m{"after": "⟦base.id⟧"}), res("Named", "a", m{"color": "red"}))
				for _, do := range []move{deployed(first), without("sim.Plain")} {
					if err := do(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				r := s.Run(t.Context(), c.do, nil)
				if r.Err != nil || !r.Failed() {
					t.Fatalf("%v, %+v", r.Err, r.Result)
				}
				var left []string
				for _, o := range s.Cloud.Objects() {
					left = append(left, o.Owner.Address+" "+o.Fields["color"])
				}
				if slices.Sort(left); !slices.Equal(left, c.left) {
					t.Errorf("there are %q, want %q", left, c.left)
				}
				i := slices.IndexFunc(r.Plan.Actions, func(a engine.Planned) bool { return a.Address == "old" })
				if i < 0 {
					t.Fatalf("the plan says nothing of it: %s", planText(r.Plan))
				}
				if a := r.Plan.Actions[i]; a.Action != engine.Blocked || !strings.HasPrefix(a.Identity, "sim:shop-test-old") || a.Hint == "" {
					t.Errorf("the plan says %+v", a)
				}
			})
		})
	}
}
