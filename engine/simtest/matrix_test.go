package simtest_test

import (
	"context"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// matrix has a scenario for each state that a row can be in, each command, and each way in which the program may have
// changed meanwhile.
func matrix() []*scenario {
	a := func(color, size string, o ...func(*engine.Options)) engine.Resource {
		return res("Named", "a", m{"color": color, "size": size}, o...)
	}
	b := res("Named", "b", m{"after": "⟦a.id⟧"})
	first, larger := graph(a("red", "s"), b), graph(a("red", "m"), b)
	begun := func(event string, o simtest.Outcome) []move {
		return []move{deployed(first), met(larger, once(event, o))}
	}
	// The identity of what is as declared at once reaches state with its result: a read that is refused is what keeps
	// it apart.
	kept := func(commit string) map[string]simtest.Outcome {
		return map[string]simtest.Outcome{"read a #2": simtest.Throttle, commit: simtest.AfterStore}
	}
	states := map[string][]move{
		"no row":                  nil,
		"intent":                  {met(first, once("create a/1", simtest.BeforeSend))},
		"intent, made":            {met(first, once("create a/1", simtest.AnswerLost))},
		"candidate":               {met(first, kept("commit a:c1"))},
		"live":                    {deployed(first)},
		"live and intent":         begun("create a/2", simtest.BeforeSend),
		"live and made":           begun("create a/2", simtest.NotStored),
		"live and candidate":      {deployed(first), met(larger, kept("commit a:l1:c2"))},
		"live and condemned":      begun("commit a:c1:l2", simtest.AfterStore),
		"condemned":               {deployed(first), met(graph(res("Named", "b", m{"after": "none"})), once("commit a:c1", simtest.AfterStore))},
		"condemned and gone":      {deployed(first), met(graph(res("Named", "b", m{"after": "none"})), once("delete a "+nameOfA, simtest.AnswerLost))},
		"intent after a deletion": {deployed(graph(a("red", "s", deleteFirst), b)), met(graph(a("red", "m", deleteFirst), b), once("create a/2", simtest.BeforeSend))},
		"live, gone":              {deployed(first), removed("a")},
		"live, edited":            {deployed(first), edited("a", func(o *simtest.Object) { o.Fields["color"] = "green" })},
	}
	programs := map[string]*engine.Graph{
		"same": larger, "reverted": first, "changed": graph(a("blue", "m"), b), "replaced": graph(a("red", "l"), b),
		"removed": graph(res("Named", "b", m{"after": "none"})),
	}
	var all []*scenario
	for _, state := range slices.Sorted(maps.Keys(states)) {
		for _, program := range slices.Sorted(maps.Keys(programs)) {
			name := state + ", " + program
			g := programs[program]
			all = append(all,
				&scenario{name: "deploy: " + name, setup: states[state], do: simtest.Command{Graph: g}, large: true, cell: true, ends: deployed(g)},
				&scenario{name: "destroy: " + name, setup: states[state], do: simtest.Command{Destroy: true, Program: g}, large: true, cell: true, ends: func(context.Context, *simtest.Sim) error { return nil }},
				&scenario{name: "plan: " + name, setup: states[state], do: simtest.Command{Graph: g, PlanOnly: true}, cell: true},
			)
		}
	}
	return all
}

// nameOfA is the generated identity of a.
const nameOfA = "sim:shop-test-a-ierxqq3v"
