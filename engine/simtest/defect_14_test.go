package simtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// emptyIntents has a scenario for each command that follows a replacement which deletes first and was cut before the new
// object's creation began: the state entry holds an intent with nothing to look for. It is cut at each of these events.
func emptyIntents(cuts ...string) []scenario {
	p := res("Named", "p", m{})
	var all []scenario
	for _, kind := range []string{"Named", "Plain", "Assigned", "Child", "Same", "Reuse", "Stale"} {
		x := func(size string) engine.Resource {
			props := m{"size": size}
			switch kind {
			case "Child":
				props["parent"] = "⟦p.id⟧"
			case "Same":
				props["name"] = "pot"
			}
			return res(kind, "x", props, deleteFirst)
		}
		renamed := x("l")
		renamed.Address, renamed.Options.RenamedFrom = "n", []string{"x"}
		other := res("Quota", "x", m{})
		then := map[string]*engine.Graph{
			"same": graph(p, x("l")), "reverted": graph(p, x("s")), "edited": graph(p, x("xl")), "removed": graph(p), "renamed": graph(p, renamed),
			"of another kind": graph(p, other), "elsewhere": graph(p, in("south", x("l"))),
		}
		if kind == "Child" {
			delete(then, "elsewhere") // a child is where its parent is
		}
		for _, event := range cuts {
			outcome := simtest.AfterStore
			if event == "create x/2" {
				outcome = simtest.NotApplied
			}
			begun := append(was(p, x("s")), met(graph(p, x("l")), once(event, outcome)))
			name := fmt.Sprintf("sim.%s deleted first, and cut at %s, ", kind, event)
			for _, command := range slices.Sorted(maps.Keys(then)) {
				all = append(all, scenario{
					name: name + command, setup: begun, do: simtest.Command{Graph: then[command]}, cell: true, notLost: limitUnnamed, ends: deployed(then[command]),
				})
			}
			nothing := func(context.Context, *simtest.Sim) error { return nil }
			all = append(all,
				scenario{name: name + "destroyed", setup: begun, do: simtest.Command{Destroy: true, Program: graph(p, x("l"))}, cell: true, notLost: limitUnnamed, ends: nothing},
				scenario{name: name + "destroyed without a program", setup: begun, do: simtest.Command{Destroy: true}, cell: true, notLost: limitNowhere, ends: nothing})
		}
	}
	return all
}

// TestDefect14: an intent with nothing to look for means that nothing is there.
func TestDefect14(t *testing.T) {
	all := emptyIntents("commit x:c2!", "create x/2")
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) { all[i].endsWell(t) })
	}
}
