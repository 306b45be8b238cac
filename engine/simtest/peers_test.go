package simtest_test

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// peers are scenarios in which other deployers are known to go wrong, as far as no other group has them.
func peers() []scenario {
	a := func(size string, o ...func(*engine.Options)) engine.Resource {
		return res("Named", "a", m{"size": size, "color": "red"}, o...)
	}
	b := res("Named", "b", m{"after": "⟦a.id⟧"})
	joined := []engine.Resource{
		res("Named", "a", m{"peer": "⟦b.id⟧"}), res("Named", "b", m{"peer": "⟦a.id⟧"}),
		res("Named", "c", m{"peer": "⟦d.id⟧", "base": "⟦a.id⟧"}), res("Named", "d", m{"peer": "⟦c.id⟧"}),
	}
	interrupted := func(kind string) []move {
		return []move{met(graph(a("s"), res(kind, "x", m{"after": "⟦a.id⟧"})), once("create x/1", simtest.AnswerLost))}
	}
	parent := res("Named", "p", m{})
	with := res("Named", "x", m{"after": "⟦p.id⟧"}, deletedWith("p"))
	return []scenario{
		{name: "addresses that look alike", setup: was(res("Named", "my__bucket", m{}), res("Named", "my/bucket", m{})), do: deploy(res("Named", "my__bucket", m{}), res("Named", "my/bucket", m{"color": "red"}), res("Named", "My/bucket", m{}))},
		{
			name: "a fixed prop changes beside one that is known later", setup: was(a("s"), b),
			do: deploy(res("Named", "n", m{"color": "blue"}), res("Named", "a", m{"size": "l", "color": "⟦n.color⟧"}), b),
		},
		{
			name: "declared again and larger while it is deleted", setup: append(was(a("s"), res("Named", "k", m{})), met(graph(res("Named", "k", m{})), once("commit a:c1", simtest.AfterStore))),
			do: deploy(a("l"), res("Named", "k", m{})),
		},
		{name: "begun, and no longer declared", setup: interrupted("Named"), do: deploy(a("s"))},
		{name: "begun and assigned, and no longer declared", setup: interrupted("Assigned"), do: deploy(a("s"))},
		{name: "begun without tags, and no longer declared", setup: interrupted("Plain"), do: deploy(a("s")), notLost: limitUnnamed},
		{name: "begun, and destroyed", setup: interrupted("Assigned"), do: simtest.Command{Destroy: true, Program: graph(a("s"), res("Assigned", "x", m{"after": "⟦a.id⟧"}))}},
		{name: "begun, and larger now", setup: []move{met(graph(a("s", deleteFirst), b), once("create a/1", simtest.AnswerLost))}, do: deploy(a("l", deleteFirst), b)},
		{name: "two joined cycles go", setup: was(append(joined, res("Named", "k", m{}))...), do: deploy(res("Named", "k", m{})), large: true},
		{
			name: "its parent refuses to go", setup: append(was(a("s"), parent, with), edited("p", refuse)), do: deploy(a("s")),
			fails: true, lift: edited("p", permit),
		},
		{
			name: "a user that was moved over goes before its new upstream", setup: slices.Concat(
				was(res("Named", "a", m{}), res("Named", "z", m{}), res("Named", "u", m{"base": "⟦a.id⟧"})),
				was(res("Named", "a", m{}), res("Named", "z", m{}), res("Named", "u", m{"base": "⟦z.id⟧"}))),
			do: simtest.Command{Destroy: true, Program: graph(res("Named", "a", m{}), res("Named", "z", m{}), res("Named", "u", m{"base": "⟦z.id⟧"}))},
		},
		{name: "an empty value goes on", setup: was(res("Note", "n", m{"text": "x"}), res("Named", "u", m{"after": "⟦n.text⟧"})), do: deploy(res("Note", "n", m{"text": ""}), res("Named", "u", m{"after": "⟦n.text⟧"}))},
		{
			name: "deployed while it was destroyed half", setup: append(was(a("s"), b, res("Named", "c", m{"base": "⟦b.id⟧"})), func(ctx context.Context, s *simtest.Sim) error {
				s.Run(ctx, simtest.Command{Destroy: true}, once("commit b:gone", simtest.AfterStore))
				return nil
			}), do: deploy(a("s"), b, res("Named", "c", m{"base": "⟦b.id⟧"})),
		},
		{name: "two replaced first share a user, and both drop it", setup: was(a("s", deleteFirst), res("Named", "x", m{"size": "s"}, deleteFirst), res("Named", "u", m{"base": "⟦a.id⟧", "parent": "⟦x.id⟧"})),
			do: deploy(a("l", deleteFirst), res("Named", "x", m{"size": "l"}, deleteFirst), res("Named", "u", m{"color": "red"}))},
	}
}
