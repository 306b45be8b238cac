package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

var stage = statestore.Stage{Stack: "shop", Name: "test"}

func keyIn(t testing.TB) *seal.Key {
	t.Helper()
	t.Setenv(seal.EnvKeyFile, "")
	t.Setenv(seal.EnvPassphrase, "")
	key, err := seal.LoadOrMake(filepath.Join(t.TempDir(), "keys"), stage.Stack, stage.Name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Who asks for what a store can prove of itself gets it through the ring and the head.
func TestCheckReachesTheStore(t *testing.T) {
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var kept statestore.Store = keeper.New(&broken{store}, stage, keyIn(t), nil)
	checker, ok := kept.(interface {
		Check(ctx context.Context) ([]error, error)
	})
	if !ok {
		t.Fatal("it cannot be asked")
	}
	if found, err := checker.Check(t.Context()); err != nil || len(found) != 1 || !errors.Is(found[0], errBroken) {
		t.Errorf("found %v, %v", found, err)
	}
}

var errBroken = errors.New("broken")

// broken is a store that finds itself broken.
type broken struct{ statestore.Store }

func (*broken) Check(context.Context) ([]error, error) { return []error{errBroken}, nil }

// filled is a store with so many sealed rows and their head.
func filled(b *testing.B, n int) (statestore.Store, *seal.Key) {
	store, key := mem.New(), keyIn(b)
	j, err := statestore.Begin(b.Context(), keeper.NewWhole(store, stage, key), stage, statestore.Claim{Run: "fill", TTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	change := statestore.Change{KeyID: key.ID()}
	for i := range n {
		change.Put = append(change.Put, rowOf(key, i, 0))
	}
	if err := errors.Join(j.Commit(b.Context(), change), j.Finish(b.Context(), statestore.Succeeded, nil)); err != nil {
		b.Fatal(err)
	}
	return store, key
}

func rowOf(key *seal.Key, i int, version uint64) statestore.Row {
	address := fmt.Sprintf("net/row-%06d", i)
	return statestore.Row{
		Address: address, Version: version, Birth: address, Body: key.Seal(make([]byte, 1500), []byte(address)),
		Generations: []statestore.Generation{{Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Identity: address}},
	}
}

const manyRows = 10_000

// BenchmarkProve proves a state of 10,000 rows as each plan does once.
func BenchmarkProve(b *testing.B) {
	store, key := filled(b, manyRows)
	snap, err := store.Load(b.Context(), stage)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := keeper.NewWhole(store, stage, key).Prove(snap); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit changes one row of 10,000, with and without a head.
func BenchmarkCommit(b *testing.B) {
	for _, headed := range []bool{false, true} {
		b.Run(fmt.Sprintf("headed=%v", headed), func(b *testing.B) {
			store, key := filled(b, manyRows)
			if headed {
				store = keeper.NewWhole(store, stage, key)
			}
			j, err := statestore.Begin(b.Context(), store, stage, statestore.Claim{Run: "change", TTL: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			row := rowOf(key, 17, 1)
			if err := j.Commit(b.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil { // it loads first
				b.Fatal(err)
			}
			for b.Loop() {
				if err := j.Commit(b.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
