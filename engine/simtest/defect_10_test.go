package simtest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// builtCycles are about cycles of what is made from files: to be deleted they are opened without a build, and whatever else
// differs is left alone.
func builtCycles() []scenario {
	ring := []engine.Resource{res("Built", "a", m{"peer": "⟦b.id⟧", "code": "a.ts", "size": "s"}), res("Built", "b", m{"peer": "⟦a.id⟧", "code": "b.ts"})}
	mixed := []engine.Resource{res("Built", "a", m{"peer": "⟦b.id⟧", "code": "a.ts"}), res("Named", "b", m{"after": "⟦a.id⟧"})}
	k := res("Named", "k", m{})
	destroy := func(program []engine.Resource) simtest.Command {
		return simtest.Command{Destroy: true, Program: graph(program...)}
	}
	larger := edited("a", func(o *simtest.Object) { o.Fields["size"] = "l" })
	painted := edited("a", func(o *simtest.Object) { o.Fields["color"] = "green" })
	return []scenario{
		{name: "create a cycle of what is built", do: deploy(ring...)},
		{name: "destroy a cycle of what is built", setup: was(ring...), do: destroy(ring)},
		{name: "destroy a cycle of what is built and what is not", setup: was(mixed...), do: destroy(mixed)},
		{name: "delete a cycle of what is built", setup: was(append(ring, k)...), do: deploy(k)},
		{name: "destroy a cycle that drifted where nothing can change in place", setup: append(was(ring...), larger), do: destroy(ring)},
		{name: "destroy a cycle that drifted", setup: append(was(ring...), painted), do: destroy(ring), watch: func(s *simtest.Sim, _ *simtest.Report) string {
			for _, e := range s.Cloud.Effects() {
				if e.Op == "set color" {
					return "it was painted before it was deleted"
				}
			}
			return ""
		}},
	}
}

// TestDestroyBuildsNothing is about a destroy with the state and without it.
func TestDestroyBuildsNothing(t *testing.T) {
	program := graph(res("Built", "a", m{"peer": "⟦b.id⟧", "code": "a.ts"}), res("Built", "b", m{"peer": "⟦a.id⟧", "code": "b.ts"}))
	for name, before := range map[string][]move{"with its state": nil, "without": {lost}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t)
				for _, do := range append([]move{deployed(program)}, before...) {
					if err := do(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				built := s.Cloud.Builds()
				if r := s.Run(t.Context(), simtest.Command{Destroy: true, Program: program}, nil); r.Failed() {
					t.Errorf("destroy: %v", failure(r))
				}
				if more := s.Cloud.Builds() - built; more != 0 {
					t.Errorf("%d builds", more)
				}
				if left := s.Cloud.String(); left != "" {
					t.Errorf("left: %s", left)
				}
			})
		})
	}
}

// TestAStuckCycleSaysWhyFirst: the events name the cause before what cannot be done because of it.
func TestAStuckCycleSaysWhyFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program := graph(res("Named", "a", m{"peer": "⟦b.id⟧"}), res("Named", "b", m{"peer": "⟦a.id⟧"}))
		s := newSim(t)
		if err := deployed(program)(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var told []engine.Event
		s.Events = func(e engine.Event) {
			if e.Type == engine.EventDone {
				told = append(told, e)
			}
		}
		r := s.Run(t.Context(), simtest.Command{Destroy: true, Program: program}, map[string]simtest.Outcome{"set peer a/1": simtest.Deny, "set peer b/1": simtest.Deny})
		if !r.Failed() || len(told) == 0 {
			t.Fatalf("it went well: %+v", r.Result)
		}
		if first := told[0]; first.Status != engine.StatusFailed || first.Error == "" {
			t.Errorf("first it says %+v", first)
		}
		for _, e := range told[1:] {
			if e.Status == engine.StatusDone {
				t.Errorf("it says that %s is done", e.Address)
			}
		}
		if r := s.Run(context.WithoutCancel(t.Context()), simtest.Command{Destroy: true, Program: program}, nil); r.Failed() {
			t.Errorf("once more: %v", failure(r))
		}
	})
}
