package keeper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// counting counts how often a state is read.
type counting struct {
	statestore.Store
	loads int
}

func (c *counting) Load(ctx context.Context, of statestore.Stage) (*statestore.Snapshot, error) {
	c.loads++
	return c.Store.Load(ctx, of)
}

// TestBegin: one Load takes the snapshot that was read before, proven as if it was read by it; a run goes on from the state that is
// there by then.
func TestBegin(t *testing.T) {
	key, inner := keyIn(t), &counting{Store: mem.New()}
	_, before := written(t, inner.Store, key, "one", 1, 0)
	store := keeper.New(inner, stage, key, nil)
	store.Begin(before)
	if snap, err := store.Load(t.Context(), statestore.Stage{Stack: "other", Name: "test"}); err != nil || len(snap.Rows) > 0 || inner.loads != 1 {
		t.Fatalf("another stage: %v, %v, read %d times", snap, err, inner.loads)
	}
	written(t, inner.Store, key, "two", 2, 0)
	snap, err := store.Load(t.Context(), stage)
	if err != nil || len(snap.Rows) != 1 || len(snap.Meta) > 0 || inner.loads != 1 {
		t.Fatalf("the first: %v, %v, read %d times", snap, err, inner.loads)
	}
	lease, err := store.Acquire(t.Context(), stage, statestore.Claim{Run: "three", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	batch := statestore.Batch{Seq: 1, KeyID: key.ID(), Put: []statestore.Row{rowOf(key, 3, 0)}, Finish: statestore.Succeeded}
	if _, err = store.Commit(t.Context(), lease, batch); err != nil {
		t.Fatal(err)
	}
	read := inner.loads
	if snap, err = store.Load(t.Context(), stage); err != nil || len(snap.Rows) != 3 || inner.loads != read+1 {
		t.Errorf("after it: %v, %v, read %d times more", snap, err, inner.loads-read)
	}

	_, forged := written(t, mem.New(), key, "one", 1, 0)
	for address := range forged.Rows {
		delete(forged.Rows, address)
	}
	store = keeper.New(inner, stage, key, nil)
	store.Begin(forged)
	if _, err := store.Load(t.Context(), stage); !errors.Is(err, keeper.ErrTampered) {
		t.Errorf("a snapshot without its entry: %v", err)
	}
}
