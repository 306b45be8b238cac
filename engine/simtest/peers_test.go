package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// hasEntry says when the object of an address is there and no entry has it.
func hasEntry(address string) func(*simtest.Sim, *simtest.Report) string {
	return func(s *simtest.Sim, _ *simtest.Report) string {
		snap, err := s.Record(context.Background())
		there := slices.ContainsFunc(s.Cloud.Objects(), func(o simtest.Object) bool { return o.Owner.Address == address })
		if _, has := snap.Rows[address]; there && !has || err != nil {
			return fmt.Sprintf("%s is there, and no entry has it: %v", address, err)
		}
		return ""
	}
}

// takenOver gives an object to another stack, givenBack back to ours.
func takenOver(o *simtest.Object) { o.Tags["athanor:stack"] = "another" }
func givenBack(o *simtest.Object) { o.Tags["athanor:stack"] = simtest.Stage().Stack }

// staysWith says when an object is missing while another one is there.
func staysWith(address, other string) func(*simtest.Sim, *simtest.Report) string {
	return func(s *simtest.Sim, _ *simtest.Report) string {
		there := map[string]bool{}
		for _, o := range s.Cloud.Objects() {
			there[o.Owner.Address] = true
		}
		if there[other] && !there[address] {
			return other + " is there, and " + address + " is not"
		}
		return ""
	}
}

// neverCalled says when a run makes a call that begins so.
func neverCalled(call string) func(*simtest.Sim, *simtest.Report) string {
	return func(_ *simtest.Sim, r *simtest.Report) string {
		for _, e := range r.Events {
			if strings.HasPrefix(e.Name, call) {
				return e.Name
			}
		}
		return ""
	}
}

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
	with := res("Attached", "x", m{"parent": "⟦p.id⟧"}, deletedWith("p"))
	condemned := append(was(a("s"), parent, with), met(graph(a("s"), parent), once("delete x sim:shop-test-x-foobfuzn", simtest.Deny)))
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
			fails: true, lift: edited("p", permit), watch: hasEntry("x"), notLost: "state alone knows what is deleted with another resource",
		},
		{
			name: "condemned before its parent is another's", setup: append(condemned, edited("p", takenOver)), do: simtest.Command{Destroy: true, Program: graph(a("s"))},
			fails: true, lift: edited("p", givenBack), watch: staysWith("x", "p"), notLost: "state alone knows what is deleted with another resource",
		},
		{name: "condemned before its parent goes", setup: condemned, do: deploy(a("s")), watch: neverCalled("delete x "), notLost: "state alone knows what is deleted with another resource"},
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
		{
			name: "delete first behind a change", setup: was(res("Named", "up", m{"color": "red"}), res("Named", "a", m{"size": "s", "after": "⟦up.color⟧"}, deleteFirst)),
			do: deploy(res("Named", "up", m{"color": "blue"}), res("Named", "a", m{"size": "l", "after": "⟦up.color⟧"}, deleteFirst)), watch: upstreamFirst,
		},
		{name: "somebody else has the name", setup: []move{there(stranger("pot"))}, do: deploy(res("Named", "a", m{"name": "pot", "color": "red"}), b), fails: true, lift: gives("pot")},
		{
			name: "somebody else has the name that is known later", setup: []move{there(stranger("x-red"))},
			do: deploy(res("Named", "a", m{"color": "red"}), res("Named", "n", m{"name": "x-⟦a.color⟧", "color": "blue"})), fails: true, lift: gives("x-red"),
		},
		{
			name: "the old one refuses to go in a cycle", setup: append(was(res("Named", "a", m{"peer": "⟦b.id⟧", "size": "s"}), res("Named", "b", m{"peer": "⟦a.id⟧"})), edited("a", refuse)),
			do: deploy(res("Named", "a", m{"peer": "⟦b.id⟧", "size": "l"}), res("Named", "b", m{"peer": "⟦a.id⟧"})), fails: true, lift: edited("a", permit),
		},
		{name: "an output goes", setup: []move{deployed(outputting("id", "⟦a.id⟧")), deployed(outputting("color", "⟦a.color⟧"))}, do: simtest.Command{Graph: outputting("size", "⟦a.name⟧")}},
		{
			name: "two replaced first share a user, and both drop it", setup: was(a("s", deleteFirst), res("Named", "x", m{"size": "s"}, deleteFirst), res("Named", "u", m{"base": "⟦a.id⟧", "parent": "⟦x.id⟧"})),
			do: deploy(a("l", deleteFirst), res("Named", "x", m{"size": "l"}, deleteFirst), res("Named", "u", m{"color": "red"})),
		},
	}
}

// upstreamFirst: nothing of a is deleted as long as what it needs has not changed.
func upstreamFirst(s *simtest.Sim, _ *simtest.Report) string {
	changed, there := false, false
	for _, o := range s.Cloud.Objects() {
		changed = changed || o.Owner.Address == "up" && o.Fields["color"] == "blue"
		there = there || o.Owner.Address == "a"
	}
	if !changed && !there {
		return "a was deleted before what it needs had changed"
	}
	return ""
}

// stranger is somebody else's object.
func stranger(name string) simtest.Object {
	return simtest.Object{Kind: "sim.Named", Name: name, Fields: map[string]string{"color": "theirs"}, Tags: map[string]string{"by": "them"}}
}

// errTouched says that what is somebody else's was changed.
var errTouched = errors.New("what is a stranger's was changed")

// gives lets a stranger give up a name, if his object is still as it was.
func gives(name string) move {
	return func(_ context.Context, s *simtest.Sim) error {
		for _, o := range s.Cloud.Objects() {
			if o.Name == name && (o.Fields["color"] != "theirs" || o.Tags["by"] != "them") {
				return fmt.Errorf("%w: %s: %v %v", errTouched, name, o.Fields, o.Tags)
			}
		}
		s.Cloud.Remove(func(o *simtest.Object) bool { return o.Name == name })
		return nil
	}
}

// outputting is a program with one output.
func outputting(name, value string) *engine.Graph {
	g := graph(res("Named", "a", m{"color": "red"}))
	g.Outputs = map[string]any{name: value}
	return g
}

// TestUnstableAttributesHaveAnEnd: two that change each other for ever are given up, with the path and its last values.
func TestUnstableAttributesHaveAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t)
		r := s.Run(t.Context(), deploy(res("Revises", "a", m{"peer": "⟦b.revision⟧"}), res("Revises", "b", m{"peer": "⟦a.revision⟧"})), nil)
		var found *engine.ConvergeError
		for _, f := range r.Result.Failures {
			if e, ok := errors.AsType[*engine.ConvergeError](f); ok {
				found = e
			}
		}
		if found == nil || !strings.HasSuffix(found.Path, ".peer") || found.Last == found.Then {
			t.Errorf("%v: %+v", failure(r), found)
		}
	})
}

// TestAnUnknownKindBlocksItselfAlone: a row whose kind no program knows any more stays, and the others go on.
func TestAnUnknownKindBlocksItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t)
		if err := deployed(graph(res("Plain", "old", m{}), res("Named", "a", m{"color": "red"})))(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if err := s.Without("sim.Plain"); err != nil {
			t.Fatal(err)
		}
		s.Run(t.Context(), deploy(res("Named", "a", m{"color": "blue"}), res("Named", "b", m{})), nil)
		r := s.Run(t.Context(), simtest.Command{Destroy: true}, nil)
		var left []string
		for _, o := range s.Cloud.Objects() {
			left = append(left, o.Owner.Address)
		}
		if !r.Failed() || len(left) != 1 || left[0] != "old" {
			t.Errorf("left: %v; %v", left, failure(r))
		}
	})
}
