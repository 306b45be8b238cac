package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

var journalCases = map[string]func(*fixture){
	"a chain":             journalChain,
	"many at once":        journalMany,
	"one is refused":      journalRefused,
	"unlocked":            journalUnlocked,
	"confirmed":           journalConfirmed,
	"events ride along":   journalEvents,
	"moves keep versions": journalMoves,
}

func (f *fixture) journal(run string) *statestore.Journal {
	f.Helper()
	j, err := statestore.Begin(f.Context(), f.store, f.stage, statestore.Claim{Run: run, TTL: time.Hour})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { j.Close() })
	return j
}

func (f *fixture) write(j *statestore.Journal, change statestore.Change) {
	f.Helper()
	if err := j.Commit(f.Context(), change); err != nil {
		f.Fatal(err)
	}
}

// journalChain: N writes that wait for each other cost N+2 commits, and need no versions.
func journalChain(f *fixture) {
	j := f.journal("r1")
	const n = 20
	for i := range n {
		f.write(j, statestore.Change{Put: []statestore.Row{row("a", 0)}})
		j.Emit([]byte(numbered("%d", i)))
	}
	if err := j.Finish(f.Context(), statestore.Succeeded, []byte("s")); err != nil {
		f.Fatal(err)
	}
	if got := j.Commits(); got != n+2 {
		f.Errorf("%d commits for a chain of %d", got, n)
	}
	snap := f.load()
	if snap.Rows["a"].Version != n || snap.Holder != nil || snap.LastRun.State != statestore.Succeeded || string(snap.LastRun.Summary) != "s" {
		f.Errorf("after the run: %+v", snap)
	}
	if events, _ := f.store.Events(f.Context(), f.stage, "r1", 0, 0); len(events) != n {
		f.Errorf("%d events", len(events))
	}
	if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}}); !errors.Is(err, statestore.ErrFinished) {
		f.Errorf("after the end: %v", err)
	}
}

func journalMany(f *fixture) {
	j := f.journal("r1")
	const writers, each = 40, 5
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for range each {
				if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row(numbered("row-%d", w), 0)}}); err != nil {
					f.Error(err)
				}
			}
		})
	}
	group.Wait()
	rows := f.load().Rows
	for w := range writers {
		if v := rows[numbered("row-%d", w)].Version; v != each {
			f.Errorf("row %d has version %d", w, v)
		}
	}
	f.lawful()
}

// journalRefused: of many changes at once those that are refused fail alone.
func journalRefused(f *fixture) {
	j := f.journal("r1")
	f.write(j, statestore.Change{Put: []statestore.Row{row("owner", 0), row("user", 0, "owner")}})
	var group sync.WaitGroup
	for i := range 60 {
		r, want := row(numbered("row-%d", i), 0), error(nil)
		switch i % 10 {
		case 1:
			r.Generations[0].Identity, want = "id of owner", statestore.ErrOwned
		case 4:
			r.Version, want = 7, statestore.ErrConflict
		case 7:
			r, want = gone("owner", 1), statestore.ErrNeeded
		case 8:
			r.Generations[0].Kind, want = "", statestore.ErrInvalid
		}
		group.Go(func() {
			if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{r}}); !errors.Is(err, want) {
				f.Errorf("change %d: %v, want %v", i, err, want)
			}
		})
	}
	group.Wait()
	if n := len(f.load().Rows); n != 2+36 {
		f.Errorf("%d rows", n)
	}
	f.lawful()
}

func journalUnlocked(f *fixture) {
	j := f.journal("r1")
	if ok, err := f.process(2).Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true, Who: "eve"}); !ok || err != nil {
		f.Fatal(ok, err)
	}
	if err := j.Held(); err != nil {
		f.Errorf("the local check alone cannot know: %v", err)
	}
	for range 2 {
		if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}}); !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("commit: %v", err)
		}
	}
	if err := j.Held(); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("held: %v", err)
	}
	if err := j.Finish(f.Context(), statestore.Succeeded, nil); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("finish: %v", err)
	}
}

// journalConfirmed: the store is asked, and an unlock or a takeover is seen although nothing was written since.
func journalConfirmed(f *fixture) {
	for name, take := range map[string]func(statestore.Store) error{
		"unlock": func(s statestore.Store) error {
			_, err := s.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true, Who: "eve", Why: "hung"})
			return err
		},
		"takeover": func(s statestore.Store) error {
			f.machine.pass(2 * time.Hour)
			_, err := s.Acquire(f.Context(), f.stage, claim("next"))
			return err
		},
	} {
		j := f.journal(name)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if err := j.Confirm(f.Context()); err != nil {
					f.Errorf("%s: while it is ours: %v", name, err)
				}
			})
		}
		group.Wait()
		if n := j.Commits(); n != 1 {
			f.Errorf("%s: asking wrote: %d commits", name, n)
		}
		if err := take(f.process(2)); err != nil {
			f.Fatal(err)
		}
		err := j.Confirm(f.Context())
		for err == nil && j.Lease().Margin > 0 { // the answer may be a request old
			err = j.Confirm(f.Context())
		}
		lost, ok := errors.AsType[*statestore.FencedError](err)
		if !ok || name == "unlock" && lost.Note != "unlocked by eve: hung" {
			f.Errorf("%s: confirmed as %v", name, lost)
		}
		if err := j.Held(); !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("%s: held afterwards: %v", name, err)
		}
		f.machine.pass(time.Hour)
	}
}

func journalEvents(f *fixture) {
	j := f.journal("r1")
	for i := range 5 {
		if seq := j.Emit([]byte("before")); seq != uint64(i+1) {
			f.Errorf("event %d has sequence %d", i, seq)
		}
	}
	if j.Commits() != 1 {
		f.Errorf("events caused a commit: %d", j.Commits())
	}
	f.write(j, statestore.Change{Put: []statestore.Row{row("a", 0)}})
	j.Emit([]byte("last"))
	if err := j.Finish(f.Context(), statestore.Failed, nil); err != nil {
		f.Fatal(err)
	}
	events, _ := f.store.Events(f.Context(), f.stage, "r1", 0, 0)
	if len(events) != 6 || string(events[5].Body) != "last" || j.Commits() != 3 {
		f.Errorf("%d events, %d commits", len(events), j.Commits())
	}
}

func journalMoves(f *fixture) {
	j := f.journal("r1")
	put := func(address string, identity string) {
		f.Helper()
		r := row(address, 0)
		r.Generations[0].Identity = identity
		f.write(j, statestore.Change{Put: []statestore.Row{r}})
	}
	put("a", "1")
	put("a", "1")
	put("b", "2")
	f.write(j, statestore.Change{Move: map[string]string{"a": "b", "b": "a"}})
	put("a", "2")
	put("b", "1")
	f.write(j, statestore.Change{Move: map[string]string{"a": "c"}})
	put("a", "3")
	put("c", "2")
	rows := f.load().Rows
	for address, want := range map[string]uint64{"a": 1, "b": 3, "c": 3} {
		if got := rows[address].Version; got != want {
			f.Errorf("%s has version %d, want %d", address, got, want)
		}
	}
	f.lawful()
}
