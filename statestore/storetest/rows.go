package storetest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
)

var rowCases = map[string]func(*fixture){
	"never written":                neverWritten,
	"what is put is loaded":        putLoad,
	"versions":                     versions,
	"serial":                       serial,
	"injective addresses":          injectiveAddresses,
	"injective stages":             injectiveStages,
	"the longest names":            longestNames,
	"stages apart":                 stagesApart,
	"unlawful rows":                unlawfulRows,
	"one owner":                    oneOwner,
	"an identity passes on":        identityPasses,
	"needed":                       needed,
	"all of a batch or nothing":    allOrNothing,
	"facts and outputs":            factsAndOutputs,
	"ten thousand rows":            tenThousand,
	"one consistent version":       oneVersion,
	"cancelled contexts":           cancelledContexts,
	"identity of the store":        storeIdentity,
	"the caller's memory is freed": callersMemory,
}

func neverWritten(f *fixture) {
	snap := f.load()
	if snap.Serial != 0 || len(snap.Rows) != 0 || snap.Rows == nil || snap.Holder != nil || snap.LastRun != nil || snap.Stage != f.stage {
		f.Fatalf("an empty stage loads as %+v", snap)
	}
	if runs, err := f.store.Runs(f.Context(), f.stage, 0); err != nil || len(runs) != 0 {
		f.Fatalf("runs %v, %v", runs, err)
	}
	if events, err := f.store.Events(f.Context(), f.stage, "r", 0, 0); err != nil || len(events) != 0 {
		f.Fatalf("events %v, %v", events, err)
	}
	if stages, err := f.store.Stages(f.Context()); err != nil || len(stages) != 0 {
		f.Fatalf("stages %v, %v: reading made one", stages, err)
	}
	_, err := f.store.Commit(f.Context(), statestore.Lease{Stage: f.stage, Run: "r", Epoch: 1}, statestore.Batch{Seq: 1, Renew: true})
	if err == nil {
		f.Fatal("a commit without any lease was taken")
	}
	if snap := f.load(); snap.Serial != 0 || len(snap.Rows) != 0 {
		f.Fatal("a refused commit left something")
	}
}

func putLoad(f *fixture) {
	w := f.begin(f.store, "r1")
	full := row("net/a", 0, "net/b", "net/c")
	full.Birth = "old/a"
	full.Generations = append(full.Generations,
		statestore.Generation{Number: 9, State: statestore.Candidate, Slot: 3, Kind: "k", Place: statestore.Place{Provider: "p"}, Intent: true, Body: []byte{0, 255}},
		statestore.Generation{Number: 2, State: statestore.Condemned, Slot: 1, Kind: "other", Identity: "x"},
		statestore.Generation{Number: 3, State: statestore.Condemned, Kind: "other", Identity: "y"})
	bare := statestore.Row{Address: "bare", Generations: []statestore.Generation{{State: statestore.Candidate, Kind: "k", Intent: true}}}
	w.put(full, bare)
	got := f.load().Rows
	for _, want := range []statestore.Row{full, bare} {
		want.Version = 1
		want.Written = f.machine.now
		if !reflect.DeepEqual(got[want.Address], want) {
			f.Errorf("loaded\n%+v, want\n%+v", got[want.Address], want)
		}
	}
	f.lawful()
}

func versions(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	refused := func(r statestore.Row, want, have uint64) {
		f.Helper()
		err := w.try(statestore.Batch{Put: []statestore.Row{r}})
		conflict, ok := errors.AsType[*statestore.ConflictError](err)
		if !ok || !errors.Is(err, statestore.ErrConflict) || conflict.Want != want || conflict.Have != have || conflict.Address != "a" {
			f.Errorf("version %d against %d: %v", want, have, err)
		}
	}
	refused(row("a", 0), 0, 1)
	refused(row("a", 2), 2, 1)
	refused(gone("a", 0), 0, 1)
	w.put(row("a", 1))
	refused(row("a", 1), 1, 2)
	if v := f.load().Rows["a"].Version; v != 2 {
		f.Errorf("version is %d after two writes", v)
	}
	w.put(gone("a", 2))
	if _, there := f.load().Rows["a"]; there {
		f.Error("a removed row is still there")
	}
	refused(row("a", 2), 2, 0)
	refused(gone("a", 2), 2, 0)
	w.put(gone("a", 0)) // what must not be there and is not
	w.put(row("a", 0))
}

func serial(f *fixture) {
	w := f.begin(f.store, "r1")
	at := func(want uint64, what string) {
		f.Helper()
		if loaded, told := f.load().Serial, w.lease.Serial; loaded != want || told != want {
			f.Errorf("after %s serial %d is loaded and the lease tells %d, want %d", what, loaded, told, want)
		}
	}
	at(0, "acquire")
	w.put(row("a", 0), row("b", 0))
	at(1, "two rows in a batch")
	w.commit(statestore.Batch{Renew: true, KeyID: "k", Outputs: []byte("o"), Meta: map[string][]byte{"m": {1}}, Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}})
	at(1, "all that is no row")
	w.put(gone("nothing", 0))
	at(1, "removing nothing")
	w.put(row("a", 1))
	at(2, "a row")
	w.commit(statestore.Batch{Move: map[string]string{"a": "c"}})
	at(3, "a move")
	w.put(gone("b", 1))
	at(4, "a removal")
	w.finish()
	at(4, "the end")
	w = f.begin(f.store, "r2")
	at(4, "another run's acquire")
}

func stagesApart(f *fixture) {
	one := f.begin(f.store, "r1")
	one.put(row("a", 0))
	f.stage.Name = "other"
	two := f.begin(f.store, "r1")
	two.put(row("a", 0)) // same address, same identity: another stage is another world
	two.put(gone("a", 1))
	f.stage.Name = "test"
	if _, there := f.load().Rows["a"]; !there {
		f.Error("a stage lost a row that another one removed")
	}
	one.put(row("a", 1))
}

func allOrNothing(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0, "a"))
	before := f.load()
	err := w.try(statestore.Batch{
		Put: []statestore.Row{row("c", 0), row("b", 1), gone("a", 7)}, Move: map[string]string{"a": "z"},
		Meta: map[string][]byte{"m": {1}}, Outputs: []byte("o"), KeyID: "k", Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}, Finish: statestore.Failed,
	})
	if !errors.Is(err, statestore.ErrConflict) {
		f.Fatalf("want a conflict, got %v", err)
	}
	if after := f.load(); !reflect.DeepEqual(before, after) { //nolint:govet // what is damaged is compared as the data that it is
		f.Errorf("a refused batch changed\n%+v to\n%+v", before, after)
	}
	if events, _ := f.store.Events(f.Context(), f.stage, "r1", 0, 0); len(events) != 0 {
		f.Error("a refused batch left events")
	}
	w.put(row("c", 0))
}

func factsAndOutputs(f *fixture) {
	w := f.begin(f.store, "r1")
	w.commit(statestore.Batch{Outputs: []byte("one"), KeyID: "key-1", Meta: map[string][]byte{"a": []byte("1"), "b": {}, "": []byte("unnamed")}})
	w.commit(statestore.Batch{Meta: map[string][]byte{"a": nil, "c": []byte("3")}})
	snap := f.load()
	want := map[string][]byte{"b": {}, "c": []byte("3"), "": []byte("unnamed")}
	if string(snap.Outputs) != "one" || snap.KeyID != "key-1" || !maps.EqualFunc(snap.Meta, want, bytes.Equal) {
		f.Errorf("outputs %q, key %q, meta %q", snap.Outputs, snap.KeyID, snap.Meta)
	}
	w.commit(statestore.Batch{Outputs: []byte{}})
	if snap := f.load(); snap.Outputs == nil || len(snap.Outputs) != 0 {
		f.Errorf("empty outputs load as %v", snap.Outputs)
	}
}

func tenThousand(f *fixture) {
	w := f.begin(f.store, "r1")
	const n = 10_000
	var rows []statestore.Row
	for i := range n {
		r := row(numbered("net/row-%05d", i), 0)
		if i > 0 {
			r.Needs = []string{numbered("net/row-%05d", i-1)}
		}
		rows = append(rows, r)
	}
	w.put(rows...)
	w.put(row(numbered("net/row-%05d", 4711), 1))
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("net/row-00042", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Errorf("one of many: %v", err)
	}
	snap := f.load()
	if len(snap.Rows) != n || snap.Serial != 2 || snap.Rows["net/row-04711"].Version != 2 {
		f.Fatalf("%d rows at serial %d", len(snap.Rows), snap.Serial)
	}
	f.lawful()
	for i := range rows {
		rows[i] = gone(rows[i].Address, snap.Rows[rows[i].Address].Version)
	}
	w.put(rows...)
	if n := len(f.load().Rows); n != 0 {
		f.Errorf("%d rows left", n)
	}
}

// oneVersion: two rows that always change together are never seen apart.
func oneVersion(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("left", 0), row("right", 0))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for pid := range 3 {
		reader := f.process(10 + pid)
		readers.Go(func() {
			for last := uint64(0); ; {
				snap, err := reader.Load(f.Context(), f.stage)
				if err != nil {
					f.Error(err)
					return
				}
				left, right := snap.Rows["left"].Version, snap.Rows["right"].Version
				if left != right || snap.Serial != left || left < last {
					f.Errorf("versions %d and %d at serial %d after %d", left, right, snap.Serial, last)
				}
				last = left
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for v := range uint64(50) {
		w.put(row("left", v+1), row("right", v+1))
	}
	close(stop)
	readers.Wait()
}

func cancelledContexts(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	s := f.store
	_, load := s.Load(ctx, f.stage)
	_, acquire := s.Acquire(ctx, statestore.Stage{Stack: "x", Name: "y"}, statestore.Claim{Run: "r"})
	_, commit := s.Commit(ctx, w.lease, statestore.Batch{Seq: 2, Put: []statestore.Row{row("b", 0)}})
	_, interrupt := s.Interrupt(ctx, f.stage, statestore.Order{Unlock: true})
	_, runs := s.Runs(ctx, f.stage, 0)
	_, events := s.Events(ctx, f.stage, "r1", 0, 0)
	_, stages := s.Stages(ctx)
	_, id := s.ID(ctx)
	for name, err := range map[string]error{"load": load, "acquire": acquire, "commit": commit, "interrupt": interrupt, "runs": runs, "events": events, "stages": stages, "id": id} {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	if stages, _ := s.Stages(f.Context()); len(stages) != 1 || len(f.load().Rows) != 1 || f.load().Holder == nil {
		f.Error("a cancelled call had an effect")
	}
}

func storeIdentity(f *fixture) {
	f.begin(f.store, "r1")
	id, err := f.store.ID(f.Context())
	again, err2 := f.process(2).ID(f.Context())
	if err != nil || err2 != nil || id == "" || again != id {
		f.Errorf("identities %q and %q, %v, %v", id, again, err, err2)
	}
}

// callersMemory: what was put or loaded may be overwritten by the caller without changing the store.
func callersMemory(f *fixture) {
	w := f.begin(f.store, "r1")
	r := row("a", 0)
	body, outputs := []byte("row of a"), []byte("outputs")
	r.Body = body
	w.commit(statestore.Batch{Put: []statestore.Row{r}, Outputs: outputs})
	for range 2 {
		copy(body, "spoiled!")
		copy(outputs, "spoiled")
		snap := f.load()
		if string(snap.Rows["a"].Body) != "row of a" || string(snap.Outputs) != "outputs" {
			f.Fatalf("the store shares memory: %q, %q", snap.Rows["a"].Body, snap.Outputs)
		}
		body, outputs = snap.Rows["a"].Body, snap.Outputs
	}
}
