package simtest_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// devs are dev sessions, which plan narrowly and delete nothing that deploy made.
func devs() []scenario {
	here := engine.PlanOptions{Dev: &engine.Dev{Here: true, Narrow: true}}
	own := engine.PlanOptions{Dev: &engine.Dev{Narrow: true}}
	a := func(color string) engine.Resource { return res("Named", "a", m{"color": color}) }
	b := res("Named", "b", m{"after": "⟦a.id⟧"})
	users := []engine.Resource{b, res("Revises", "r", m{"after": "⟦b.id⟧", "color": "⟦a.color⟧"}), res("Named", "d", m{"after": "⟦r.revision⟧"})}
	both := was(a("red"), b, res("Assigned", "c", m{"after": "⟦b.id⟧"}))
	return []scenario{
		{
			name: "dev on what deploy made", opts: here, setup: both,
			do:    deploy(a("blue"), res("Named", "n", m{"after": "⟦a.id⟧"})),
			watch: keepsAll("a", "b", "c"), notLost: limitDev,
		},
		{
			name: "dev gives up what deploy made and cannot change", opts: here, setup: append(both, deployedIn(here, graph(a("red"), b, res("Named", "n", m{})))),
			do:    deploy(a("red")),
			watch: keepsAll("a", "b", "c"), notLost: limitDev,
		},
		{
			name: "dev changes one of many", opts: own, setup: []move{deployedIn(own, graph(append(users, a("red"))...))},
			do: deploy(append(users, a("blue"))...), notLost: limitDev,
		},
	}
}

// limitDev says why a dev session is not played without its record: the name of the stage decides then whose the finds
// are, which the engine's tests show.
const limitDev = "what dev finds without a record is its own by the name of the stage alone"

// deployedIn is deployed with options.
func deployedIn(opts engine.PlanOptions, g *engine.Graph) move {
	do := deployed(g)
	return func(ctx context.Context, s *simtest.Sim) error {
		before := s.Opts
		s.Opts = opts
		defer func() { s.Opts = before }()
		return do(ctx, s)
	}
}

// keepsAll watches that what these addresses had is still there.
func keepsAll(addresses ...string) func(*simtest.Sim, *simtest.Report) string {
	return func(s *simtest.Sim, _ *simtest.Report) string {
		for _, addr := range addresses {
			if !slices.ContainsFunc(s.Cloud.Objects(), func(o simtest.Object) bool { return o.Owner.Address == addr }) {
				return fmt.Sprintf("%s is gone", addr)
			}
		}
		return ""
	}
}
