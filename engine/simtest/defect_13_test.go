package simtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// A begun creation is one that a run was cut in: the program that began it, the event of its creation, and what else was
// deployed before. Each of then is a program that follows, by what its author did.
type begunCreation struct {
	name  string
	setup []move
	began *engine.Graph
	event string
	then  map[string]*engine.Graph
	// unwaited: the next command comes while reads may not show the creation yet.
	unwaited bool
	notLost  string
}

// begunCreations are those of each way in which a kind's objects are found.
func begunCreations() []begunCreation {
	p, q := res("Named", "p", m{}), res("Named", "q", m{})
	child := func(parent, size string) engine.Resource {
		return res("Child", "x", m{"parent": "⟦" + parent + ".id⟧", "size": size})
	}
	larger := res("Named", "p", m{"size": "l"})
	pot := func(kind, name, color string) engine.Resource { return res(kind, "x", m{"name": name, "color": color}) }
	sized := func(kind, size string, o ...func(*engine.Options)) engine.Resource {
		return res(kind, "x", m{"size": size}, o...)
	}
	renamed := func(r engine.Resource) engine.Resource {
		r.Address, r.Options.RenamedFrom = "n", []string{"x"}
		return r
	}
	return []begunCreation{
		{
			name: "a child", setup: was(p, q), began: graph(p, q, child("p", "one")), event: "create x/1", notLost: limitUnnamed,
			then: map[string]*engine.Graph{
				"same": graph(p, q, child("p", "one")), "edited": graph(p, q, child("p", "two")), "moved to another parent": graph(p, q, child("q", "one")),
				"its parent is replaced": graph(larger, q, child("p", "one")), "removed": graph(p, q), "renamed": graph(p, q, renamed(child("p", "one"))),
				"renamed and edited": graph(p, q, renamed(child("p", "two"))), "of another kind": graph(p, q, res("Named", "x", m{})),
				"removed with its parent": graph(q), "painted": graph(p, q, res("Child", "x", m{"parent": "⟦p.id⟧", "size": "one", "color": "red"})),
			},
		},
		{
			name: "a given name", began: graph(pot("Named", "pot", "red")), event: "create x/1",
			then: map[string]*engine.Graph{
				"same": graph(pot("Named", "pot", "red")), "edited": graph(pot("Named", "pan", "red")), "painted": graph(pot("Named", "pot", "blue")),
				"its name is generated": graph(res("Named", "x", m{"color": "red"})), "removed": graph(p), "renamed": graph(renamed(pot("Named", "pot", "red"))),
				"renamed and edited": graph(renamed(pot("Named", "pan", "red"))), "of another kind": graph(res("Assigned", "x", m{"color": "red"})),
				"elsewhere": graph(in("south", pot("Named", "pot", "red"))),
			},
		},
		{
			name: "a generated name", began: graph(sized("Named", "s")), event: "create x/1",
			then: map[string]*engine.Graph{
				"same": graph(sized("Named", "s")), "edited": graph(sized("Named", "l")), "its name is given": graph(pot("Named", "pot", "red")),
				"removed": graph(p), "renamed": graph(renamed(sized("Named", "s"))), "renamed and edited": graph(renamed(sized("Named", "l"))),
				"of another kind": graph(sized("Assigned", "s")), "elsewhere": graph(in("south", sized("Named", "s"))),
				"without tags": graph(sized("Plain", "s")),
			},
		},
		{
			name: "a generated name without tags", began: graph(sized("Plain", "s")), event: "create x/1", notLost: limitUnnamed,
			then: map[string]*engine.Graph{
				"same": graph(sized("Plain", "s")), "edited": graph(sized("Plain", "l")), "its name is given": graph(pot("Plain", "pot", "red")),
				"removed": graph(p), "renamed": graph(renamed(sized("Plain", "s"))), "of another kind": graph(sized("Named", "s")),
				"elsewhere": graph(in("south", sized("Plain", "s"))),
			},
		},
		{
			name: "an assigned identity", began: graph(sized("Assigned", "s")), event: "create x/1",
			then: map[string]*engine.Graph{
				"same": graph(sized("Assigned", "s")), "edited": graph(sized("Assigned", "l")), "deleted first": graph(sized("Assigned", "l", deleteFirst)),
				"removed": graph(p), "renamed": graph(renamed(sized("Assigned", "s"))), "renamed and edited": graph(renamed(sized("Assigned", "l"))),
				"of another kind": graph(sized("Named", "s")), "elsewhere": graph(in("south", sized("Assigned", "s"))),
			},
		},
		{
			name: "a client token", began: graph(sized("Token", "s")), event: "create x/1", unwaited: true, notLost: limitAssigned,
			then: map[string]*engine.Graph{
				"same": graph(sized("Token", "s")), "edited": graph(sized("Token", "l")), "removed": graph(p),
				"renamed": graph(renamed(sized("Token", "s"))), "of another kind": graph(sized("Named", "s")),
			},
		},
		{
			name: "equal content", began: graph(pot("Same", "pot", "red")), event: "create x/1", notLost: limitUnnamed,
			then: map[string]*engine.Graph{
				"same": graph(pot("Same", "pot", "red")), "edited": graph(pot("Same", "pan", "red")), "painted": graph(pot("Same", "pot", "blue")),
				"edited and painted": graph(pot("Same", "pan", "blue")), "removed": graph(p), "renamed": graph(renamed(pot("Same", "pot", "red"))),
				"renamed and painted": graph(renamed(pot("Same", "pot", "blue"))), "of another kind": graph(res("Assigned", "x", m{})),
				"elsewhere": graph(in("south", pot("Same", "pot", "red"))),
			},
		},
		{
			name: "a given name under stale reads", began: graph(pot("Stale", "pot", "red")), event: "create x/1", unwaited: true, notLost: limitStale,
			then: map[string]*engine.Graph{
				"same": graph(pot("Stale", "pot", "red")), "edited": graph(pot("Stale", "pan", "red")), "painted": graph(pot("Stale", "pot", "blue")),
				"removed": graph(p), "renamed and edited": graph(renamed(pot("Stale", "pan", "red"))), "of another kind": graph(res("Assigned", "x", m{})),
				"elsewhere": graph(in("south", pot("Stale", "pot", "red"))),
			},
		},
		{
			name: "an assigned identity under stale reads", began: graph(sized("StaleAssigned", "s")), event: "create x/1", unwaited: true, notLost: limitAssigned,
			then: map[string]*engine.Graph{
				"edited": graph(sized("StaleAssigned", "l")), "removed": graph(p), "renamed": graph(renamed(sized("StaleAssigned", "s"))),
				"of another kind": graph(sized("Named", "s")), "elsewhere": graph(in("south", sized("StaleAssigned", "s"))),
			},
		},
		{
			name: "a child's next one", setup: was(p, q, child("p", "one")), began: graph(p, q, child("p", "two")), event: "create x/2", notLost: limitUnnamed,
			then: map[string]*engine.Graph{
				"same": graph(p, q, child("p", "two")), "edited": graph(p, q, child("p", "three")), "moved to another parent": graph(p, q, child("q", "one")),
				"reverted": graph(p, q, child("p", "one")), "removed": graph(p, q), "renamed and edited": graph(p, q, renamed(child("p", "three"))),
				"of another kind": graph(p, q, res("Named", "x", m{})), "its parent is replaced": graph(larger, q, child("p", "three")),
			},
		},
		{
			name: "a given name's next one", setup: was(pot("Named", "pot", "red")), began: graph(pot("Named", "pan", "red")), event: "create x/2",
			then: map[string]*engine.Graph{
				"same": graph(pot("Named", "pan", "red")), "edited": graph(pot("Named", "pen", "red")), "reverted": graph(pot("Named", "pot", "red")),
				"removed": graph(p), "renamed": graph(renamed(pot("Named", "pan", "red"))), "renamed and edited": graph(renamed(pot("Named", "pen", "red"))),
				"of another kind": graph(res("Assigned", "x", m{})), "elsewhere": graph(in("south", pot("Named", "pan", "red"))),
			},
		},
		{
			name: "an assigned identity's next one", setup: was(sized("Assigned", "s")), began: graph(sized("Assigned", "m")), event: "create x/2",
			then: map[string]*engine.Graph{
				"same": graph(sized("Assigned", "m")), "edited": graph(sized("Assigned", "l")), "reverted": graph(sized("Assigned", "s")), "removed": graph(p),
				"renamed": graph(renamed(sized("Assigned", "m"))), "renamed and edited": graph(renamed(sized("Assigned", "l"))),
				"renamed and reverted": graph(renamed(sized("Assigned", "s"))), "of another kind": graph(sized("Named", "s")),
				"elsewhere": graph(in("south", sized("Assigned", "m"))),
			},
		},
		{
			name: "equal content's next one", setup: was(pot("Same", "pot", "red")), began: graph(pot("Same", "pan", "red")), event: "create x/2", notLost: limitUnnamed,
			then: map[string]*engine.Graph{
				"same": graph(pot("Same", "pan", "red")), "edited": graph(pot("Same", "pen", "red")), "painted": graph(pot("Same", "pan", "blue")),
				"reverted": graph(pot("Same", "pot", "red")), "removed": graph(p), "elsewhere": graph(in("south", pot("Same", "pan", "red"))),
			},
		},
	}
}

// cutShort deploys a program that meets these faults, and lets no time go by.
func cutShort(g *engine.Graph, faults map[string]simtest.Outcome) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		if r := s.Run(ctx, simtest.Command{Graph: g}, faults); !r.Hit {
			return fmt.Errorf("it met none of %v, but %v", faults, r.Events)
		}
		return nil
	}
}

// endOf leads in peace to where a program that follows must end. What carries no tags keeps the address that it was made
// for when it is renamed, so that a rename comes after an undisturbed creation.
func (b *begunCreation) endOf(then string, cut simtest.Outcome) move {
	if !strings.HasPrefix(then, "renamed") || cut == simtest.BeforeSend && strings.HasSuffix(b.event, "/1") {
		return deployed(b.then[then])
	}
	return func(ctx context.Context, s *simtest.Sim) error {
		for _, do := range append(slices.Clone(b.setup), deployed(b.began), deployed(b.then[then])) {
			if err := do(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// soonAfter: a run that comes while reads may not show the last one's writes has to wait for them, and records what it waited
// for. That the last one met a refusal and ended well all the same is not told apart from that.
func soonAfter(_ string, o simtest.Outcome, _ bool) string {
	if o == simtest.Deny || o == simtest.Hang {
		return limitStale
	}
	return ""
}

// givenNameBegun: an intent, a given name and no owner tag do not tell who made what is there.
func givenNameBegun(event string, o simtest.Outcome, _ bool) string {
	made := o == simtest.AnswerLost || o == simtest.NotStored || o == simtest.Swallow || o == simtest.Severed
	unrecorded := strings.HasPrefix(event, "commit x:c") && !strings.Contains(event, "!") && (o == simtest.BeforeSend || o == simtest.Severed)
	if made && strings.HasPrefix(event, "create ") || unrecorded {
		return limitGiven
	}
	return ""
}

// intents has a scenario for each begun creation, each of these ways to cut it, and each command that follows.
func intents(cuts ...simtest.Outcome) []scenario {
	var all []scenario
	for _, b := range begunCreations() {
		for _, cut := range cuts {
			short := met(b.began, once(b.event, cut))
			if b.unwaited {
				short = cutShort(b.began, once(b.event, cut))
			}
			begun := slices.Concat(b.setup, []move{short})
			name := fmt.Sprintf("%s begun, %s, ", b.name, cut)
			for _, then := range slices.Sorted(maps.Keys(b.then)) {
				sc := scenario{name: name + then, setup: begun, do: simtest.Command{Graph: b.then[then]}, cell: true, notLost: b.notLost, ends: b.endOf(then, cut)}
				if then == "elsewhere" {
					sc.notLost = limitPlace
				}
				switch {
				case b.unwaited:
					sc.limit = soonAfter
				case b.name == "a generated name without tags" && then == "its name is given":
					sc.notLost, sc.limit = limitGiven, givenNameBegun
				}
				all = append(all, sc)
			}
			nothing := func(context.Context, *simtest.Sim) error { return nil }
			all = append(all,
				scenario{name: name + "destroyed", setup: begun, do: simtest.Command{Destroy: true, Program: b.began}, cell: true, notLost: b.notLost, ends: nothing},
				scenario{name: name + "destroyed without a program", setup: begun, do: simtest.Command{Destroy: true}, cell: true, notLost: limitNowhere, ends: nothing})
		}
	}
	return all
}

// TestDefect13: what a cut run began is found by the identity that it began with, whatever the next command is.
func TestDefect13(t *testing.T) {
	all := intents(simtest.BeforeSend, simtest.AnswerLost, simtest.NotStored)
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) { all[i].endsWell(t) })
	}
}

// endsWell plays a scenario in peace.
func (sc *scenario) endsWell(t *testing.T) {
	t.Helper()
	ref := sc.inBubble(t, point{}, nil)
	wrong := ref.wrong
	if sc.ends != nil {
		wrong = append(wrong, sc.endsAlike(t, ref).wrong...)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
