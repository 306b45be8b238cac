package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

var leaseCases = map[string]func(*fixture){
	"one of many racers wins":      racers,
	"the loser learns the holder":  loserLearns,
	"expiry and renewal":           expiry,
	"fenced after takeover":        fencedByTakeover,
	"fenced after unlock":          fencedByUnlock,
	"fenced after finish":          fencedByFinish,
	"forged leases":                forged,
	"a dead holder goes at once":   deadHolder,
	"a dead pid elsewhere stays":   deadElsewhere,
	"wall clock set forward":       clockForward,
	"wall clock set back":          clockBack,
	"expired but not taken":        expiredNotTaken,
	"acquire again":                acquireAgain,
	"epochs are never used again":  epochs,
	"cancel":                       cancel,
	"unlock":                       unlock,
	"claims without sense":         badClaims,
	"default time to live":         defaultTTL,
	"interrupt of nothing":         interruptNothing,
	"takeover races with a commit": takeoverRace,
}

func claim(run string) statestore.Claim {
	return statestore.Claim{Run: run, Command: "deploy", User: "bob", TTL: time.Minute}
}

func racers(f *fixture) {
	const n = 20
	var group sync.WaitGroup
	var mu sync.Mutex
	var winners []statestore.Lease
	holders := make(map[string]int)
	for i := range n {
		store := f.process(100 + i)
		group.Go(func() {
			lease, err := store.Acquire(f.Context(), f.stage, claim(numbered("racer-%d", i)))
			mu.Lock()
			defer mu.Unlock()
			if held, ok := errors.AsType[*statestore.HeldError](err); ok {
				holders[held.Holder.Run]++
			} else if err != nil {
				f.Errorf("racer %d: %v", i, err)
			} else {
				winners = append(winners, lease)
			}
		})
	}
	group.Wait()
	if len(winners) != 1 || len(holders) != 1 || holders[winners[0].Run] != n-1 {
		f.Fatalf("winners %v, holders seen %v", winners, holders)
	}
	if runs, _ := f.store.Runs(f.Context(), f.stage, 0); len(runs) != 1 || runs[0].State != statestore.Running {
		f.Errorf("runs after the race: %+v", runs)
	}
}

func loserLearns(f *fixture) {
	w := f.begin(f.store, "r1")
	_, err := f.process(2).Acquire(f.Context(), f.stage, claim("r2"))
	held, ok := errors.AsType[*statestore.HeldError](err)
	if !ok || !errors.Is(err, statestore.ErrHeld) {
		f.Fatalf("second claim: %v", err)
	}
	want := statestore.Holder{Run: "r1", Host: "box", PID: 1, Command: "deploy", User: "ann", Since: f.machine.now, Expires: f.machine.now.Add(time.Minute)}
	if held.Holder != want || held.Stage != f.stage || !w.lease.Expires.Equal(want.Expires) {
		f.Errorf("holder %+v, want %+v", held.Holder, want)
	}
	if got := f.load().Holder; got == nil || *got != want {
		f.Errorf("snapshot shows %+v", got)
	}
}

func expiry(f *fixture) {
	w := f.begin(f.store, "r1")
	second := f.process(2)
	for range 3 { // renewed in time, it lasts
		f.machine.pass(40 * time.Second)
		w.commit(statestore.Batch{Renew: true})
		if want := f.machine.now.Add(time.Minute); !w.lease.Expires.Equal(want) {
			f.Fatalf("renewed until %v, want %v", w.lease.Expires, want)
		}
	}
	f.machine.pass(59 * time.Second)
	if _, err := second.Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Fatalf("just before expiry: %v", err)
	}
	w.put(row("a", 0)) // a batch that does not renew
	f.machine.pass(time.Second)
	if f.load().Holder != nil {
		f.Error("an expired holder is shown")
	}
	if _, err := second.Acquire(f.Context(), f.stage, claim("r2")); err != nil {
		f.Fatalf("at expiry: %v", err)
	}
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if len(runs) != 2 || runs[0].ID != "r2" || runs[1].State != statestore.Lost || runs[1].Ended.IsZero() || runs[1].Note == "" {
		f.Errorf("runs %+v", runs)
	}
	if last := f.load().LastRun; last == nil || last.ID != "r1" {
		f.Errorf("last run %+v", last)
	}
}

// everyMutation tries all that a writer can do; each must be refused as fenced, and nothing may change.
func everyMutation(w *writer) {
	f := w.f
	f.Helper()
	before := f.load()
	for name, batch := range map[string]statestore.Batch{
		"put": {Put: []statestore.Row{row("new", 0)}}, "remove": {Put: []statestore.Row{gone("a", 1)}},
		"move": {Move: map[string]string{"a": "z"}}, "meta": {Meta: map[string][]byte{"m": {1}}}, "outputs": {Outputs: []byte("stolen")},
		"key": {KeyID: "other"}, "events": {Events: []statestore.Event{{Seq: 99, Body: []byte("e")}}}, "renew": {Renew: true},
		"finish": {Finish: statestore.Succeeded},
	} {
		if err := w.try(batch); !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("%s by a fenced writer: %v", name, err)
		}
	}
	after := f.load()
	if after.Serial != before.Serial || len(after.Rows) != len(before.Rows) || after.KeyID != before.KeyID || string(after.Outputs) != string(before.Outputs) || len(after.Meta) != len(before.Meta) {
		f.Errorf("a fenced writer changed %+v to %+v", before, after)
	}
	if events, _ := f.store.Events(f.Context(), f.stage, w.lease.Run, 98, 0); len(events) != 0 {
		f.Error("a fenced writer appended events")
	}
}

func fencedByTakeover(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	f.machine.pass(time.Minute)
	second := f.begin(f.process(2), "r2")
	everyMutation(w)
	second.put(row("a", 1))
	second.finish()
	everyMutation(w)
}

func fencedByUnlock(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	if ok, err := f.process(2).Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true, Who: "eve", Why: "it hangs"}); !ok || err != nil {
		f.Fatal(ok, err)
	}
	everyMutation(w)
	err := w.try(statestore.Batch{Renew: true})
	if fenced, ok := errors.AsType[*statestore.FencedError](err); !ok || fenced.Run != "r1" || fenced.Note != "unlocked by eve: it hangs" {
		f.Errorf("the victim learns %v", err)
	}
	f.begin(f.process(3), "r2").put(row("a", 1))
	everyMutation(w)
}

func fencedByFinish(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	w.finish()
	everyMutation(w)
	if f.load().Holder != nil {
		f.Error("a finished run still holds the lease")
	}
	f.begin(f.process(2), "r2")
}

func forged(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	for name, forge := range map[string]func(*statestore.Lease){
		"another run":   func(l *statestore.Lease) { l.Run = "r2" },
		"no run":        func(l *statestore.Lease) { l.Run = "" },
		"older epoch":   func(l *statestore.Lease) { l.Epoch-- },
		"newer epoch":   func(l *statestore.Lease) { l.Epoch++ },
		"no epoch":      func(l *statestore.Lease) { l.Epoch = 0 },
		"another stage": func(l *statestore.Lease) { l.Stage.Name = "other" },
	} {
		lease := w.lease
		forge(&lease)
		_, err := f.store.Commit(f.Context(), lease, statestore.Batch{Seq: w.seq + 1, Put: []statestore.Row{row("b", 0)}})
		if !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("%s: %v", name, err)
		}
	}
}

func deadHolder(f *fixture) {
	w := f.begin(f.process(7), "r1")
	w.put(row("a", 0))
	if _, err := f.store.Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Fatalf("while it lives: %v", err)
	}
	f.machine.kill(7)
	if f.load().Holder != nil {
		f.Error("a dead holder is shown")
	}
	f.begin(f.store, "r2").put(row("a", 1))
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if len(runs) != 2 || runs[1].State != statestore.Lost {
		f.Errorf("runs %+v", runs)
	}
	everyMutation(w)
}

func deadElsewhere(f *fixture) {
	f.begin(f.other("boot-2", 7), "r1")
	f.machine.kill(7) // a process with that id has ended here, which says nothing of the other machine
	if _, err := f.store.Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Fatalf("a holder elsewhere: %v", err)
	}
	f.machine.pass(time.Minute)
	f.begin(f.store, "r2")
}

func clockForward(f *fixture) {
	w := f.begin(f.store, "r1")
	f.machine.set(24 * time.Hour)
	if _, err := f.process(2).Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Errorf("on the same machine the time since boot decides: %v", err)
	}
	w.put(row("a", 0))
	f.machine.set(24 * time.Hour)                 // to a store, any write may be a sign of life
	second := f.begin(f.other("boot-2", 2), "r3") // another machine has only the wall clock
	second.put(row("a", 1))
	everyMutation(w)
}

func clockBack(f *fixture) {
	w := f.begin(f.store, "r1")
	f.machine.set(-24 * time.Hour)
	for _, store := range []statestore.Store{f.process(2), f.other("boot-2", 2)} {
		if _, err := store.Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
			f.Errorf("a live lease was given away: %v", err)
		}
	}
	w.commit(statestore.Batch{Renew: true, Put: []statestore.Row{row("a", 0)}})
	epoch := w.lease.Epoch
	f.machine.pass(time.Minute)
	second := f.begin(f.process(2), "r2")
	if second.lease.Epoch <= epoch {
		f.Errorf("epoch %d after %d", second.lease.Epoch, epoch)
	}
	everyMutation(w)
}

// expiredNotTaken: after a sleep of the machine the results of the run can still be recorded, as long
// as nobody took the lease.
func expiredNotTaken(f *fixture) {
	w := f.begin(f.store, "r1")
	f.machine.pass(time.Hour)
	w.commit(statestore.Batch{Put: []statestore.Row{row("a", 0)}, Renew: true})
	if _, err := f.process(2).Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Errorf("renewed after expiry: %v", err)
	}
}

func acquireAgain(f *fixture) {
	w := f.begin(f.store, "r1")
	again := f.begin(f.store, "r1") // its first answer was lost
	if again.lease.Epoch != w.lease.Epoch {
		f.Errorf("epochs %d and %d", w.lease.Epoch, again.lease.Epoch)
	}
	w.put(row("a", 0))
	if _, err := f.store.Acquire(f.Context(), f.stage, claim("r1")); !errors.Is(err, statestore.ErrHeld) {
		f.Errorf("a run that wrote already: %v", err)
	}
	w.finish()
	if _, err := f.store.Acquire(f.Context(), f.stage, claim("r1")); !errors.Is(err, statestore.ErrInvalid) {
		f.Errorf("a run id used before: %v", err)
	}
	if runs, _ := f.store.Runs(f.Context(), f.stage, 0); len(runs) != 1 {
		f.Errorf("runs %+v", runs)
	}
}

func epochs(f *fixture) {
	var last uint64
	for i := range 20 {
		w := f.begin(f.store, numbered("r%d", i))
		if w.lease.Epoch <= last {
			f.Fatalf("epoch %d after %d", w.lease.Epoch, last)
		}
		last = w.lease.Epoch
		switch i % 3 {
		case 0:
			w.finish()
		case 1:
			f.machine.pass(time.Minute)
		case 2:
			f.store.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true})
			f.machine.set(-time.Hour)
		}
	}
}

func badClaims(f *fixture) {
	for name, c := range map[string]statestore.Claim{
		"no run": {}, "negative time": {Run: "r", TTL: -1}, "no time": {Run: "r", TTL: time.Nanosecond},
	} {
		if _, err := f.store.Acquire(f.Context(), f.stage, c); !errors.Is(err, statestore.ErrInvalid) {
			f.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.store.Acquire(f.Context(), statestore.Stage{Stack: "shop"}, claim("r")); !errors.Is(err, statestore.ErrInvalid) {
		f.Errorf("no stage: %v", err)
	}
	if stages, _ := f.store.Stages(f.Context()); len(stages) != 0 {
		f.Errorf("refused claims made %v", stages)
	}
}

func defaultTTL(f *fixture) {
	lease, err := f.store.Acquire(f.Context(), f.stage, statestore.Claim{Run: "r"})
	if err != nil || lease.TTL != statestore.DefaultTTL || !lease.Expires.Equal(f.machine.now.Add(statestore.DefaultTTL)) {
		f.Errorf("%+v, %v", lease, err)
	}
}

// takeoverRace: whatever the order, every acknowledged commit of the first writer comes before the
// takeover, and none after it. Where answers are lost, one more may come before it.
func takeoverRace(f *fixture) {
	w := f.begin(f.process(7), "r1")
	var group sync.WaitGroup
	var acknowledged uint64
	started := make(chan struct{})
	group.Go(func() {
		defer func() {
			if acknowledged <= 5 { // it failed, and nobody is to wait for it
				close(started)
			}
		}()
		for v := range uint64(1000) {
			if err := w.try(statestore.Batch{Put: []statestore.Row{row("a", v)}}); err != nil {
				if !errors.Is(err, statestore.ErrFenced) {
					f.Error(err)
				}
				return
			}
			if acknowledged = v + 1; v == 5 {
				close(started)
			}
		}
	})
	<-started
	f.machine.kill(7)
	second := f.begin(f.store, "r2")
	seen := f.load().Rows["a"].Version
	group.Wait()
	unheard := f.subject.LosesAnswers && acknowledged+1 == seen
	if got := f.load().Rows["a"].Version; got != seen || acknowledged != seen && !unheard {
		f.Errorf("%d acknowledged, %d at takeover, %d now", acknowledged, seen, got)
	}
	second.put(row("a", seen))
}
