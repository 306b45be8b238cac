package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// slowStore is a store whose disk takes until it is told to go on.
type slowStore struct {
	statestore.Store
	goOn <-chan struct{}
}

func (s *slowStore) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	select {
	case <-s.goOn:
	case <-time.After(time.Minute):
		return lease, errors.New("nobody went on before this commit")
	}
	return s.Store.Commit(ctx, lease, batch)
}

// slow holds all commits back until the work on an address has begun.
func (b *bench) slow(addr string) {
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	b.e.Events = func(e engine.Event) {
		if e.Type == engine.EventStart && e.Address == addr {
			once()
		}
	}
	b.e.Store = &slowStore{Store: b.store, goOn: begun}
}

// TestWhatIsComputedGoesOnAheadOfTheDisk: the last of a chain begins before the first is durable, when it is made, when it is
// changed and when it is taken away; all of it takes a few commits.
func TestWhatIsComputedGoesOnAheadOfTheDisk(t *testing.T) {
	const n = 40
	b, last := newBench(t), fmt.Sprintf("n%d", n-1)
	g := chain(n)
	b.slow(last)
	if r := b.deploy(g); r.Summary.Created != n || r.Commits > 5 {
		t.Errorf("%+v, %d commits", r.Summary, r.Commits)
	}
	g.Resources[0].Props = m{"text": "other"}
	b.slow(last)
	if r := b.deploy(g); r.Summary.Updated != n || r.Commits > 5 {
		t.Errorf("%+v, %d commits", r.Summary, r.Commits)
	}
	b.e.Store, b.e.Events = b.store, nil
	b.settled(g)
	b.slow("n0")
	if r := b.destroy(); r.Summary.Deleted != n || r.Commits > 5 {
		t.Errorf("%+v, %d commits", r.Summary, r.Commits)
	}
	if rows := b.rows(); rows != "" {
		t.Errorf("left: %s", rows)
	}
}

// TestWhatChangesTheCloudComesAfter: when something is created, or changed, all that it was computed from is in state.
func TestWhatChangesTheCloudComesAfter(t *testing.T) {
	b, last := newBench(t), "⟦n7.text⟧"
	g := chain(8)
	g.Resources = append(g.Resources, res("a", m{"color": last}), kind("Assigned", res("b", m{"color": last})))
	var looked atomic.Int64
	b.world.during = func(op, _ string) {
		if op != "create" && op != "set" {
			return
		}
		looked.Add(1)
		snap, err := b.store.Load(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"})
		if err != nil {
			t.Error(err)
			return
		}
		for i := range 8 {
			row, ok := snap.Rows[fmt.Sprintf("n%d", i)]
			if !ok || op == "set" && row.Version < 2 {
				t.Errorf("%s: n%d is not on record as it is now", op, i)
			}
		}
	}
	b.deploy(g)
	g.Resources[0].Props = m{"text": "other"}
	b.deploy(g)
	if n := looked.Load(); n != 4 {
		t.Errorf("%d changes of the world", n)
	}
	b.settled(g)
	// Each row names what it needs, also where that was not durable yet.
	for i := 1; i < 8; i++ {
		if row := b.row(fmt.Sprintf("n%d", i)); len(row.Needs) != 1 {
			t.Errorf("n%d needs %q", i, row.Needs)
		}
	}
}

// TestRefusedAheadIsAFailure: the commit of one that others went ahead of is refused.
func TestRefusedAheadIsAFailure(t *testing.T) {
	b := newBench(t)
	b.e.Store = &fullStore{Store: b.store}
	p := b.plan(chain(8))
	if r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"}); err == nil && len(r.Failures) == 0 {
		t.Error("it was done")
	}
	b.e.Store = b.store
	b.open()
	b.deploy(chain(8))
	b.settled(chain(8))
}

// fullStore takes no commit of entries.
type fullStore struct{ statestore.Store }

func (s *fullStore) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	if len(batch.Put) > 0 {
		return lease, &statestore.InvalidError{Rule: "full"}
	}
	return s.Store.Commit(ctx, lease, batch)
}
