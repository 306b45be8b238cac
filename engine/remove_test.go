package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

func (b *bench) planRemove(globs ...string) (*engine.Plan, error) {
	return b.e.PlanRemove(b.t.Context(), testStage, globs)
}

// TestStateRemove: rows are removed with what they are about named, and the cloud is not even read.
func TestStateRemove(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"}), res("net/x", m{}), res("net/y", m{}))
	b.deploy(g)
	b.world.takeLog()
	reads := b.world.reads

	_, err := b.planRemove("a")
	needed, ok := errors.AsType[*statestore.NeededError](err)
	if !errors.Is(err, engine.ErrRefused) || !ok || !slices.Equal(needed.By, []string{"b"}) || !strings.Contains(strings.Join(reconcile.Hints(err), ""), "state rm a b") {
		t.Fatalf("needed: %v %v", err, reconcile.Hints(err))
	}
	if _, err := b.planRemove("bb"); !strings.Contains(strings.Join(reconcile.Hints(err), ""), "did you mean b?") {
		t.Errorf("unknown: %v", err)
	}
	p, err := b.planRemove("a", "b", "net/*")
	if err != nil || actions(p) != "a:forget b:forget net/x:forget net/y:forget" || !strings.HasPrefix(p.Actions[0].Identity, "thing:shop-test-a-") {
		t.Fatalf("%v %+v", err, p)
	}
	r := b.do(p)
	if r.Summary.Forgotten != 4 || r.State != statestore.Succeeded || b.rows() != "" || len(b.world.things) != 4 || b.world.reads != reads || len(b.world.takeLog()) > 0 {
		t.Errorf("%+v, rows %q, %d things", r.Summary, b.rows(), len(b.world.things))
	}
	if got := actions(b.plan(g)); got != "a:recover b:recover net/x:recover net/y:recover" {
		t.Errorf("what was forgotten is found again: %s", got)
	}
}

// TestStateRemoveOfWhatCannotBeRead: a row of another key is named, and goes.
func TestStateRemoveOfWhatCannotBeRead(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), res("b", m{}))
	b.deploy(g)
	b.spoil("a")
	if _, err := b.planMove("a n"); err == nil || !strings.Contains(err.Error(), "a: its state entry cannot be read") {
		t.Errorf("mv: %v", err)
	}
	p, err := b.planRemove("a")
	if err != nil {
		t.Fatal(err)
	}
	b.do(p)
	if b.rows() != "b" {
		t.Errorf("rows %s", b.rows())
	}
	b.deploy(g)
	b.settled(g)
}

// spoil makes the sealed part of a row something that does not open.
func (b *bench) spoil(addr string) {
	b.t.Helper()
	b.edit(func(snap *statestore.Snapshot) statestore.Change {
		row := snap.Rows[addr]
		row.Body = append(slices.Clone(row.Body), 1)
		return statestore.Change{Put: []statestore.Row{row}}
	})
}

// edit writes to the record behind the engine's back.
func (b *bench) edit(change func(*statestore.Snapshot) statestore.Change) {
	b.t.Helper()
	snap, err := b.store.Load(b.t.Context(), testStage)
	if err != nil {
		b.t.Fatal(err)
	}
	j, err := statestore.Begin(b.t.Context(), b.store, testStage, statestore.Claim{Run: rand.Text(), Command: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer j.Close()
	if err := j.FinishWith(b.t.Context(), change(snap), statestore.Succeeded, nil); err != nil {
		b.t.Fatal(err)
	}
}

// TestStateCommandsTakeTheLease: while another run holds the stage nothing is changed, and the holder is named.
func TestStateCommandsTakeTheLease(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	move, err := b.planMove("a n")
	if err != nil {
		t.Fatal(err)
	}
	remove, err := b.planRemove("a")
	if err != nil {
		t.Fatal(err)
	}
	j, err := statestore.Begin(t.Context(), b.store, testStage, statestore.Claim{Run: "other", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, p := range []*engine.Plan{move, remove} {
		_, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "state"})
		if held, ok := errors.AsType[*statestore.HeldError](err); !ok || held.Holder.Run != "other" {
			t.Errorf("%v", err)
		}
	}
	if b.rows() != "a" || b.marked("red") != "a" {
		t.Errorf("rows %s, marked %s", b.rows(), b.marked("red"))
	}
}

// TestStateCommandsAreHeldToTheirPlan: when the record moved before the lease was there, it is planned and asked for again.
func TestStateCommandsAreHeldToTheirPlan(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	p, err := b.planRemove("*")
	if err != nil {
		t.Fatal(err)
	}
	b.deploy(graph(res("a", m{"color": "red"}), res("b", m{})))
	asked := ""
	o := engine.ApplyOptions{Command: "state", Approve: func(p *engine.Plan) bool { asked = actions(p); return false }}
	if _, err := b.e.Apply(t.Context(), p, o); !errors.Is(err, engine.ErrNotApproved) || asked != "a:forget b:forget" || b.rows() != "a b" {
		t.Errorf("%v, asked %q, rows %s", err, asked, b.rows())
	}
}

// TestStateMoveIsStopped: an interrupt leaves the rows moved and says whose owner tags are left; the same again
// finishes.
func TestStateMoveIsStopped(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	p, err := b.planMove("a n")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.world.during = func(op, _ string) {
		if op == "observe" {
			cancel()
		}
	}
	_, err = b.e.Apply(ctx, p, engine.ApplyOptions{Command: "state"})
	b.world.during = nil
	half, ok := errors.AsType[*engine.HalfMovedError](err)
	if !ok || !slices.Equal(half.Addresses, []string{"n"}) || b.rows() != "n" || b.marked("red") != "a" {
		t.Fatalf("%v, rows %s, marked %s", err, b.rows(), b.marked("red"))
	}
	if p := b.plan(graph(res("a", m{"color": "red"}))); !strings.Contains(strings.Join(p.Actions[1].Notes, " "), "`athanor state mv a n` finishes that") {
		t.Errorf("the old program is not told: %s %v", actions(p), p.Actions[1].Notes)
	}
	if r := b.move("a n"); r.Summary.Moved != 1 || b.marked("red") != "n" {
		t.Errorf("%+v, marked %s", r.Summary, b.marked("red"))
	}
	b.settled(graph(res("n", m{"color": "red"})))
}

// TestStateRemoveOfALocation: a location that a destroy could not search is searched by the next one, with credentials that
// lead there, and is given up by its name when nobody can reach it any more.
func TestStateRemoveOfALocation(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{}), res("b", m{})))
	b.loseRow("b")
	b.world.fail["list "] = errDenied
	blocked := func(when, why string) {
		t.Helper()
		p, err := b.e.PlanDestroy(t.Context(), testStage, nil, b.opts)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		hints := ""
		for _, a := range p.Blocked() {
			hints += a.Address + " " + a.Problem + " " + a.Hint
		}
		if !strings.HasPrefix(hints, "world/1 ") || !strings.Contains(hints, why) || !strings.Contains(hints, "athanor state rm world/1") {
			t.Errorf("%s: %q", when, hints)
		}
	}
	if r := b.destroy(); r.State != statestore.Failed || r.Complete() || b.rows() != "" || len(b.world.things) != 1 {
		t.Fatalf("%+v, rows %q, %d objects", r, b.rows(), len(b.world.things))
	}
	blocked("denied", "denied")
	delete(b.world.fail, "list ")
	b.world.account = "2"
	blocked("in another account", "these credentials lead to world/2")

	p, err := b.planRemove("world/1")
	if err != nil || actions(p) != "world/1:forget" {
		t.Fatalf("%v %+v", err, p)
	}
	if r := b.do(p); r.State != statestore.Succeeded {
		t.Errorf("%+v", r)
	}
	if _, err := b.planRemove("world/1"); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("it is still known: %v", err)
	}
	if _, err := b.e.PlanDestroy(t.Context(), testStage, nil, b.opts); !errors.Is(err, engine.ErrNothingKnown) {
		t.Errorf("nothing says where to search: %v", err)
	}
}

// TestNothingFoundIsNotLost: a stage without state, of which a destroy can look for nothing and finds nothing, has not lost its state.
func TestNothingFoundIsNotLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p, err := b.e.PlanDestroy(t.Context(), testStage, graph(res("a", m{"colour": "red"})), b.opts)
	if err != nil || actions(p) != "a:blocked" || p.Recovered {
		t.Errorf("%v, %s, state was lost: %t", err, actions(p), p.Recovered)
	}
}
