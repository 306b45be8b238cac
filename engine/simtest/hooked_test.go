package simtest_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// withHooks gives a resource a command before and one after it.
func withHooks(o *engine.Options) {
	o.Before, o.After = []engine.Hook{{Run: "before"}}, []engine.Hook{{Run: "after"}}
}

// hooked are scenarios in which commands of the author run around the work on a resource.
func hooked() []scenario {
	a, b := res("Named", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})
	blue, large := res("Named", "a", m{"color": "blue"}, withHooks), res("Named", "a", m{"size": "l"}, withHooks)
	peer := edited("a", func(o *simtest.Object) { o.Fields["peer"] = "somebody's" })
	return []scenario{
		{name: "hooks, and another path changed after the plan", setup: append(was(a, b), tooLate(graph(blue, b), false, peer)), do: deploy(blue, b)},
		{name: "hooks, and another path changed after the plan was saved", setup: append(was(a, b), tooLate(graph(blue, b), true, peer)), do: deploy(blue, b)},
		{name: "hooks, and somebody did it after the plan", setup: append(was(a, b), doneMeanwhile(graph(blue, b))), do: deploy(blue, b)},
		{name: "hooks around a replacement", setup: was(res("Named", "a", m{"size": "s"}), b), do: deploy(large, b)},
	}
}

// doneMeanwhile applies a plan that changes a, after somebody else has made that change: nothing is left to do, and no hook runs.
func doneMeanwhile(g *engine.Graph) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		planned := s.Run(ctx, simtest.Command{Graph: g, PlanOnly: true}, nil)
		if planned.Err != nil {
			return planned.Err
		}
		s.Cloud.Edit(simtest.ByAddress("a"), func(o *simtest.Object) { o.Fields["color"] = "blue" })
		before := len(s.Hooks)
		if r := s.Run(ctx, simtest.Command{Graph: g, Saved: planned.Plan}, nil); r.Failed() {
			return fmt.Errorf("the run fails: %w", failure(r))
		}
		if ran := s.Hooks[before:]; slices.Contains(ran, "a") {
			return fmt.Errorf("hooks of %v ran, and nothing was to be done", ran)
		}
		return nil
	}
}
