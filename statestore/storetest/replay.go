package storetest

import (
	"errors"

	"github.com/athanor-dev/athanor/statestore"
)

var replayCases = map[string]func(*fixture){
	"the same again":         sameAgain,
	"other content":          otherContent,
	"out of order":           outOfOrder,
	"the last batch again":   lastAgain,
	"across epochs":          acrossEpochs,
	"a refused one is spare": refusedIsSpare,
}

// sameAgain: each batch that was durable may come again, any time within the epoch, and does nothing.
func sameAgain(f *fixture) {
	w := f.begin(f.store, "r1")
	batches := []statestore.Batch{
		{Put: []statestore.Row{row("a", 0)}, Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}},
		{Put: []statestore.Row{row("a", 1)}, Meta: map[string][]byte{"x": {1}, "y": nil}},
		{Move: map[string]string{"a": "b"}, Outputs: []byte("o")},
		{Put: []statestore.Row{gone("b", 2)}},
	}
	for _, batch := range batches {
		w.commit(batch)
	}
	before := f.load().Serial
	for i, batch := range batches {
		batch.Seq = uint64(i + 1)
		if _, err := f.process(3).Commit(f.Context(), w.lease, batch); err != nil {
			f.Errorf("replay of batch %d: %v", batch.Seq, err)
		}
	}
	snap := f.load()
	if snap.Serial != before || len(snap.Rows) != 0 {
		f.Errorf("replays changed the stage: serial %d, %d rows", snap.Serial, len(snap.Rows))
	}
	if events, _ := f.store.Events(f.Context(), f.stage, "r1", 0, 0); len(events) != 1 {
		f.Errorf("%d events after replays", len(events))
	}
	w.put(row("c", 0))
}

func otherContent(f *fixture) {
	w := f.begin(f.store, "r1")
	original := statestore.Batch{
		Put: []statestore.Row{row("a", 0)}, Meta: map[string][]byte{"m": nil}, Outputs: nil, KeyID: "k",
		Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}, Renew: true,
	}
	w.commit(original)
	for name, differ := range map[string]func(*statestore.Batch){
		"body":  func(b *statestore.Batch) { r := row("a", 0); r.Body = []byte("x"); b.Put = []statestore.Row{r} },
		"birth": func(b *statestore.Batch) { r := row("a", 0); r.Birth = "x"; b.Put = []statestore.Row{r} },
		"intent": func(b *statestore.Batch) {
			r := row("a", 0)
			r.Generations[0].Intent = true
			b.Put = []statestore.Row{r}
		},
		"version": func(b *statestore.Batch) { b.Put = []statestore.Row{row("a", 1)} },
		"rows":    func(b *statestore.Batch) { b.Put = nil },
		"meta":    func(b *statestore.Batch) { b.Meta = map[string][]byte{"m": {}} },
		"outputs": func(b *statestore.Batch) { b.Outputs = []byte{} },
		"key":     func(b *statestore.Batch) { b.KeyID = "l" },
		"event":   func(b *statestore.Batch) { b.Events = []statestore.Event{{Seq: 2, Body: []byte("e")}} },
		"renew":   func(b *statestore.Batch) { b.Renew = false },
		"finish":  func(b *statestore.Batch) { b.Finish = statestore.Failed },
		"move":    func(b *statestore.Batch) { b.Move = map[string]string{"a": "b"} },
	} {
		batch := original
		batch.Seq = 1
		differ(&batch)
		_, err := f.store.Commit(f.Context(), w.lease, batch)
		if replay, ok := errors.AsType[*statestore.ReplayError](err); !ok || !errors.Is(err, statestore.ErrReplay) || replay.Seq != 1 || replay.Next != 2 {
			f.Errorf("other %s: %v", name, err)
		}
	}
	if snap := f.load(); snap.Serial != 1 || snap.Holder == nil {
		f.Errorf("a refused replay changed the stage: %+v", snap)
	}
}

func outOfOrder(f *fixture) {
	w := f.begin(f.store, "r1")
	send := func(seq uint64, r statestore.Row) error {
		_, err := f.store.Commit(f.Context(), w.lease, statestore.Batch{Seq: seq, Put: []statestore.Row{r}})
		return err
	}
	for _, seq := range []uint64{0, 2, 3, ^uint64(0)} {
		if err := send(seq, row("early", 0)); !errors.Is(err, statestore.ErrReplay) {
			f.Errorf("batch %d first: %v", seq, err)
		}
	}
	if len(f.load().Rows) != 0 {
		f.Fatal("a batch out of order was applied")
	}
	for seq, address := range []string{"a", "b", "c"} {
		if err := send(uint64(seq+1), row(address, 0)); err != nil {
			f.Fatal(err)
		}
	}
	for _, seq := range []uint64{1, 2} {
		if err := send(seq, row("late", 0)); !errors.Is(err, statestore.ErrReplay) {
			f.Errorf("batch %d again with other content: %v", seq, err)
		}
	}
}

// lastAgain: the answer to the last batch may be lost like any other, although it released the lease.
func lastAgain(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	last := statestore.Batch{Seq: 2, Finish: statestore.Succeeded, Summary: []byte("done")}
	for i := range 3 {
		if _, err := f.store.Commit(f.Context(), w.lease, last); err != nil {
			f.Fatalf("time %d: %v", i+1, err)
		}
	}
	last.Finish = statestore.Failed
	if _, err := f.store.Commit(f.Context(), w.lease, last); err == nil {
		f.Error("a finished run ended a second time, otherwise")
	}
	run := f.load().LastRun
	if run == nil || run.State != statestore.Succeeded || string(run.Summary) != "done" {
		f.Errorf("last run %+v", run)
	}
}

func acrossEpochs(f *fixture) {
	one := f.begin(f.store, "r1")
	batch := statestore.Batch{Seq: 1, Put: []statestore.Row{row("a", 0)}}
	one.commit(batch)
	one.finish()
	two := f.begin(f.store, "r2")
	if _, err := f.store.Commit(f.Context(), two.lease, batch); !errors.Is(err, statestore.ErrConflict) {
		f.Errorf("what one run wrote is no replay for the next: %v", err)
	}
	if _, err := f.store.Commit(f.Context(), one.lease, batch); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("an old run's replay: %v", err)
	}
	two.put(row("b", 0))
}

func refusedIsSpare(f *fixture) {
	w := f.begin(f.store, "r1")
	if err := w.try(statestore.Batch{Put: []statestore.Row{row("a", 5)}}); !errors.Is(err, statestore.ErrConflict) {
		f.Fatal(err)
	}
	w.put(row("a", 0)) // the same number, now with valid content
	if w.seq != 1 {
		f.Errorf("sequence %d", w.seq)
	}
}
