package statestore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

var stage = statestore.Stage{Stack: "shop", Name: "test"}

// faulty is a store between which and the writer calls fail.
type faulty struct {
	statestore.Store
	mu     sync.Mutex
	sent   []statestore.Batch
	takes  time.Duration                         // of each commit
	asks   time.Duration                         // of each look at the runs
	asked  int                                   // such looks
	deaf   error                                 // answers them
	before func(n int, b statestore.Batch) error // n counts from 1; an error keeps the batch from the store
	after  func(n int, b statestore.Batch) error // an error replaces the answer
}

func (s *faulty) Commit(ctx context.Context, lease statestore.Lease, b statestore.Batch) (statestore.Lease, error) {
	s.mu.Lock()
	s.sent = append(s.sent, b)
	n, before := len(s.sent), s.before
	s.mu.Unlock()
	time.Sleep(s.takes)
	if before != nil {
		if err := before(n, b); err != nil {
			return lease, err
		}
	}
	next, err := s.Store.Commit(ctx, lease, b)
	if err == nil && s.after != nil {
		if err := s.after(n, b); err != nil {
			return lease, err
		}
	}
	return next, err
}

func (s *faulty) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	s.mu.Lock()
	s.asked++
	deaf := s.deaf
	s.mu.Unlock()
	select {
	case <-time.After(s.asks):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if deaf != nil {
		return nil, deaf
	}
	return s.Store.Runs(ctx, stage, limit)
}

func (s *faulty) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// always makes every commit from now on end like this.
func (s *faulty) always(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func(int, statestore.Batch) error { return err }
}

func (s *faulty) batches() []statestore.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]statestore.Batch(nil), s.sent...)
}

func begin(t *testing.T, s statestore.Store, run string) *statestore.Journal {
	t.Helper()
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: run, TTL: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func put(address string) statestore.Change {
	return statestore.Change{Put: []statestore.Row{{Address: address, Generations: []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: "k", Identity: "id of " + address,
	}}}}}
}

func load(t *testing.T, s statestore.Store) *statestore.Snapshot {
	t.Helper()
	snap, err := s.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

var errDisk = &statestore.UnavailableError{Path: "state.db", Err: errors.New("disk on fire")}

func TestJournalMergesWhatArrivesDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), takes: time.Millisecond}
		j := begin(t, s, "r")
		var group sync.WaitGroup
		start := time.Now()
		for i := range 100 {
			group.Go(func() {
				if err := j.Commit(t.Context(), put(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := len(s.batches()); n != 2 || time.Since(start) != 2*time.Millisecond {
			t.Errorf("%d commits in %v for 100 changes at once, want 2 in 2ms", n, time.Since(start))
		}
		if n := len(load(t, s).Rows); n != 100 {
			t.Errorf("%d rows", n)
		}
		j.Close()
	})
}

func TestJournalNeverWaitsForCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := begin(t, mem.New(), "r")
		start := time.Now()
		for range 10 {
			if err := j.Commit(t.Context(), put("a")); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("a lone writer waited %v", d)
		}
		j.Close()
	})
}

func TestJournalRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		j.Emit([]byte("quiet"))
		for range 360 {
			time.Sleep(10*time.Second + time.Millisecond)
			if err := j.Held(); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.batches()); n < 355 || n > 365 {
			t.Errorf("%d renewals in an hour, want one in ten seconds", n)
		}
		if j.Commits() != 1 {
			t.Errorf("renewals count as commits: %d", j.Commits())
		}
		if events, _ := s.Events(t.Context(), stage, "r", 0, 0); len(events) != 1 {
			t.Error("a quiet run's events are not flushed with the renewal")
		}
		j.Close()
		n := len(s.batches())
		time.Sleep(time.Hour)
		if len(s.batches()) != n {
			t.Error("a closed journal renews")
		}
		if err := j.Held(); !errors.Is(err, statestore.ErrFinished) {
			t.Errorf("held after close: %v", err)
		}
	})
}

func TestJournalBusyRunSendsNoRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		for range 100 {
			time.Sleep(9 * time.Second)
			if err := j.Commit(t.Context(), put("a")); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.batches()); n != 100 {
			t.Errorf("%d batches for 100 changes", n)
		}
		j.Close()
	})
}

func TestJournalRenewsAgainSoonAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), before: func(n int, _ statestore.Batch) error {
			if n <= 3 {
				return errDisk
			}
			return nil
		}}
		j := begin(t, s, "r")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		// The fourth attempt decides the first one, whose outcome was unknown; the fifth is its own.
		if err := j.Held(); err != nil || len(s.batches()) != 5 {
			t.Errorf("%v after %d attempts", err, len(s.batches()))
		}
		s.always(errDisk)
		time.Sleep(time.Minute)
		if err := j.Held(); !errors.Is(err, statestore.ErrExpired) {
			t.Errorf("without the store for a minute: %v", err)
		}
		j.Close()
	})
}

func TestJournalStopsRenewingWhenFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		if ok, err := s.Interrupt(t.Context(), stage, statestore.Order{Unlock: true, Who: "eve"}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		time.Sleep(time.Hour)
		if n := len(s.batches()); n != 1 {
			t.Errorf("%d renewals by a fenced writer", n)
		}
		if err := j.Held(); !errors.Is(err, statestore.ErrFenced) {
			t.Errorf("held: %v", err)
		}
		j.Close()
	})
}

func TestJournalIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		j := begin(t, s, "r")
		start := time.Now()
		if ok, err := s.Interrupt(t.Context(), stage, statestore.Order{Who: "eve"}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		<-j.Cancelled()
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("noticed after %v", d)
		}
		if err := j.Held(); err != nil {
			t.Errorf("a graceful stop is not a loss: %v", err)
		}
		if err := j.Finish(t.Context(), statestore.Cancelled, nil); err != nil {
			t.Error(err)
		}
		j.Close()
	})
}

func TestHeldGoesByTheLargestClock(t *testing.T) {
	for name, turn := range map[string]func(mono, wall, boot *time.Duration){
		"monotonic":       func(mono, _, _ *time.Duration) { *mono += time.Hour },
		"wall":            func(_, wall, _ *time.Duration) { *wall += time.Hour },
		"boot (it slept)": func(_, _, boot *time.Duration) { *boot += time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var mono, wall, boot time.Duration
			origin := time.Now()
			at := func(d *time.Duration) time.Time {
				mu.Lock()
				defer mu.Unlock()
				return origin.Add(*d)
			}
			s := &faulty{Store: mem.New()}
			s.always(errDisk) // the renewal that Held asks for does not come through
			j, err := statestore.BeginAt(t.Context(), s, stage, statestore.Claim{Run: "r"}, statestore.Clocks{
				Mono: func() time.Time { return at(&mono) },
				Wall: func() time.Time { return at(&wall) },
				Boot: func() (time.Duration, bool) { return at(&boot).Sub(origin), true },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if err := j.Held(); err != nil {
				t.Fatalf("fresh: %v", err)
			}
			mu.Lock()
			wall -= 2 * time.Hour // set back: no clock that lags may hide the others
			mu.Unlock()
			if err := j.Held(); err != nil {
				t.Fatalf("set back: %v", err)
			}
			mu.Lock()
			wall += 2 * time.Hour
			turn(&mono, &wall, &boot)
			mu.Unlock()
			if err := j.Held(); !errors.Is(err, statestore.ErrExpired) {
				t.Fatalf("an hour later: %v", err)
			}
		})
	}
}

func TestHeldStopsBeforeTheEndAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), before: func(int, statestore.Batch) error { return errDisk }}
		j := begin(t, s, "r")
		time.Sleep(24 * time.Second)
		if err := j.Held(); err != nil {
			t.Errorf("after 24 of 30 seconds: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := j.Held(); !errors.Is(err, statestore.ErrExpired) {
			t.Errorf("within the margin: %v", err)
		}
		synctest.Wait() // the renewal that was asked for fails
		s.always(nil)
		if err := j.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		if err := j.Held(); err != nil {
			t.Errorf("renewed: %v", err)
		}
		j.Close()
	})
}

// Many who ask at once cost few questions, and a commit that was sent later answers too.
func TestConfirmIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), takes: time.Second, asks: time.Second}
		j := begin(t, s, "r")
		var group sync.WaitGroup
		ask := func() {
			for range 50 {
				group.Go(func() {
					if err := j.Confirm(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		ask()
		ask()
		group.Wait()
		if n := s.questions(); n > 3 {
			t.Errorf("a hundred asked %d questions", n)
		}
		before := s.questions()
		group.Go(func() { _ = j.Commit(t.Context(), put("a")) })
		synctest.Wait()
		group.Go(func() { _ = j.Commit(t.Context(), put("b")) })
		ask()
		group.Wait()
		if n := s.questions() - before; n != 0 {
			t.Errorf("%d questions beside a commit that was to come", n)
		}
		j.Close()
	})
}

// A store that cannot be asked leaves it to the clocks; a caller that cannot wait returns.
func TestConfirmWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), deaf: errDisk}
		j := begin(t, s, "r")
		if err := j.Confirm(t.Context()); err != nil {
			t.Errorf("the clocks alone: %v", err)
		}
		s.asks = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := j.Confirm(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller in a hurry: %v", err)
		}
		j.Close()
		if err := j.Confirm(t.Context()); !errors.Is(err, statestore.ErrFinished) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestMovesStartTheirOwnBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), takes: time.Second}
		j := begin(t, s, "r")
		var group sync.WaitGroup
		for _, change := range []statestore.Change{
			put("x"), put("a"), {Move: map[string]string{"a": "b"}}, {Put: []statestore.Row{{Address: "b"}}}, {Move: map[string]string{"x": "a"}},
		} {
			group.Go(func() {
				if err := j.Commit(t.Context(), change); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		rows := load(t, s).Rows
		if _, there := rows["a"]; !there || len(rows) != 1 {
			t.Errorf("rows %v", rows)
		}
		if n := len(s.batches()); n != 4 {
			t.Errorf("%d batches, want x | a | move+remove | move", n)
		}
		j.Close()
	})
}

func TestEmitIsBounded(t *testing.T) {
	s := mem.New()
	j := begin(t, s, "r")
	for range statestore.MaxWaitingEvents + 10 {
		j.Emit(nil)
	}
	if err := j.Commit(t.Context(), put("a")); err != nil {
		t.Fatal(err)
	}
	if seq := j.Emit([]byte("next")); seq != statestore.MaxWaitingEvents+11 {
		t.Errorf("sequence %d", seq)
	}
	if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), stage, "r", statestore.MaxWaitingEvents-1, 0)
	if err != nil || len(events) != 2 || events[1].Seq != statestore.MaxWaitingEvents+11 {
		t.Errorf("events %v, %v", events, err)
	}
}
