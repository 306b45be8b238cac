package keeper_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// written commits one row under a run of its own and returns the lease, and what the store itself then shows.
func written(t *testing.T, store statestore.Store, key *seal.Key, run string, row int, version uint64) (statestore.Lease, *statestore.Snapshot) {
	t.Helper()
	whole := keeper.NewWhole(store, stage, key)
	lease, err := whole.Acquire(t.Context(), stage, statestore.Claim{Run: run, Command: "deploy"})
	if err == nil {
		_, err = whole.Commit(t.Context(), lease, statestore.Batch{Seq: 1, KeyID: key.ID(), Put: []statestore.Row{rowOf(key, row, version)}, Finish: statestore.Succeeded})
	}
	if err != nil {
		t.Fatal(err)
	}
	snap, err := store.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	return lease, snap
}

// TestBegunSince: a state says under its key which run began it. Later runs do not change that, and nobody without the key.
func TestBegunSince(t *testing.T) {
	key := keyIn(t)
	old, lost := written(t, mem.New(), key, "one", 1, 0)
	var store statestore.Store
	var begun statestore.Lease
	for begun.Epoch <= old.Epoch { // epochs begin at the milliseconds of the clock
		store = mem.New()
		begun, _ = written(t, store, key, "two", 1, 0)
	}
	last, snap := written(t, store, key, "three", 1, 1)
	for epoch, want := range map[uint64]bool{old.Epoch: true, begun.Epoch - 1: true, begun.Epoch: false, last.Epoch: false} {
		if have := keeper.BegunSince(epoch, key, snap); have != want {
			t.Errorf("begun since %d: %t", epoch, have)
		}
	}
	if keeper.BegunSince(old.Epoch, key, lost) {
		t.Error("the lost one was begun since")
	}

	forged := *lost
	forged.Meta = maps.Clone(lost.Meta)
	for name, value := range snap.Meta {
		if string(value) != string(lost.Meta[name]) && name != "athanor.head" {
			forged.Meta[name] = value
		}
	}
	if len(forged.Meta) != len(lost.Meta) {
		t.Fatalf("facts %v and %v", forged.Meta, lost.Meta)
	}
	if keeper.BegunSince(old.Epoch, key, &forged) {
		t.Error("an older state with the fact of a newer one passes")
	}
	forged.Damaged = map[string]*statestore.DamagedError{"x": {Err: errors.New("damaged")}}
	if keeper.BegunSince(old.Epoch, key, &forged) {
		t.Error("so it does where an entry cannot be read")
	}
	delete(forged.Meta, "athanor.head")
	if forged.Damaged = nil; keeper.BegunSince(old.Epoch, key, &forged) {
		t.Error("so it does without a head")
	}

	loaded, err := keeper.NewWhole(store, stage, key).Load(t.Context(), stage)
	if err != nil || loaded.Meta["athanor.begun"] != nil {
		t.Errorf("the fact is shown: %v, %v", loaded.Meta, err)
	}
}
