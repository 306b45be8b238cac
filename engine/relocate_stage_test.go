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
	"github.com/athanor-dev/athanor/statestore/seal"
)

// second is another stage of a bench's store, with a key of its own.
func (b *bench) second(stack string) *bench {
	b.t.Helper()
	key, err := seal.LoadOrMake(b.t.TempDir(), stack, "test")
	if err != nil {
		b.t.Fatal(err)
	}
	other := &bench{t: b.t, world: b.world, store: b.store}
	other.e = &engine.Engine{Catalog: b.e.Catalog, Store: b.store, Key: key}
	return other
}

// in is a graph of another stack.
func in(stack string, g *engine.Graph) *engine.Graph {
	g.Stack = stack
	return g
}

// relocating is a move from shop/test to a stage of another stack.
type relocating struct {
	from, to *bench
	stack    string
}

func newRelocating(t *testing.T, stack string) *relocating {
	from := newBench(t)
	return &relocating{from, from.second(stack), stack}
}

func (r *relocating) plan(words string) (*engine.Relocation, error) {
	end := func(b *bench, stack string) engine.StageEnd {
		return engine.StageEnd{Engine: b.e, Stage: statestore.Stage{Stack: stack, Name: "test"}}
	}
	derives := func(kind string) bool { return kind == "world.Note" }
	return engine.PlanRelocation(r.from.t.Context(), end(r.from, "shop"), end(r.to, r.stack), renames(words), derives)
}

func (r *relocating) move(words string) *engine.Result {
	r.from.t.Helper()
	m, err := r.plan(words)
	if err != nil {
		r.from.t.Fatalf("plan mv %s: %v", words, err)
	}
	res, err := m.Apply(r.from.t.Context(), engine.ApplyOptions{Command: "state"})
	if err != nil {
		r.from.t.Fatalf("mv %s: %v", words, err)
	}
	return res
}

// rows are the addresses in the state of both stages.
func (r *relocating) rows() string {
	r.from.t.Helper()
	there, err := r.to.e.Rows(r.from.t.Context(), statestore.Stage{Stack: r.stack, Name: "test"}, false)
	if err != nil {
		r.from.t.Fatal(err)
	}
	all := r.from.rows() + " |"
	for _, row := range there {
		all += " " + row.Address
	}
	return strings.TrimSpace(all)
}

// relocation is one move with the programs of both stacks before and after it.
type relocation struct {
	name, words                                  string
	before, after, beforeThere, there            *engine.Graph
	calls                                        int
	rowsBefore, rowsAfter, marked, markedAddress string
}

// relocations are moves to a stack. Its name decides whose lease is taken first.
func relocations(stack string) []relocation {
	assigned := func(addr string, p m) engine.Resource { return kind("Assigned", res(addr, p)) }
	return []relocation{
		{
			name: "one", words: "a n", calls: 1, rowsBefore: "a b |", rowsAfter: "b | n", marked: "red", markedAddress: stack + " n",
			before: graph(res("a", m{"color": "red"}), res("b", m{"color": "blue"})), after: graph(res("b", m{"color": "blue"})),
			beforeThere: in(stack, graph()), there: in(stack, graph(res("n", m{"color": "red"}))),
		},
		{
			name: "found by its tag alone, beside another", words: "a a", calls: 1, rowsBefore: "a | x", rowsAfter: "| a x", marked: "red", markedAddress: stack + " a",
			before: graph(assigned("a", m{"color": "red"})), after: graph(),
			beforeThere: in(stack, graph(res("x", m{}))), there: in(stack, graph(res("x", m{}), assigned("a", m{"color": "red"}))),
		},
		{
			name: "with what needs it", words: "a n b m", calls: 2, rowsBefore: "a b c |", rowsAfter: "c | m n", marked: "blue", markedAddress: stack + " m",
			before: graph(
				res("a", m{"color": "red"}), res("c", m{}),
				res("b", m{"color": "blue", "after": "⟦a.id⟧"}, func(o *engine.Options) { o.DependsOn = []string{"a", "c"} }),
			),
			after: graph(res("c", m{})), beforeThere: in(stack, graph()),
			there: in(stack, graph(res("n", m{"color": "red"}), res("m", m{"color": "blue", "after": "⟦n.id⟧"}, func(o *engine.Options) { o.DependsOn = []string{"n"} }))),
		},
		{
			name: "what has no owner tag", words: "same other pot pot", calls: 0, rowsBefore: "pot same |", rowsAfter: "| other pot",
			before: graph(kind("Same", res("same", m{"name": "same"})), kind("Bare", res("pot", m{"name": "pot"}))), after: graph(),
			beforeThere: in(stack, graph()),
			there:       in(stack, graph(kind("Same", res("other", m{"name": "same"})), kind("Bare", res("pot", m{"name": "pot"})))),
		},
	}
}

func (s relocation) begin(t *testing.T, stack string) *relocating {
	r := newRelocating(t, stack)
	r.from.deploy(s.before)
	if len(s.beforeThere.Resources) > 0 {
		r.to.deploy(s.beforeThere)
	}
	if got := r.rows(); got != s.rowsBefore {
		t.Fatalf("rows %q before, want %q", got, s.rowsBefore)
	}
	r.from.world.takeLog()
	return r
}

// eachRelocation runs a test with every move, in both orders of the leases.
func eachRelocation(t *testing.T, do func(t *testing.T, stack string, s relocation)) {
	for _, stack := range []string{"apex", "zoo"} {
		for _, s := range relocations(stack) {
			t.Run(stack+"/"+s.name, func(t *testing.T) { do(t, stack, s) })
		}
	}
}

// moved checks that a move is complete: what the programs of both stacks declare now is there, and nothing was created or
// deleted on the way.
func (s relocation) moved(t *testing.T, r *relocating) {
	t.Helper()
	if got := r.rows(); got != s.rowsAfter {
		t.Errorf("rows %q, want %q", got, s.rowsAfter)
	}
	for _, th := range r.from.world.things {
		if mark := adopt.MarkOf(th.Tags); s.marked != "" && th.Color == s.marked && mark.Stack+" "+mark.Address != s.markedAddress {
			t.Errorf("tagged %+v", mark)
		}
	}
	r.from.settled(s.after)
	r.to.settled(s.there)
	s.untouched(t, r)
}

func (s relocation) untouched(t *testing.T, r *relocating) {
	t.Helper()
	if len(r.from.world.gone) > 0 {
		t.Errorf("deleted: %v", r.from.world.gone)
	}
	if made := len(r.from.world.made); made != len(s.before.Resources)+len(s.beforeThere.Resources) {
		t.Errorf("created: %v", r.from.world.made)
	}
}

// TestMoveToAnotherStage: a move across stacks rewrites owner tags and nothing else, and both programs find nothing to do.
func TestMoveToAnotherStage(t *testing.T) {
	eachRelocation(t, func(t *testing.T, stack string, s relocation) {
		r := s.begin(t, stack)
		res := r.move(s.words)
		if log := r.from.world.takeLog(); len(log) != s.calls || strings.Contains(strings.Join(log, " "), "set ") {
			t.Errorf("calls: %v, want %d", log, s.calls)
		}
		if res.State != statestore.Succeeded || res.Summary.Moved != len(strings.Fields(s.words))/2 {
			t.Errorf("%+v", res)
		}
		s.moved(t, r)
		for _, where := range []string{"shop", stack} {
			snap, err := r.from.store.Load(t.Context(), statestore.Stage{Stack: where, Name: "test"})
			if err != nil || len(snap.Check()) > 0 || snap.Holder != nil || snap.LastRun.Command != "state" || snap.LastRun.State != statestore.Succeeded {
				t.Errorf("%s: %v %v %+v", where, err, snap.Check(), snap.LastRun)
			}
		}
		for _, b := range []struct {
			*bench
			g *engine.Graph
		}{{r.from, graph()}, {r.to, in(stack, graph())}} {
			if res := b.deploy(b.g); len(res.Failures) > 0 {
				t.Errorf("delete: %s", failures(res))
			}
		}
		if len(r.from.world.things) > 0 {
			t.Errorf("left: %v", r.from.world.names())
		}
	})
}

// TestMoveToAnotherStageIsCut ends the process before and after every commit and every call of every move. What moves is never in
// the state of no stage; while both stages have it neither can be planned, and the error says what to run; the same move again
// completes it, and so do the programs where one stage has it.
func TestMoveToAnotherStageIsCut(t *testing.T) {
	eachRelocation(t, func(t *testing.T, stack string, s relocation) {
		points := s.cut(t, stack, -1, func(*relocating) {})
		if least := 8 + 2*s.calls; len(points) < least {
			t.Fatalf("%d points, want at least %d: %v", len(points), least, points)
		}
		seen := map[string]bool{}
		for at, point := range points {
			t.Run(fmt.Sprintf("%d %s", at, point), func(t *testing.T) {
				s.cut(t, stack, at, func(r *relocating) { seen[s.halfway(t, r)] = true })
				s.cut(t, stack, at, func(r *relocating) {
					switch _, err := r.plan(s.words); {
					case err == nil:
						r.move(s.words)
					case r.rows() != s.rowsAfter || !strings.Contains(err.Error(), "has no entry"): // what is over is not there any more
						t.Error(err)
					}
					s.moved(t, r)
				})
			})
		}
		for _, where := range []string{"source", "both", "target"} {
			if !seen[where] {
				t.Errorf("no cut left it in %s: %v", where, seen)
			}
		}
	})
}

// halfway checks what a cut left, goes on with programs alone where one stage has what moves, and returns which stage has it.
func (s relocation) halfway(t *testing.T, r *relocating) string {
	t.Helper()
	before, after := "", ""
	switch r.rows() {
	case s.rowsBefore:
		r.from.deploy(s.before)
		r.from.settled(s.before)
		s.untouched(t, r)
		return "source"
	case s.rowsAfter:
		r.from.settled(s.after)
		r.to.deploy(s.there)
		r.to.settled(s.there)
		s.untouched(t, r)
		return "target"
	default:
		before, _, _ = strings.Cut(s.rowsBefore, "|")
		_, after, _ = strings.Cut(s.rowsAfter, "|")
		if got := r.rows(); got != before+"|"+after {
			t.Fatalf("rows %q: some are in neither", got)
		}
	}
	plans := []func() (*engine.Plan, error){
		func() (*engine.Plan, error) { return r.from.e.Plan(t.Context(), s.before, r.from.opts) },
		func() (*engine.Plan, error) { return r.from.e.Plan(t.Context(), s.after, r.from.opts) },
		func() (*engine.Plan, error) { return r.to.e.Plan(t.Context(), s.there, r.to.opts) },
		func() (*engine.Plan, error) { return r.from.e.PlanDestroy(t.Context(), testStage, nil, r.from.opts) },
		func() (*engine.Plan, error) { return r.from.e.PlanDrift(t.Context(), testStage, nil, r.from.opts) },
		func() (*engine.Plan, error) { return r.from.planMove(strings.Fields(s.words)[0] + " elsewhere") },
	}
	for i, plan := range plans {
		_, err := plan()
		hints := strings.Join(reconcile.Hints(err), " ")
		words := strings.Fields(s.words)
		if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "both stages have it") ||
			!strings.Contains(hints, fmt.Sprintf("athanor state mv %s %s/test:%s --stack shop --stage test", words[0], r.stack, words[1])) {
			t.Errorf("plan %d: %v, hints %s", i, err, hints)
		}
	}
	return "both"
}

// cut runs a move until a point and hands over what is left, unlocked.
func (s relocation) cut(t *testing.T, stack string, at int, then func(*relocating)) []string {
	t.Helper()
	r := s.begin(t, stack)
	m, err := r.plan(s.words)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Store: r.from.store, at: at}
	r.from.e.Store, r.to.e.Store, r.from.world.cut = c, c, c.point
	_, err = m.Apply(t.Context(), engine.ApplyOptions{Command: "state"})
	if at < 0 && err != nil {
		t.Fatal(err)
	}
	r.from.world.cut, r.from.e.Store, r.to.e.Store = nil, c.Store, c.Store
	for _, where := range []string{"shop", stack} {
		order := statestore.Order{Unlock: true, Who: "test", Why: "the process is gone"}
		if _, err := c.Interrupt(t.Context(), statestore.Stage{Stack: where, Name: "test"}, order); err != nil {
			t.Fatal(err)
		}
	}
	then(r)
	return c.points
}

func TestMoveToAnotherStageIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, words, want, hint string
		prep                    func(*relocating)
	}{
		{name: "unknown", words: "aa n", want: `state has no entry "aa"`, hint: "did you mean a?"},
		{name: "taken there", words: "a x", want: "zoo/test has x already"},
		{name: "twice", words: "a n a o", want: "it is named twice"},
		{name: "two to one", words: "a n b n", want: "it is named twice"},
		{name: "bad address", words: "a 1", want: `bad address "1"`},
		{name: "scope", words: "net/ net/", want: "scopes move within a stage only"},
		{name: "is needed", words: "b n", want: "b: needed by c", hint: "an output of zoo"},
		{name: "no tag", words: "bare n", want: "has no owner tag"},
		{name: "derived", words: "note n", want: "derived from the key of shop/test", hint: "output of shop"},
		{name: "gone", words: "a n", want: "is missing", prep: func(r *relocating) { clear(r.from.world.things) }},
		{name: "another's", words: "a n", want: "belongs to x of other/prod", prep: func(r *relocating) {
			for _, th := range r.from.world.things {
				th.Tags = adopt.Tags(reconcile.Mark{Stack: "other", Stage: "prod", Address: "x", Generation: 1})
			}
		}},
		{name: "denied read", words: "a n", want: "denied", prep: func(r *relocating) {
			for name := range r.from.world.things {
				r.from.world.fail["observe "+name] = errDenied
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRelocating(t, "zoo")
			r.from.deploy(graph(
				res("a", m{"color": "red"}), res("b", m{"color": "blue"}), res("c", m{"after": "⟦b.id⟧"}), kind("Bare", res("bare", m{})),
				res("net/x", m{}), kind("Note", res("note", m{"text": "x"})),
			))
			r.to.deploy(in("zoo", graph(res("x", m{}))))
			rows := r.rows()
			r.from.world.takeLog()
			if c.prep != nil {
				c.prep(r)
			}
			before := r.from.world.shape()
			_, err := r.plan(c.words)
			if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if hints := strings.Join(reconcile.Hints(err), " "); !strings.Contains(hints, c.hint) {
				t.Errorf("hints %q, want %q", hints, c.hint)
			}
			if len(r.from.world.takeLog()) > 0 || r.from.world.shape() != before || r.rows() != rows {
				t.Error("a refused move changed something")
			}
		})
	}
}

// TestMoveToAnotherStageTurnsBack: an owner tag that cannot be written turns everything back, tags that were written too.
func TestMoveToAnotherStageTurnsBack(t *testing.T) {
	for _, stack := range []string{"apex", "zoo"} {
		r := newRelocating(t, stack)
		g := graph(res("a", m{"color": "red", "name": "a"}), res("b", m{"color": "blue", "name": "b", "after": "⟦a.id⟧"}))
		r.from.deploy(g)
		p, err := r.plan("a x b y")
		if err != nil {
			t.Fatal(err)
		}
		r.from.world.fail["tag b"] = errDenied
		if _, err = p.Apply(t.Context(), engine.ApplyOptions{Command: "state"}); !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "b: set tags") {
			t.Fatalf("err = %v", err)
		}
		if r.from.marked("red") != "a" || r.from.marked("blue") != "b" || r.rows() != "a b |" {
			t.Errorf("tags %s %s, rows %s", r.from.marked("red"), r.from.marked("blue"), r.rows())
		}
		delete(r.from.world.fail, "tag b")
		r.from.settled(g)
		r.move("a x b y")
		r.to.settled(in(stack, graph(res("x", m{"color": "red", "name": "a"}), res("y", m{"color": "blue", "name": "b", "after": "⟦x.id⟧"}))))
	}
}

// TestMoveToAnotherStageWaitsForNobody: a stage that another run holds refuses the move, and nothing is changed at the other end.
func TestMoveToAnotherStageWaitsForNobody(t *testing.T) {
	for _, held := range []string{"shop", "zoo"} {
		r := newRelocating(t, "zoo")
		g := graph(res("a", m{"color": "red"}))
		r.from.deploy(g)
		p, err := r.plan("a n")
		if err != nil {
			t.Fatal(err)
		}
		j, err := statestore.Begin(t.Context(), r.from.store, statestore.Stage{Stack: held, Name: "test"}, statestore.Claim{Run: "r1", Command: "deploy"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Apply(t.Context(), engine.ApplyOptions{Command: "state"}); !errors.Is(err, statestore.ErrHeld) {
			t.Errorf("%s is held: %v", held, err)
		}
		if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
			t.Fatal(err)
		}
		if r.rows() != "a |" || r.from.marked("red") != "a" {
			t.Errorf("%s is held: rows %s, tag %s", held, r.rows(), r.from.marked("red"))
		}
		r.from.settled(g)
	}
}

// TestMoveToAnotherStageAfterADeploy: state that moved between the plan and the lease is planned again.
func TestMoveToAnotherStageAfterADeploy(t *testing.T) {
	for _, stack := range []string{"apex", "zoo"} {
		r := newRelocating(t, stack)
		r.from.deploy(graph(res("a", m{"color": "red"})))
		p, err := r.plan("a n")
		if err != nil {
			t.Fatal(err)
		}
		r.from.deploy(graph(res("a", m{"color": "green"}), res("c", m{})))
		r.to.deploy(in(stack, graph(res("x", m{}))))
		if _, err := p.Apply(t.Context(), engine.ApplyOptions{Command: "state"}); err != nil {
			t.Fatal(err)
		}
		r.to.settled(in(stack, graph(res("x", m{}), res("n", m{"color": "green"}))))
		r.from.settled(graph(res("c", m{})))
	}
}
