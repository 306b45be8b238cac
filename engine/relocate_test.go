package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// renames reads "a b c d" as a to b and c to d.
func renames(words string) (list []engine.Rename) {
	w := strings.Fields(words)
	for i := 0; i < len(w); i += 2 {
		list = append(list, engine.Rename{From: w[i], To: w[i+1]})
	}
	return list
}

func (b *bench) planMove(words string) (*engine.Plan, error) {
	return b.e.PlanMove(b.t.Context(), testStage, "", renames(words))
}

func (b *bench) move(words string) *engine.Result {
	b.t.Helper()
	p, err := b.planMove(words)
	if err != nil {
		b.t.Fatalf("plan mv %s: %v", words, err)
	}
	return b.do(p)
}

// do applies the plan of a state command.
func (b *bench) do(p *engine.Plan) *engine.Result {
	b.t.Helper()
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{Command: "state"})
	if err != nil {
		b.t.Fatalf("state: %v", err)
	}
	return r
}

// rows are the addresses in state.
func (b *bench) rows() string {
	b.t.Helper()
	rows, err := b.e.Rows(b.t.Context(), testStage, false)
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, r := range rows {
		all = append(all, r.Address)
	}
	return strings.Join(all, " ")
}

// marked returns the addresses in the owner tags of objects of one color.
func (b *bench) marked(color string) string {
	for _, t := range b.world.things {
		if t.Color == color {
			return adopt.MarkOf(t.Tags).Address
		}
	}
	return "nothing is " + color
}

// moveStory is one move with what is deployed before and what the program says afterwards.
type moveStory struct {
	name, words   string
	before, after *engine.Graph
	calls         int
}

func moveStories() []moveStory {
	assigned := func(addr string, p m, c ...func(*engine.Options)) engine.Resource {
		return kind("Assigned", res(addr, p, c...))
	}
	with := func(addr string) func(*engine.Options) { return func(o *engine.Options) { o.DeletedWith = addr } }
	after := func(addr string) func(*engine.Options) {
		return func(o *engine.Options) { o.DependsOn = []string{addr} }
	}
	return []moveStory{
		{
			name: "one, with those that need it", words: "a n", calls: 1,
			before: graph(res("a", m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"}, with("a"), after("a"))),
			after:  graph(res("n", m{"color": "red"}), res("b", m{"after": "⟦n.id⟧"}, with("n"), after("n"))),
		},
		{
			name: "found by its mark alone", words: "a n", calls: 1,
			before: graph(assigned("a", m{"color": "red"})), after: graph(assigned("n", m{"color": "red"})),
		},
		{
			name: "chain", words: "a b b c", calls: 2,
			before: graph(res("a", m{"color": "red"}), res("b", m{"color": "blue"})),
			after:  graph(res("b", m{"color": "red"}), res("c", m{"color": "blue"})),
		},
		{
			name: "swap", words: "a b b a", calls: 2,
			before: graph(res("a", m{"color": "red"}), res("b", m{"color": "blue", "after": "⟦a.id⟧"})),
			after:  graph(res("b", m{"color": "red"}), res("a", m{"color": "blue", "after": "⟦b.id⟧"})),
		},
		{
			name: "cycle", words: "a c", calls: 1,
			before: graph(res("a", m{"peer": "⟦b.id⟧"}), res("b", m{"peer": "⟦a.id⟧"})),
			after:  graph(res("c", m{"peer": "⟦b.id⟧"}), res("b", m{"peer": "⟦c.id⟧"})),
		},
		{
			name: "scope", words: "net/ core/", calls: 2,
			before: graph(res("net/a", m{"color": "red"}), res("net/b[x]", m{"after": "⟦net/a.id⟧"}), res("out", m{"color": "blue"})),
			after:  graph(res("core/a", m{"color": "red"}), res("core/b[x]", m{"after": "⟦core/a.id⟧"}), res("out", m{"color": "blue"})),
		},
		{
			name: "everything into a scope", words: "/ net/", calls: 2,
			before: graph(res("a", m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"})),
			after:  graph(res("net/a", m{"color": "red"}), res("net/b", m{"after": "⟦net/a.id⟧"})),
		},
		{
			name: "what needs no mark", words: "note note2 same same2 pot pot2", calls: 0,
			before: graph(kind("Note", res("note", m{"text": "x"})), kind("Same", res("same", m{"name": "same"})), kind("Bare", res("pot", m{"name": "pot"}))),
			after:  graph(kind("Note", res("note2", m{"text": "x"})), kind("Same", res("same2", m{"name": "same"})), kind("Bare", res("pot2", m{"name": "pot"}))),
		},
	}
}

// TestStateMove: a move rewrites owner tags and nothing else, and the program that was renamed finds nothing to do.
func TestStateMove(t *testing.T) {
	for _, s := range moveStories() {
		t.Run(s.name, func(t *testing.T) {
			b := newBench(t)
			b.deploy(s.before)
			b.world.takeLog()
			r := b.move(s.words)
			if log := b.world.takeLog(); len(log) != s.calls || strings.Contains(strings.ReplaceAll(strings.Join(log, " "), "tag ", ""), "set ") {
				t.Errorf("calls: %v, want %d", log, s.calls)
			}
			if r.State != statestore.Succeeded || r.Summary.Failed > 0 {
				t.Errorf("%+v", r)
			}
			b.settled(s.after)
			if snap, err := b.store.Load(t.Context(), testStage); err != nil || len(snap.Check()) > 0 || snap.LastRun.Command != "state" {
				t.Errorf("record: %v %v %+v", err, snap.Check(), snap.LastRun)
			}
			b.opts.TakeOver = true
			b.world.during = b.world.takeAlong
			if r := b.deploy(graph()); len(b.world.things) > 0 || len(r.Failures) > 0 {
				t.Errorf("what was moved cannot be deleted: %v %s", b.world.names(), failures(r))
			}
		})
	}
}

// TestStateMoveOutlivesTheRecord: what was moved is found under its new address when the record is lost.
func TestStateMoveOutlivesTheRecord(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	b.move("a n")
	b.lose()
	if got := actions(b.plan(graph(res("n", m{"color": "red"})))); got != "n:recover" {
		t.Error(got)
	}
}

// TestStateMoveLeavesDriftAlone: a move rewrites owner tags, not what somebody changed.
func TestStateMoveLeavesDriftAlone(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	for _, th := range b.world.things {
		th.Color, th.Tags["team"] = "green", "x"
	}
	b.move("a n")
	if got := b.marked("green"); got != "n" {
		t.Errorf("marked %s", got)
	}
	if p := b.plan(graph(res("n", m{"color": "red"}))); actions(p) != "n:update" {
		t.Errorf("drift: %s %s", actions(p), reasons(p))
	}
}

// TestMovesKeepWhatCannotBeRead: a value that was written and is never shown is the same at another address, by the command, by
// renamedFrom and in another stage. It would replace the object otherwise.
func TestMovesKeepWhatCannotBeRead(t *testing.T) {
	blind := func(addr string, c ...func(*engine.Options)) engine.Resource {
		return kind("Blind", res(addr, m{"tokens": "s3cr3t"}, c...))
	}
	b := newBench(t)
	b.deploy(graph(blind("a")))
	b.move("a n")
	b.settled(graph(blind("n")))
	b.move("n o")
	b.settled(graph(blind("o")))
	g := graph(blind("p", func(o *engine.Options) { o.RenamedFrom = []string{"o"} }))
	if got := actions(b.plan(g)); got != "p:move" && got != "p:update" {
		t.Errorf("renamed: %s", got)
	}
	b.deploy(g)
	if p := b.plan(g); p.Pending() {
		t.Errorf("still pending: %s: %s", actions(p), reasons(p))
	}
	r := &relocating{b, b.second("zoo"), "zoo"}
	r.move("p q")
	r.to.settled(in("zoo", graph(blind("q"))))
	if len(b.world.made) != 1 || len(b.world.gone) > 0 {
		t.Errorf("made %v, deleted %v", b.world.made, b.world.gone)
	}
}

func TestStateMoveIsRefused(t *testing.T) {
	all := func() *engine.Graph {
		return graph(res("a", m{"color": "red"}), res("b", m{"color": "blue"}), kind("Bare", res("bare", m{})), res("net/x", m{}))
	}
	for _, c := range []struct {
		name, words, want, hint string
		prep                    func(*bench)
	}{
		{name: "taken", words: "a b", want: "a: b is already in state", hint: "state rm b"},
		{name: "unknown", words: "aa n", want: `state has no entry "aa"`, hint: "did you mean a?"},
		{name: "one to two", words: "a n a o", want: "a: it cannot move to n and to o"},
		{name: "two to one", words: "a n b n", want: "b: a moves to n too"},
		{name: "nowhere", words: "a a", want: "a: it is there already"},
		{name: "bad address", words: "a 1", want: `bad address "1"`},
		{name: "scope and address", words: "net/ core", want: "a scope and a single address"},
		{name: "empty scope", words: "no/ core/", want: "no/: state has nothing in this scope"},
		{name: "no mark", words: "bare n", want: "has no owner tag", hint: "renamedFrom: [bare]"},
		{name: "gone", words: "a n", want: "is missing", prep: func(b *bench) { clear(b.world.things) }},
		{name: "another's", words: "a n", want: "belongs to x of other/prod", prep: func(b *bench) {
			for _, th := range b.world.things {
				th.Tags = adopt.Tags(reconcile.Mark{Stack: "other", Stage: "prod", Address: "x", Generation: 1})
			}
		}},
		{name: "another account", words: "a n", want: "these credentials lead to world/2", hint: "credentials", prep: func(b *bench) { b.world.account = "2" }},
		{name: "denied read", words: "a n", want: "denied", prep: func(b *bench) {
			for name := range b.world.things {
				b.world.fail["observe "+name] = errDenied
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.deploy(all())
			before, rows := b.world.shape(), b.rows()
			b.world.takeLog()
			if c.prep != nil {
				c.prep(b)
				before = b.world.shape()
			}
			_, err := b.planMove(c.words)
			if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if hints := strings.Join(reconcile.Hints(err), " "); !strings.Contains(hints, c.hint) {
				t.Errorf("hints %q, want %q", hints, c.hint)
			}
			if len(b.world.takeLog()) > 0 || b.world.shape() != before || b.rows() != rows {
				t.Error("a refused move changed something")
			}
		})
	}
}

// TestStateMoveTurnsBack: an owner tag that cannot be written turns everything back, the tags that were written too.
func TestStateMoveTurnsBack(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red", "name": "a"}), res("b", m{"color": "blue", "name": "b", "after": "⟦a.id⟧"}))
	b.deploy(g)
	p, err := b.planMove("a x b y")
	if err != nil {
		t.Fatal(err)
	}
	b.world.fail["tag b"] = errDenied
	if _, err = b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "state"}); !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "b: set tags") {
		t.Fatalf("err = %v", err)
	}
	if b.marked("red") != "a" || b.marked("blue") != "b" || b.rows() != "a b" {
		t.Errorf("marks %s %s, rows %s", b.marked("red"), b.marked("blue"), b.rows())
	}
	delete(b.world.fail, "tag b")
	b.settled(g)

	// Not even that is possible: the rows are back, and the next deploy writes the tags that are left.
	p, err = b.planMove("a x b y")
	if err != nil {
		t.Fatal(err)
	}
	b.world.fail["tag b"] = errDenied
	b.world.during = func(op, name string) {
		if op == "tag" && name == "a" && b.marked("red") == "x" {
			b.world.mu.Lock()
			b.world.fail["tag a"] = errDenied
			b.world.mu.Unlock()
		}
	}
	if _, err = b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "state"}); !errors.Is(err, errDenied) || b.rows() != "a b" {
		t.Fatalf("err = %v, rows %s", err, b.rows())
	}
	clear(b.world.fail)
	b.world.during = nil
	b.deploy(g)
	if b.marked("red") != "a" || b.marked("blue") != "b" {
		t.Errorf("marks %s %s", b.marked("red"), b.marked("blue"))
	}
	b.settled(g)
}

// TestStateMoveCrashes ends the process at every point of every move; the deploy of the renamed program heals it, or of
// the old program where the rows had not moved, and the same move again does too.
func TestStateMoveCrashes(t *testing.T) {
	for _, s := range moveStories() {
		t.Run(s.name, func(t *testing.T) {
			points := s.cut(t, -1, func(*bench) {})
			for at, point := range points {
				t.Run(fmt.Sprintf("%d %s", at, point), func(t *testing.T) {
					s.cut(t, at, func(b *bench) {
						g := s.before
						if b.rows() == moved(t, s) {
							g = s.after
						}
						b.deploy(g)
						b.settled(g)
						for what, n := range b.world.made {
							if n > 1 {
								t.Errorf("%s was created %d times", what, n)
							}
						}
						if len(b.world.gone) > 0 {
							t.Errorf("deleted: %v", b.world.gone)
						}
					})
					if at == len(points)-1 { // it was done, and only its end was not heard of
						return
					}
					s.cut(t, at, func(b *bench) {
						b.move(s.words)
						b.settled(s.after)
					})
				})
			}
		})
	}
}

// moved returns the rows after a whole move. A swap looks the same before and after: there the owner tags say it.
func moved(t *testing.T, s moveStory) string {
	b := newBench(t)
	b.deploy(s.before)
	b.move(s.words)
	return b.rows()
}

// cut runs a move until a point and hands over what is left, unlocked.
func (s moveStory) cut(t *testing.T, at int, then func(*bench)) []string {
	t.Helper()
	b := newBench(t)
	b.deploy(s.before)
	p, err := b.planMove(s.words)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Store: b.store, at: at}
	b.e.Store, b.world.cut = c, c.point
	_, err = b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "state"})
	if at < 0 && err != nil {
		t.Fatal(err)
	}
	b.world.cut, b.e.Store = nil, c.Store
	if _, err := b.store.Interrupt(t.Context(), testStage, statestore.Order{Unlock: true, Who: "test", Why: "the process is gone"}); err != nil {
		t.Fatal(err)
	}
	then(b)
	return c.points
}
