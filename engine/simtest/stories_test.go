package simtest_test

import (
	"context"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// group is a name and the scenarios that belong together: they share a golden file.
type group struct {
	name      string
	scenarios []*scenario
}

// groups are all scenarios, the matrix as well.
func groups() []group {
	of := func(name string, list []scenario) group {
		g := group{name: name}
		for i := range list {
			g.scenarios = append(g.scenarios, &list[i])
		}
		return g
	}
	return []group{
		of("creations", creations()),
		of("updates", updates()),
		of("replacements", replacements()),
		of("deleted first", deleteFirsts()),
		of("half replaced", halfReplaced()),
		of("deletions", deletions()),
		of("destructions", destructions()),
		of("cycles", cycles()),
		of("renames", renames()),
		of("drifts", drifts()),
		of("takeovers", takeovers()),
		of("mixtures", mixtures()),
		of("peers", peers()),
		of("devs", devs()),
		of("intents", intents(simtest.AnswerLost)),
		of("empty intents", emptyIntents("commit x:c2!")),
		of("built cycles", builtCycles()),
		of("unknown kinds", unknownKinds()),
		of("partly lost", partlyLost()),
		of("put back", putBack()),
		of("contained", contained()),
		of("hooked", hooked()),
		{"matrix", matrix()},
	}
}

// scenarios are all of them but the matrix.
func scenarios() []*scenario {
	var all []*scenario
	for _, g := range groups() {
		if g.name != "matrix" {
			all = append(all, g.scenarios...)
		}
	}
	return all
}

func deploy(resources ...engine.Resource) simtest.Command {
	return simtest.Command{Graph: graph(resources...)}
}

// was is a stack that was deployed in peace.
func was(resources ...engine.Resource) []move { return []move{deployed(graph(resources...))} }

// lost is what happens to the record.
func lost(_ context.Context, s *simtest.Sim) error {
	s.Lose()
	return nil
}

// elsewhere goes on at a machine that has no record.
func elsewhere(_ context.Context, s *simtest.Sim) error {
	s.Move()
	return nil
}

// The stated limits of recovery, docs/engine.md.
const (
	limitAssigned = "a lost record, stale reads and an identity that the cloud assigned"
	limitUnnamed  = "a lost record, and a kind without marks that the program no longer mentions"
	limitGiven    = "a given name on a kind without marks, without a record"
	limitOther    = "a lost record on another machine"
	limitCommand  = "a command whose record is lost runs again"
	limitSwap     = "a swap of two addresses that is cut in the middle, with the record lost as well"
	limitPlace    = "a lost record, and a place that the program no longer names"
	limitStale    = "a lost record and stale reads in the middle of a replacement"
	limitNowhere  = "a program that declares nothing has nowhere to look when its record is lost"
)

// givenNameMade: an intent, a given name and no owner tag do not tell who made what is there.
func givenNameMade(event string, o simtest.Outcome, _ bool) string {
	made := o == simtest.AnswerLost || o == simtest.NotStored || o == simtest.Swallow || o == simtest.Severed
	unsaid := strings.HasPrefix(event, "commit a:c") && !strings.Contains(event, "!") && (o == simtest.BeforeSend || o == simtest.Severed)
	if made && strings.HasPrefix(event, "create ") || unsaid {
		return limitGiven
	}
	return ""
}

func creations() []scenario {
	return []scenario{
		{name: "create", do: deploy(res("Named", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"}))},
		{name: "create without tags", do: deploy(res("Plain", "a", m{"color": "red"}), res("Plain", "b", m{"after": "⟦a.id⟧"}))},
		{name: "create with an assigned identity", do: deploy(res("Assigned", "a", m{"color": "red"}), res("Assigned", "b", m{"after": "⟦a.id⟧"}))},
		{name: "create with a client token", do: deploy(res("Token", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})), notLost: limitAssigned},
		{name: "create a child", do: deploy(res("Named", "p", m{}), res("Child", "c", m{"parent": "⟦p.id⟧", "size": "one"}), res("Child", "d", m{"parent": "⟦p.id⟧", "size": "two"}))},
		{name: "create slowly", do: deploy(res("Slow", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"}), res("Named", "c", m{"after": "⟦a.color⟧"}))},
		{name: "create under stale reads", do: deploy(res("Stale", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"}))},
		{name: "create assigned under stale reads", do: deploy(res("StaleAssigned", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})), notLost: limitAssigned},
		{name: "create with a given name", do: deploy(res("Named", "a", m{"name": "pot", "color": "red"}))},
		{name: "create with a given name and no tags", do: deploy(res("Plain", "a", m{"name": "pot", "color": "red"})), notLost: limitGiven, limit: givenNameMade},
		{name: "create with a name known later", do: deploy(res("Named", "a", m{"color": "red"}), res("Named", "b", m{"name": "x-⟦a.color⟧"}))},
		{name: "create a diamond", do: deploy(
			res("Named", "a", m{}), res("Assigned", "b", m{"after": "⟦a.id⟧"}), res("Plain", "c", m{"base": "⟦a.id⟧"}),
			res("Named", "d", m{"after": "⟦b.id⟧", "base": "⟦c.id⟧"}), res("Note", "n", m{"text": "⟦d.id⟧"}),
		)},
		{name: "create in two regions", do: deploy(in("north", res("Named", "a", m{})), in("south", res("Named", "b", m{"after": "⟦a.id⟧"})))},
		{name: "create the only one", do: deploy(res("Quota", "a", m{"color": "red"}))},
		{name: "create with a key told once", do: deploy(res("Keyed", "a", m{}), res("Named", "b", m{"secret": "⟦a.key⟧"})), again: 1, why: "what was told once and not recorded is made anew"},
		{name: "create and wait for somebody", do: deploy(res("Waits", "a", m{}), res("Named", "b", m{}))},
		{name: "create with labels and a secret", do: deploy(res("Named", "a", m{"labels": m{"x": "1", "y": "2"}, "secret": "hush"}))},
		{name: "run a command", do: deploy(res("Command", "a", m{"text": "go"}), res("Named", "b", m{"after": "⟦a.text⟧"})), again: 1, why: limitCommand},
		{name: "write notes", do: deploy(res("Note", "a", m{"text": "one"}), res("Note", "b", m{"text": "⟦a.text⟧ two"}), res("Note", "c", m{"text": "⟦b.short⟧"}))},
		{name: "create in pages", do: deploy(res("Paged", "a", m{}), res("Paged", "b", m{}), res("Paged", "c", m{}))},
		{name: "create with equal content", sameAlone: limitGiven, do: deploy(res("Same", "a", m{"name": "pot", "color": "red"}))},
	}
}

func updates() []scenario {
	a := func(color string) engine.Resource { return res("Named", "a", m{"color": color}) }
	b := res("Named", "b", m{"after": "⟦a.color⟧"})
	return []scenario{
		{name: "update", setup: was(a("red"), b), do: deploy(a("blue"), b)},
		{name: "update what resets another", setup: was(res("Coupled", "a", m{"color": "red", "size": "s"}), b), do: deploy(res("Coupled", "a", m{"color": "red", "size": "l"}), b)},
		{
			name: "update what resets another that changes too", setup: was(res("Coupled", "a", m{"color": "red", "size": "s"}), b),
			do: deploy(res("Coupled", "a", m{"color": "blue", "size": "l"}), b),
		},
		{name: "update without tags", setup: was(res("Plain", "a", m{"color": "red"})), do: deploy(res("Plain", "a", m{"color": "blue"}))},
		{name: "update slowly", setup: was(res("Slow", "a", m{"color": "red", "labels": m{"x": "1"}}), b), do: deploy(res("Slow", "a", m{"color": "blue", "labels": m{"x": "2"}}), b)},
		{name: "update under stale reads", setup: was(res("Stale", "a", m{"color": "red"}), b), do: deploy(res("Stale", "a", m{"color": "blue"}), b)},
		{
			name: "update moves an attribute", setup: was(res("Revises", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.revision⟧"}), res("Named", "c", m{"after": "⟦b.id⟧"})),
			do: deploy(res("Revises", "a", m{"color": "blue"}), res("Named", "b", m{"after": "⟦a.revision⟧"}), res("Named", "c", m{"after": "⟦b.id⟧"})),
		},
		{
			name: "update everything of one", setup: was(res("Named", "a", m{"color": "red", "after": "x", "secret": "old", "labels": m{"x": "1", "y": "2"}})),
			do: deploy(res("Named", "a", m{"color": "blue", "after": "y", "secret": "new", "labels": m{"y": "3", "z": "4"}})),
		},
		{name: "update by leaving out", setup: was(res("Named", "a", m{"color": "red", "labels": m{"x": "1"}})), do: deploy(res("Named", "a", m{}))},
		{
			name: "update a note that others use", setup: was(res("Note", "n", m{"text": "one"}), res("Named", "a", m{"color": "⟦n.text⟧"})),
			do: deploy(res("Note", "n", m{"text": "two"}), res("Named", "a", m{"color": "⟦n.text⟧"})),
		},
		{name: "update options alone", setup: was(a("red"), res("Named", "b", m{})), do: deploy(a("red"), res("Named", "b", m{}, dependsOn("a"), retain))},
		{name: "update with a new one beside", setup: was(a("red")), do: deploy(a("blue"), res("Assigned", "n", m{"after": "⟦a.color⟧"}))},
	}
}

func replacements() []scenario {
	user := res("Named", "b", m{"after": "⟦a.id⟧"})
	of := func(kind string) scenario {
		return scenario{setup: was(res(kind, "a", m{"size": "s"}), user), do: deploy(res(kind, "a", m{"size": "l"}), user)}
	}
	named := func(name string, s scenario) scenario { s.name = name; return s }
	chain := func(size string) []engine.Resource {
		return []engine.Resource{
			res("Named", "a", m{"size": size}), res("Assigned", "b", m{"base": "⟦a.id⟧"}),
			res("Plain", "c", m{"base": "⟦b.id⟧"}), res("Named", "d", m{"base": "⟦c.id⟧"}),
		}
	}
	stale, staleNamed := named("replace assigned under stale reads", of("StaleAssigned")), named("replace under stale reads", of("Stale"))
	staleNamed.notLost = limitStale
	stale.notLost = limitAssigned
	keyed := named("replace what tells a key once", of("Keyed"))
	keyed.again, keyed.why = 1, "what was told once and not recorded is made anew"
	return []scenario{
		named("replace", of("Named")),
		named("replace without tags", of("Plain")),
		named("replace assigned", of("Assigned")),
		named("replace slowly", of("Slow")),
		staleNamed,
		stale,
		keyed,
		named("replace what waits for somebody", of("Waits")),
		{name: "replace both", setup: was(chain("s")[:2]...), do: deploy(chain("l")[:2]...)},
		{name: "replace a chain", setup: was(chain("s")...), do: deploy(chain("l")...), large: true},
		{
			name: "replace a parent", setup: was(res("Named", "p", m{"size": "s"}), res("Child", "c", m{"parent": "⟦p.id⟧", "size": "one"})),
			do: deploy(res("Named", "p", m{"size": "l"}), res("Child", "c", m{"parent": "⟦p.id⟧", "size": "one"})),
		},
		{name: "replace by another kind", setup: was(res("Named", "a", m{"color": "red"}), user), do: deploy(res("Assigned", "a", m{"color": "red"}), user)},
		{name: "replace in another region", setup: was(in("north", res("Named", "a", m{})), user), do: deploy(in("south", res("Named", "a", m{})), user), notLost: limitPlace},
		{name: "replace and update in one", setup: was(res("Named", "a", m{"size": "s", "color": "red"}), user), do: deploy(res("Named", "a", m{"size": "l", "color": "blue"}), user)},
		{name: "replace and retain", setup: was(res("Named", "a", m{"size": "s"}, retain), user), do: deploy(res("Named", "a", m{"size": "l"}, retain), user)},
		{name: "replace and retain again", setup: append(was(res("Named", "a", m{"size": "s"}, retain), user), deployed(graph(res("Named", "a", m{"size": "m"}, retain), user))), do: deploy(res("Named", "a", m{"size": "l"}, retain), user)},
		{
			name: "replace a command", setup: was(res("Command", "a", m{"text": "one"})), do: deploy(res("Command", "a", m{"text": "two"})),
			again: 1, why: limitCommand,
		},
	}
}

func deleteFirsts() []scenario {
	a := func(size string) engine.Resource { return res("Named", "a", m{"size": size}, deleteFirst) }
	b, c := res("Named", "b", m{"base": "⟦a.id⟧"}), res("Named", "c", m{"after": "⟦b.id⟧"})
	pot := func(kind, size string) engine.Resource { return res(kind, "a", m{"size": size, "name": "pot"}) }
	return []scenario{
		{name: "delete first", setup: was(a("s"), b, c), do: deploy(a("l"), b, c)},
		{name: "delete first alone", setup: was(a("s")), do: deploy(a("l"))},
		{name: "replace what has a given name", setup: was(pot("Named", "s")), do: deploy(pot("Named", "l"))},
		{name: "replace what has a given name and no tags", setup: was(pot("Plain", "s")), do: deploy(pot("Plain", "l")), notLost: limitGiven, limit: givenNameMade},
		{name: "replace what has a name that stays taken", setup: was(pot("Reuse", "s")), do: deploy(pot("Reuse", "l"))},
		{name: "replace the only one", setup: was(res("Quota", "a", m{"size": "s"}, deleteFirst)), do: deploy(res("Quota", "a", m{"size": "l"}, deleteFirst))},
		{name: "delete first under stale reads", setup: was(res("Stale", "a", m{"size": "s", "name": "pot"})), do: deploy(res("Stale", "a", m{"size": "l", "name": "pot"})), notLost: limitStale},
		{
			name: "delete first, and one no longer needs it", setup: was(a("s"), b), do: deploy(a("l"), res("Named", "b", m{"color": "red"})),
		},
		{name: "delete first, and one that needs it goes", setup: was(a("s"), b, c), do: deploy(a("l"), c2())},
		{
			name: "two delete first with one user", setup: was(a("s"), res("Named", "x", m{"size": "s"}, deleteFirst), res("Named", "u", m{"base": "⟦a.id⟧", "parent": "⟦x.id⟧"})),
			do: deploy(a("l"), res("Named", "x", m{"size": "l"}, deleteFirst), res("Named", "u", m{"base": "⟦a.id⟧", "parent": "⟦x.id⟧"})),
		},
		{name: "may delete first, and need not", setup: was(maybe("red", "s", "", deleteFirst)...), do: deploy(maybe("red", "l", "", deleteFirst)...), watch: staysAlive("a")},
		{name: "may delete first, and must", setup: was(maybe("red", "s", "", deleteFirst)...), do: deploy(maybe("blue", "l", "", deleteFirst)...)},
		{name: "may replace what has a given name, and need not", setup: was(maybe("red", "s", "pot")...), do: deploy(maybe("red", "l", "pot")...), watch: staysAlive("a")},
		{
			name: "may delete first, under one that is deleted first", setup: was(underFirst("s")...),
			do: deploy(underFirst("l")...),
		},
	}
}

// maybe is a stack of which a plan cannot tell whether the object at a is replaced: its size is the color of up, which every change
// of the size of up resets, and which is set again then.
func maybe(color, size, name string, options ...func(*engine.Options)) []engine.Resource {
	props := m{"size": "⟦up.color⟧"}
	if name != "" {
		props["name"] = name
	}
	return []engine.Resource{
		res("Coupled", "up", m{"color": color, "size": size}), res("Named", "a", props, options...), res("Named", "b", m{"after": "⟦a.id⟧"}),
	}
}

// underFirst is such a stack whose up is changed after x, which is deleted first: what is deleted before x cannot wait for up.
func underFirst(size string) []engine.Resource {
	all := maybe(map[string]string{"s": "red", "l": "blue"}[size], size, "", deleteFirst)
	all[0].Props["after"] = "⟦x.id⟧"
	return append(all, res("Named", "x", m{"size": size}, deleteFirst))
}

// staysAlive finds whether anything of an address was deleted.
func staysAlive(address string) func(*simtest.Sim, *simtest.Report) string {
	return func(s *simtest.Sim, _ *simtest.Report) string {
		for _, e := range s.Cloud.Effects() {
			if e.Op == "delete" && e.Owner.Address == address {
				return address + " was deleted, and its replacement is what was there"
			}
		}
		return ""
	}
}

func c2() engine.Resource { return res("Named", "c", m{"after": "none"}) }

// refuse makes deletions fail, for good until it is lifted.
func refuse(o *simtest.Object) { o.Refuse = true }
func permit(o *simtest.Object) { o.Refuse = false }

// halfReplaced begin where an earlier run could not end.
func halfReplaced() []scenario {
	a := func(size string) engine.Resource { return res("Named", "a", m{"size": size, "color": "red"}) }
	b := res("Named", "b", m{"after": "⟦a.id⟧"})
	denied := func(g *engine.Graph, event string) move { return met(g, once(event, simtest.Deny)) }
	begun := func(extra ...move) []move { // live 1, candidate 2 begun and not made
		return slices.Concat(was(a("s"), b), []move{denied(graph(a("m"), b), "create a/2")}, extra)
	}
	kept := slices.Concat(was(a("s"), b), []move{edited("a", refuse), func(ctx context.Context, s *simtest.Sim) error { // live 2, condemned 1
		s.Run(ctx, deploy(a("m"), b), nil)
		return nil
	}})
	return []scenario{
		{name: "the old one refuses to go", setup: append(was(a("s"), b), edited("a", refuse)), do: deploy(a("l"), b), fails: true, lift: edited("a", permit)},
		{name: "the new one was denied, and is made", setup: begun(), do: deploy(a("m"), b)},
		{name: "the new one was denied, and the program reverted", setup: begun(), do: deploy(a("s"), b)},
		{name: "the new one was denied, and changed again", setup: begun(), do: deploy(a("l"), b)},
		{name: "the new one was denied, and is no longer declared", setup: begun(), do: deploy(res("Named", "b", m{"after": "none"}))},
		{name: "the new one was cut half made", setup: slices.Concat(was(a("s"), b), []move{met(graph(a("m"), b), once("create a/2", simtest.AnswerLost))}), do: deploy(a("m"), b)},
		{name: "the new one was cut half made, and the program reverted", setup: slices.Concat(was(a("s"), b), []move{met(graph(a("m"), b), once("create a/2", simtest.NotStored))}), do: deploy(a("s"), b)},
		{name: "the new one was cut half made, and changed again", setup: slices.Concat(was(a("s"), b), []move{met(graph(a("m"), b), once("create a/2", simtest.AnswerLost))}), do: deploy(a("l"), b)},
		{name: "replaced, and cut before the old one went, and changed again", setup: slices.Concat(was(a("s"), b), []move{met(graph(a("m"), b), once("commit a:c1:l2", simtest.AfterStore))}), do: deploy(a("l"), b)},
		{name: "replaced again while the old one stays", setup: kept, do: deploy(a("l"), b), fails: true, lift: edited("a", permit)},
		{name: "reverted while the old one stays", setup: kept, do: deploy(a("s"), b), fails: true, lift: edited("a", permit)},
		{name: "not declared while the old one stays", setup: kept, do: deploy(res("Named", "b", m{"after": "none"})), fails: true, lift: edited("a", permit)},
		{
			name: "a chain stopped at its third", setup: slices.Concat(
				was(a("s"), res("Named", "b", m{"base": "⟦a.id⟧"}), res("Named", "c", m{"base": "⟦b.id⟧"}), res("Named", "d", m{"base": "⟦c.id⟧"})),
				[]move{denied(graph(a("l"), res("Named", "b", m{"base": "⟦a.id⟧"}), res("Named", "c", m{"base": "⟦b.id⟧"}), res("Named", "d", m{"base": "⟦c.id⟧"})), "create c/2")}),
			do: deploy(a("l"), res("Named", "b", m{"base": "⟦a.id⟧"}), res("Named", "c", m{"base": "⟦b.id⟧"}), res("Named", "d", m{"base": "⟦c.id⟧"})), large: true,
		},
	}
}

func deletions() []scenario {
	a, b := res("Named", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})
	chain := []engine.Resource{a, res("Named", "b", m{"base": "⟦a.id⟧"}), res("Named", "c", m{"base": "⟦b.id⟧"})}
	one := func(kind string) scenario {
		return scenario{setup: was(a, res(kind, "x", m{"after": "⟦a.id⟧"})), do: deploy(a)}
	}
	named := func(name string, s scenario) scenario { s.name = name; return s }
	plain := named("delete one without tags", one("Plain"))
	plain.notLost = limitUnnamed
	child := scenario{name: "delete a child", setup: was(a, res("Child", "x", m{"parent": "⟦a.id⟧", "size": "one"})), do: deploy(a), notLost: limitUnnamed}
	command := named("undo a command", scenario{setup: was(a, res("Command", "x", m{"text": "go"})), do: deploy(a)})
	command.notLost, command.again, command.why = limitCommand, 1, "an undo whose answer is lost runs again"
	forget := graph(a)
	forget.Forget = []string{"b"}
	return []scenario{
		{name: "delete", setup: was(a, b), do: deploy(a)},
		{name: "delete everything", setup: was(a, b), do: deploy(), notLost: limitNowhere},
		{name: "delete a chain", setup: was(append(chain, res("Named", "k", m{}))...), do: deploy(res("Named", "k", m{}))},
		{
			name: "delete a diamond", setup: was(a, res("Named", "l", m{"base": "⟦a.id⟧"}), res("Named", "r", m{"base": "⟦a.id⟧"}), res("Named", "z", m{"base": "⟦l.id⟧", "parent": "⟦r.id⟧"}), res("Named", "k", m{})),
			do: deploy(res("Named", "k", m{})), large: true,
		},
		plain, child, command,
		named("delete an assigned one", one("Assigned")),
		named("delete slowly", one("Slow")),
		named("delete under stale reads", one("Stale")),
		{name: "delete with its parent", setup: was(a, res("Named", "p", m{}), res("Attached", "x", m{"parent": "⟦p.id⟧"}, deletedWith("p"))), do: deploy(a)},
		{name: "forget", setup: was(a, b), do: simtest.Command{Graph: forget}, notLost: "what was forgotten is nobody's record"},
		{name: "retain", setup: was(a, res("Named", "b", m{"after": "⟦a.id⟧"}, retain)), do: deploy(a), notLost: "retained by options that only the record knows"},
		{name: "delete with its data", setup: append(was(a, res("Named", "b", m{}, allowDelete)), edited("b", func(o *simtest.Object) { o.Data = 3 })), do: deploy(a), notLost: "leave that only the record knows"},
		{
			name: "delete what refuses", setup: append(was(a, b), edited("b", refuse)), do: deploy(a), fails: true, lift: edited("b", permit),
		},
		{
			name: "declared again while it is deleted", setup: append(was(a, b), met(graph(a), once("delete b "+nameOfB, simtest.AnswerLost))), do: deploy(a, b),
		},
		{
			name: "declared again while it refuses to go", setup: append(was(a, b), edited("b", refuse), func(ctx context.Context, s *simtest.Sim) error {
				s.Run(ctx, deploy(a), nil)
				return nil
			}, edited("b", permit)), do: deploy(a, b),
		},
	}
}

// nameOfB is the generated identity of b.
const nameOfB = "sim:shop-test-b-yyekixiy"

func destructions() []scenario {
	a, b := res("Named", "a", m{"color": "red", "size": "s"}), res("Named", "b", m{"base": "⟦a.id⟧"})
	program := graph(a, b)
	destroy := simtest.Command{Destroy: true, Program: program}
	larger := res("Named", "a", m{"color": "red", "size": "l"})
	return []scenario{
		{name: "destroy", setup: was(a, b), do: destroy},
		{name: "destroy without a program", setup: was(a, b), do: simtest.Command{Destroy: true}, notLost: limitNowhere},
		{name: "destroy what was replaced half", setup: append(was(a, b), met(graph(larger, b), once("create a/2", simtest.NotStored))), do: destroy},
		{name: "destroy what could not be replaced", setup: append(was(a, b), met(graph(larger, b), once("create a/2", simtest.Deny))), do: destroy},
		{
			name: "destroy what was replaced and refuses to go", setup: append(was(a, b), edited("a", refuse), func(ctx context.Context, s *simtest.Sim) error {
				s.Run(ctx, deploy(larger, b), nil)
				return nil
			}), do: destroy, fails: true, lift: edited("a", permit),
		},
		{
			name: "destroy a cycle", setup: was(res("Named", "a", m{"peer": "⟦b.id⟧"}), res("Named", "b", m{"peer": "⟦a.id⟧"})),
			do: simtest.Command{Destroy: true, Program: graph(res("Named", "a", m{"peer": "⟦b.id⟧"}), res("Named", "b", m{"peer": "⟦a.id⟧"}))},
		},
		{
			name: "destroy many kinds", setup: was(a, b, res("Assigned", "c", m{"base": "⟦b.id⟧"}), res("Slow", "d", m{}), res("Stale", "e", m{}), res("Note", "n", m{"text": "⟦c.id⟧"})),
			do: simtest.Command{Destroy: true, Program: graph(a, b, res("Assigned", "c", m{"base": "⟦b.id⟧"}), res("Slow", "d", m{}), res("Stale", "e", m{}), res("Note", "n", m{"text": "⟦c.id⟧"}))}, large: true,
		},
	}
}

func cycles() []scenario {
	a := func(size string) engine.Resource { return res("Named", "a", m{"peer": "⟦b.id⟧", "size": size}) }
	b := res("Named", "b", m{"peer": "⟦a.id⟧"})
	three := func(color string) []engine.Resource {
		return []engine.Resource{
			res("Named", "a", m{"peer": "⟦c.id⟧", "color": color}), res("Slow", "b", m{"after": "⟦a.id⟧"}), res("Assigned", "c", m{"base": "⟦b.id⟧"}), res("Named", "u", m{"after": "⟦c.color⟧"}),
		}
	}
	return []scenario{
		{name: "create a cycle", do: deploy(a("s"), b)},
		{name: "create a cycle of assigned ones", do: deploy(res("Assigned", "a", m{"peer": "⟦b.id⟧"}), res("Assigned", "b", m{"peer": "⟦a.id⟧"}))},
		{name: "replace in a cycle", setup: was(a("s"), b), do: deploy(a("l"), b)},
		{name: "delete a cycle", setup: was(a("s"), b, res("Named", "k", m{})), do: deploy(res("Named", "k", m{}))},
		{name: "create a cycle of three", do: deploy(three("red")...), large: true},
		{name: "open a cycle", setup: was(a("s"), b), do: deploy(a("s"), res("Named", "b", m{}))},
		{name: "close a cycle", setup: was(a("s"), res("Named", "b", m{})), do: deploy(a("s"), b)},
	}
}

func renames() []scenario {
	red, blue := m{"color": "red"}, m{"color": "blue"}
	return []scenario{
		{name: "rename", setup: was(res("Named", "a", red), res("Named", "u", m{"after": "⟦a.id⟧"})), do: deploy(res("Named", "n", red, from("a")), res("Named", "u", m{"after": "⟦n.id⟧"}))},
		{name: "rename without tags", setup: was(res("Plain", "a", red)), do: deploy(res("Plain", "n", red, from("a")))},
		{name: "rename assigned", setup: was(res("Assigned", "a", red)), do: deploy(res("Assigned", "n", red, from("a")))},
		{name: "rename into a scope", setup: was(res("Named", "a", red)), do: deploy(res("Named", "net/a", red, from("a")))},
		{name: "rename and replace", setup: was(res("Named", "a", m{"size": "s"})), do: deploy(res("Named", "n", m{"size": "l"}, from("a")))},
		{name: "swap", setup: was(res("Named", "a", red), res("Named", "b", blue)), do: deploy(res("Named", "a", blue, from("b")), res("Named", "b", red, from("a"))), notLost: limitSwap},
		{name: "shift", setup: was(res("Named", "a", red), res("Named", "b", blue)), do: deploy(res("Named", "b", red, from("a")), res("Named", "c", blue, from("b"))), notLost: limitSwap},
		{name: "rename, and the old name is used again", setup: was(res("Named", "a", red)), do: deploy(res("Named", "n", red, from("a")), res("Named", "a", blue)), notLost: limitSwap},
		{
			name: "rename twice", setup: []move{deployed(graph(res("Named", "a", red))), deployed(graph(res("Named", "b", red, from("a"))))},
			do: deploy(res("Named", "c", red, from("a", "b"))),
		},
	}
}

func drifts() []scenario {
	a, b := res("Named", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})
	paint := edited("a", func(o *simtest.Object) { o.Fields["color"] = "green" })
	blue := res("Named", "a", m{"color": "blue"})
	peer := edited("a", func(o *simtest.Object) { o.Fields["peer"] = "somebody's" })
	return []scenario{
		{name: "another path changed after the plan", setup: append(was(a, b), tooLate(graph(blue, b), false, peer)), do: deploy(blue, b)},
		{name: "another path changed after the plan was saved", setup: append(was(a, b), tooLate(graph(blue, b), true, peer)), do: deploy(blue, b)},
		{name: "the same path changed after the plan", setup: append(was(a, b), tooLate(graph(blue, b), true, paint)), do: deploy(blue, b)},
		{name: "deleted after the plan", setup: append(was(a, b), tooLate(graph(blue, b), true, removed("a"))), do: deploy(blue, b)},
		{name: "drifted", setup: append(was(a, b), paint), do: deploy(a, b)},
		{name: "drifted and changed", setup: append(was(a, b), paint), do: deploy(res("Named", "a", m{"color": "blue"}), b)},
		{name: "drifted where nothing can change in place", setup: append(was(a, b), edited("a", func(o *simtest.Object) { o.Fields["size"] = "l" })), do: deploy(a, b)},
		{name: "its tags are gone", setup: append(was(a, b), edited("a", func(o *simtest.Object) { o.Tags = map[string]string{"by": "hand"} })), do: deploy(a, b), notLost: "without mark and record it is a stranger's"},
		{name: "gone", setup: append(was(a, b), removed("a")), do: deploy(a, b)},
		{name: "gone and assigned", setup: append(was(res("Assigned", "a", m{"color": "red"}), b), removed("a")), do: deploy(res("Assigned", "a", m{"color": "red"}), b)},
		{name: "gone, and no longer declared", setup: append(was(a, b), removed("b")), do: deploy(a)},
		{name: "gone, and destroyed", setup: append(was(a, b), removed("a")), do: simtest.Command{Destroy: true, Program: graph(a, b)}},
		{name: "the old one is gone by itself", setup: append(was(res("Named", "a", m{"size": "s"}), b), removed("a")), do: deploy(res("Named", "a", m{"size": "l"}), b)},
	}
}

func takeovers() []scenario {
	a, b := res("Named", "a", m{"color": "red"}), res("Named", "b", m{"after": "⟦a.id⟧"})
	pot := func(color, size string) simtest.Object {
		return simtest.Object{Kind: "sim.Named", Name: "pot", Fields: map[string]string{"color": color, "size": size}}
	}
	assigned := []engine.Resource{res("Paged", "a", m{}), res("Paged", "b", m{"after": "⟦a.id⟧"}), res("Paged", "c", m{}), res("Paged", "d", m{}), res("Paged", "e", m{})}
	taking := engine.PlanOptions{Adopt: true}
	return []scenario{
		{name: "adopt", setup: []move{there(pot("green", ""))}, do: deploy(res("Named", "a", m{"name": "pot", "color": "red"}), b), opts: taking},
		{
			name: "adopt what carries no tags", setup: []move{there(simtest.Object{Kind: "sim.Plain", Name: "pot", Fields: map[string]string{"color": "green"}})},
			do: deploy(res("Plain", "a", m{"name": "pot", "color": "red"})), opts: taking, sameAlone: limitGiven,
		},
		{name: "recover", setup: append(was(a, b), lost), do: deploy(a, b)},
		{name: "recover and change", setup: append(was(a, b), lost), do: deploy(res("Named", "a", m{"color": "blue"}), b)},
		{name: "recover and replace", setup: append(was(res("Assigned", "a", m{"size": "s"}), b), lost), do: deploy(res("Assigned", "a", m{"size": "l"}), b)},
		{name: "recover and delete", setup: append(was(a, b), lost), do: deploy(a)},
		{name: "recover what comes in pages", setup: append(was(assigned...), lost), do: deploy(assigned...), large: true},
		{name: "recover and destroy", setup: append(was(a, b), lost), do: simtest.Command{Destroy: true, Program: graph(a, b)}},
		{name: "recover on another machine", setup: append(was(a, b), elsewhere), do: deploy(a, b), opts: engine.PlanOptions{TakeOver: true}},
		{name: "recover after a replacement", setup: slices.Concat(was(res("Named", "a", m{"size": "s"}), b), was(res("Named", "a", m{"size": "l"}), b), []move{lost}), do: deploy(res("Named", "a", m{"size": "l"}), b)},
		{name: "recover after a rename", setup: slices.Concat(was(a), was(res("Named", "n", m{"color": "red"}, from("a"))), []move{lost}), do: deploy(res("Named", "n", m{"color": "red"}, from("a")))},
	}
}

func mixtures() []scenario {
	before := []engine.Resource{
		res("Named", "keep", m{"color": "red"}), res("Named", "paint", m{"color": "red", "after": "⟦keep.id⟧"}), res("Assigned", "swap", m{"size": "s", "after": "⟦keep.id⟧"}),
		res("Named", "first", m{"size": "s", "name": "pot"}), res("Named", "drop", m{"after": "⟦swap.id⟧"}), res("Named", "old", m{"color": "grey"}),
	}
	after := []engine.Resource{
		res("Named", "keep", m{"color": "red"}), res("Named", "paint", m{"color": "blue", "after": "⟦swap.id⟧"}), res("Assigned", "swap", m{"size": "l", "after": "⟦keep.id⟧"}),
		res("Named", "first", m{"size": "l", "name": "pot"}), res("Slow", "add", m{"after": "⟦first.id⟧"}), res("Named", "new", m{"color": "grey"}, from("old")),
	}
	return []scenario{
		{name: "everything at once", setup: was(before...), do: deploy(after...), large: true},
		{name: "everything at once, and drift", setup: append(was(before...), edited("keep", func(o *simtest.Object) { o.Fields["color"] = "x" }), removed("old")), do: deploy(after...), large: true},
	}
}
