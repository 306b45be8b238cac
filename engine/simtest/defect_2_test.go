package simtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/reconcile"
)

// forgotten loses the entries of some addresses.
func forgotten(addresses ...string) move {
	return func(ctx context.Context, s *simtest.Sim) error { return s.Forget(ctx, addresses...) }
}

// denied is a destroy without the program one of whose reads is denied.
func denied(event string) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		if r := s.Run(ctx, simtest.Command{Destroy: true}, once(event, simtest.Deny)); !r.Hit || !r.Failed() {
			return fmt.Errorf("%s: met: %v, failed: %v", event, r.Hit, r.Failed())
		}
		return nil
	}
}

// tagged is an object with an owner tag of this stage, which no entry knows.
func tagged(kind, name, address string, generation uint64, store string) move {
	stage := simtest.Stage()
	owner := reconcile.Mark{Stack: stage.Stack, Stage: stage.Name, Address: address, Generation: generation, Store: store}
	return there(simtest.Object{Kind: "sim." + kind, Name: name, Fields: map[string]string{}, Tags: adopt.Tags(owner), Owner: owner})
}

// partlyLost are destroys after a part of the state was lost. They leave what they leave with all of it: nothing.
func partlyLost() []scenario {
	q, q2 := res("Named", "q", m{"color": "red"}), res("Named", "q2", m{"after": "⟦q.id⟧"})
	destroy := func(program ...engine.Resource) simtest.Command {
		return simtest.Command{Destroy: true, Program: graph(program...)}
	}
	parent, child := res("Named", "p", m{}), res("Child", "c", m{"parent": "⟦p.id⟧", "size": "one"})
	ring := []engine.Resource{res("Named", "a", m{"peer": "⟦b.id⟧"}), res("Named", "b", m{"base": "⟦a.id⟧"})}
	with := res("Attached", "q2", m{"parent": "⟦q.id⟧"}, deletedWith("q"))
	const unknowable = "what no program mentions is known by its entry alone"
	return []scenario{
		{name: "destroy with one entry lost", setup: append(was(q, q2), forgotten("q2")), do: destroy(q, q2)},
		{name: "destroy with the only entry lost", setup: append(was(q), forgotten("q")), do: destroy(q)},
		{name: "destroy with an assigned one's entry lost", setup: append(was(q, res("Assigned", "q2", m{"base": "⟦q.id⟧"})), forgotten("q2")), do: destroy(q, res("Assigned", "q2", m{"base": "⟦q.id⟧"}))},
		{name: "destroy with the entry of one without tags lost", setup: append(was(q, res("Plain", "q2", m{"base": "⟦q.id⟧"})), forgotten("q2")), do: destroy(q, res("Plain", "q2", m{"base": "⟦q.id⟧"}))},
		{name: "destroy with a child's entry lost", setup: append(was(parent, child), forgotten("c")), do: destroy(parent, child)},
		{name: "destroy with the entry lost of one that nobody declares", setup: append(was(q, q2), forgotten("q2")), do: destroy(q)},
		{name: "destroy without the program, and one entry lost", setup: append(was(q, q2), forgotten("q2")), do: simtest.Command{Destroy: true}, notLost: limitNowhere},
		{name: "destroy once more, the search was denied", setup: append(was(q, q2), forgotten("q2"), denied("plan read discover ")), do: simtest.Command{Destroy: true}, notLost: limitNowhere},
		{name: "destroy once more, the found one could not be read", setup: append(was(q, q2), forgotten("q2"), denied("plan read ")), do: simtest.Command{Destroy: true}, notLost: limitNowhere},
		{name: "destroy with an entry lost in a cycle", setup: append(was(ring...), forgotten("b", "a")), do: destroy(ring...)},
		{name: "destroy with an entry lost that goes with another", setup: append(was(q, with), forgotten("q2")), do: destroy(q, with)},
		{name: "destroy with a renamed one's entry lost", setup: append(was(q, q2), forgotten("q2")), do: destroy(q, res("Named", "q3", m{"after": "⟦q.id⟧"}, from("q2")))},
		{name: "destroy an older one that no entry knows", setup: append(was(q), tagged("Named", "old", "q", 7, "store")), do: destroy(q), notLost: unknowable},
		{name: "destroy with the entry lost of one that another needs since", setup: append(was(q, res("Named", "u", m{})), forgotten("q"), edited("u", func(o *simtest.Object) { o.Fields["base"] = nameOfQ })), do: destroy(q, res("Named", "u", m{"base": "⟦q.id⟧"}))},
		{name: "destroy in two regions with one entry lost", setup: append(was(in("north", q), in("south", q2)), forgotten("q2")), do: destroy(in("north", q), in("south", q2))},
	}
}

// replacedSince deploys a program and puts the state of before back.
func replacedSince(g *engine.Graph) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		before, err := s.Backup(ctx)
		if err != nil {
			return err
		}
		if err := deployed(g)(ctx, s); err != nil {
			return err
		}
		s.Restore(before)
		return nil
	}
}

// putBack are deploys with a state that was put back to an older one, which its user knows. They leave what they leave with
// the newest: what the program declares.
func putBack() []scenario {
	q, q2 := res("Named", "q", m{"color": "red"}), res("Named", "q2", m{"after": "⟦q.id⟧"})
	larger := res("Named", "q", m{"color": "red", "size": "l"})
	assigned, plain := res("Assigned", "q2", m{"base": "⟦q.id⟧"}), res("Plain", "q2", m{"base": "⟦q.id⟧"})
	box, under := res("Box", "b", m{"size": "s"}), res("Under", "u", m{"parent": "⟦b.id⟧", "size": "one"})
	known := engine.PlanOptions{Incomplete: true}
	return []scenario{
		{name: "put back, one that was removed since", setup: append(was(q, q2), forgotten("q2")), do: deploy(q), opts: known},
		{name: "put back, an assigned one that was removed since", setup: append(was(q, assigned), forgotten("q2")), do: deploy(q), opts: known},
		{name: "put back, one that is declared", setup: append(was(q, q2), forgotten("q2")), do: deploy(q, q2), opts: known},
		{name: "put back, one that was renamed since", setup: append(was(q, q2), forgotten("q2")), do: deploy(q, res("Named", "q3", m{"after": "⟦q.id⟧"}, from("q2"))), opts: known},
		{name: "put back, an older generation", setup: append(was(q), deployed(graph(larger)), tagged("Named", "old", "q", 1, "store")), do: deploy(larger), opts: known, notLost: "an older generation is known by its owner tag alone"},
		{name: "put back, one that was replaced since", setup: append(was(q, q2), replacedSince(graph(larger, q2))), do: deploy(larger, q2), opts: known},
		{name: "put back, one under another that was removed since", setup: append(was(box, under), forgotten("u")), do: deploy(box), opts: known},
		{name: "put back, one without tags that is declared", setup: append(was(q, plain), forgotten("q2")), do: deploy(q, plain), opts: known},
	}
}

// nameOfQ is the generated identity of q.
const nameOfQ = "sim:shop-test-q-v7onxkb6"

// TestDestroyLeavesNothing is about the cloud itself: it is empty, or the destroy has failed and says what is left.
func TestDestroyLeavesNothing(t *testing.T) {
	hidden := func(g *engine.Graph) *engine.Graph {
		g.Secrets = map[string]engine.SecretSource{"s": {Env: "ATHANOR_SIMTEST_IS_NOT_SET"}}
		return g
	}
	q, q2 := res("Named", "q", m{}), res("Plain", "q2", m{"color": "red"})
	secret := res("Plain", "q2", m{"color": "red", "secret": "⟦secret:s⟧"})
	for name, c := range map[string]struct {
		before  []move
		program *engine.Graph
		opts    engine.PlanOptions
		left    []string // addresses
		named   []string // blocked, or refused
	}{
		"a secret is missing":            {before: []move{forgotten("q2")}, program: hidden(graph(q, secret)), left: []string{"q2"}, named: []string{"q2"}},
		"a secret is missing, and known": {program: hidden(graph(q, secret))},
		"a kind is not known":            {before: []move{forgotten("q2"), without("sim.Plain")}, program: graph(q, q2), left: []string{"q2"}, named: []string{"q2"}},
		"another store's":                {before: []move{tagged("Named", "pot", "q9", 1, "other")}, program: graph(q), left: []string{"q", "q2", "q9"}, named: []string{"q9"}},
		"another store's, taken over":    {before: []move{tagged("Named", "pot", "q9", 1, "other")}, program: graph(q), opts: engine.PlanOptions{TakeOver: true}},
		"another store's older one":      {before: []move{tagged("Named", "pot", "q", 7, "other")}, program: graph(q), left: []string{"q", "q", "q2"}, named: []string{"q"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t)
				for _, do := range append([]move{deployed(graph(q, q2))}, c.before...) {
					if err := do(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				s.Opts = c.opts
				r := s.Run(t.Context(), simtest.Command{Destroy: true, Program: c.program}, nil)
				var left []string
				for _, o := range s.Cloud.Objects() {
					left = append(left, o.Owner.Address)
				}
				slices.Sort(left)
				if !slices.Equal(left, c.left) || r.Failed() != (len(c.left) > 0) {
					t.Errorf("left: %v, want %v; %v", left, c.left, r.Err)
				}
				said := planText(r.Plan)
				if r.Err != nil {
					said += r.Err.Error()
				}
				for _, address := range c.named {
					if !strings.Contains(said, address) {
						t.Errorf("%s is not named: %s", address, said)
					}
				}
			})
		})
	}
}
