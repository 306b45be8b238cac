package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

var historyCases = map[string]func(*fixture){
	"runs":                      runs,
	"final states never change": finalStates,
	"events by cursor":          eventsByCursor,
	"events come once":          eventsOnce,
	"bounded":                   boundedHistory,
	"lost runs are bounded too": boundedLost,
	"followed while it runs":    followed,
	"a dead run is let go":      followedDead,
	"last run":                  lastRun,
}

func runs(f *fixture) {
	for i, state := range []statestore.RunState{statestore.Succeeded, statestore.Failed, statestore.Cancelled} {
		w := f.begin(f.store, numbered("r%d", i))
		f.machine.pass(time.Second)
		w.commit(statestore.Batch{Finish: state, Summary: []byte(state)})
	}
	started := f.machine.now
	f.begin(f.store, "r3")
	all, err := f.process(2).Runs(f.Context(), f.stage, 0)
	if err != nil || len(all) != 4 {
		f.Fatalf("%d runs, %v", len(all), err)
	}
	for i, want := range []statestore.RunState{statestore.Running, statestore.Cancelled, statestore.Failed, statestore.Succeeded} {
		run := all[i]
		if run.ID != numbered("r%d", 3-i) || run.State != want || run.Command != "deploy" || run.User != "ann" || run.Host != "box" || run.PID != 1 || run.Epoch == 0 {
			f.Errorf("run %d: %+v", i, run)
		}
		if final := want != statestore.Running; final && (run.Ended.Sub(run.Started) != time.Second || string(run.Summary) != string(want)) {
			f.Errorf("end of run %d: %+v", i, run)
		}
	}
	if !all[0].Started.Equal(started) || !all[0].Ended.IsZero() {
		f.Errorf("running run %+v", all[0])
	}
	if two, _ := f.store.Runs(f.Context(), f.stage, 2); len(two) != 2 || two[1].ID != "r2" {
		f.Errorf("the newest two: %+v", two)
	}
}

func finalStates(f *fixture) {
	w := f.begin(f.store, "r1")
	w.commit(statestore.Batch{Finish: statestore.Failed})
	if err := w.try(statestore.Batch{Finish: statestore.Succeeded}); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("finishing again: %v", err)
	}
	if ok, _ := f.store.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true}); ok {
		f.Error("a finished run was unlocked")
	}
	lost := f.begin(f.store, "r2")
	f.machine.pass(time.Hour)
	f.begin(f.process(2), "r3")
	if err := lost.try(statestore.Batch{Finish: statestore.Succeeded}); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("a lost run finished: %v", err)
	}
	all, _ := f.store.Runs(f.Context(), f.stage, 0)
	if all[2].State != statestore.Failed || all[1].State != statestore.Lost || all[0].State != statestore.Running {
		f.Errorf("runs %+v", all)
	}
}

func eventsByCursor(f *fixture) {
	w := f.begin(f.store, "r1")
	var batch []statestore.Event
	for seq := range uint64(10) {
		batch = append(batch, statestore.Event{Seq: seq + 1, Body: []byte(numbered(`{"n":%d}`, int(seq+1)))})
	}
	w.commit(statestore.Batch{Events: batch[:4]})
	w.commit(statestore.Batch{Events: batch[4:]})
	read := func(run string, after uint64, limit int) []statestore.Event {
		f.Helper()
		events, err := f.process(2).Events(f.Context(), f.stage, run, after, limit)
		if err != nil {
			f.Fatal(err)
		}
		return events
	}
	var cursor uint64
	var seen int
	for {
		page := read("r1", cursor, 3)
		if len(page) == 0 {
			break
		}
		for _, event := range page {
			if seen++; event.Seq != uint64(seen) || string(event.Body) != numbered(`{"n":%d}`, seen) {
				f.Errorf("event %d: %d %s", seen, event.Seq, event.Body)
			}
			cursor = event.Seq
		}
	}
	if seen != 10 || len(read("r1", 0, 0)) != 10 || len(read("r1", 10, 0)) != 0 || len(read("r1", ^uint64(0), 0)) != 0 {
		f.Errorf("%d events seen", seen)
	}
	w.finish()
	f.begin(f.store, "r2").commit(statestore.Batch{Events: batch[:1]})
	if len(read("r1", 0, 0)) != 10 || len(read("r2", 0, 0)) != 1 || len(read("r3", 0, 0)) != 0 {
		f.Error("events of runs are mixed up")
	}
}

func eventsOnce(f *fixture) {
	w := f.begin(f.store, "r1")
	w.commit(statestore.Batch{Events: []statestore.Event{{Seq: 1, Body: []byte("one")}}})
	w.commit(statestore.Batch{Events: []statestore.Event{{Seq: 1, Body: []byte("again")}, {Seq: 2, Body: []byte("two")}}})
	events, err := f.store.Events(f.Context(), f.stage, "r1", 0, 0)
	if err != nil || len(events) != 2 || string(events[0].Body) != "one" || string(events[1].Body) != "two" {
		f.Errorf("events %+v, %v", events, err)
	}
}

func boundedHistory(f *fixture) {
	const extra = 5
	for i := range statestore.KeptRuns + extra {
		w := f.begin(f.store, numbered("r%d", i))
		w.commit(statestore.Batch{Events: []statestore.Event{{Seq: 1, Body: []byte("a")}, {Seq: 2, Body: []byte("b")}}, Finish: statestore.Succeeded})
	}
	all, err := f.store.Runs(f.Context(), f.stage, 0)
	if err != nil || len(all) != statestore.KeptRuns {
		f.Fatalf("%d runs are kept, %v", len(all), err)
	}
	if all[len(all)-1].ID != numbered("r%d", extra) {
		f.Errorf("the oldest is %s", all[len(all)-1].ID)
	}
	for run, want := range map[string]int{"r0": 0, numbered("r%d", extra-1): 0, numbered("r%d", extra): 2, all[0].ID: 2} {
		if events, _ := f.store.Events(f.Context(), f.stage, run, 0, 0); len(events) != want {
			f.Errorf("%s has %d events, want %d", run, len(events), want)
		}
	}
}

// boundedLost: runs that never finish are forgotten like others.
func boundedLost(f *fixture) {
	for i := range statestore.KeptRuns + 3 {
		f.begin(f.store, numbered("r%d", i)).commit(statestore.Batch{Events: []statestore.Event{{Seq: 1, Body: []byte("a")}}})
		f.machine.pass(time.Hour)
	}
	all, err := f.store.Runs(f.Context(), f.stage, 0)
	if err != nil || len(all) != statestore.KeptRuns || all[0].State != statestore.Running || all[1].State != statestore.Lost {
		f.Fatalf("%d runs are kept, %v", len(all), err)
	}
	if events, _ := f.store.Events(f.Context(), f.stage, "r0", 0, 0); len(events) != 0 {
		f.Errorf("the oldest has %d events", len(events))
	}
}

// followed: a reader in another process gets every event once and in order, and the end of the run ends it.
func followed(f *fixture) {
	const events = 2500
	w := f.begin(f.store, "r1")
	var writing sync.WaitGroup
	defer writing.Wait() // its last answer may come after the follower has the end
	writing.Go(func() {
		for seq := uint64(1); seq <= events; {
			batch := statestore.Batch{Renew: seq%8 == 1} // a run whose lease has ended is not followed
			for range 1 + seq%7 {
				batch.Events = append(batch.Events, statestore.Event{Seq: seq, Body: []byte("e")})
				seq++
			}
			if seq > events {
				batch.Finish = statestore.Succeeded // the last ones come with the end
			}
			if err := w.try(batch); err != nil {
				f.Error(err)
				return
			}
		}
	})
	next := uint64(11)
	for event, err := range statestore.Follow(f.Context(), f.process(2), f.stage, "r1", 10, time.Millisecond) {
		if err != nil || event.Seq != next {
			f.Fatalf("event %d, want %d: %v", event.Seq, next, err)
		}
		next++
	}
	if next <= events {
		f.Errorf("ended before event %d of %d", next, events)
	}
	for event, err := range statestore.Follow(f.Context(), f.store, f.stage, "unknown", 0, time.Hour) {
		f.Errorf("a run that is not known has %v, %v", event, err)
	}
}

// followedDead: a run whose holder died stays running in the record, and nobody waits for it for ever.
func followedDead(f *fixture) {
	f.begin(f.process(7), "r1").commit(statestore.Batch{Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}})
	f.machine.kill(7)
	seen := 0
	for _, err := range statestore.Follow(f.Context(), f.store, f.stage, "r1", 0, 100*time.Millisecond) {
		if err != nil {
			f.Fatal(err)
		}
		seen++
	}
	if runs, _ := f.store.Runs(f.Context(), f.stage, 1); seen != 1 || runs[0].State != statestore.Running {
		f.Errorf("%d events of %+v", seen, runs)
	}
}

func lastRun(f *fixture) {
	w := f.begin(f.store, "r1")
	if f.load().LastRun != nil {
		f.Error("a running run counts as the last one")
	}
	w.finish()
	f.begin(f.store, "r2")
	if last := f.load().LastRun; last == nil || last.ID != "r1" || last.State != statestore.Succeeded {
		f.Errorf("while the next one runs: %+v", last)
	}
	f.store.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true})
	if last := f.load().LastRun; last == nil || last.ID != "r2" || last.State != statestore.Lost {
		f.Errorf("after an unlock: %+v", last)
	}
}
