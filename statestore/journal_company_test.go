package statestore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// patient commits one row in company, and tells its outcome; alone ends its patience.
func patient(ctx context.Context, j *statestore.Journal, address string) (alone chan struct{}, outcome <-chan error) {
	alone = make(chan struct{})
	done, queued := make(chan error, 1), make(chan struct{})
	go func() {
		done <- j.CommitWith(ctx, put(address), func() <-chan struct{} { close(queued); return alone })
	}()
	<-queued
	return alone, done
}

// TestInCompany: a change that expects others goes with them, before them, and starts no commit.
func TestInCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		_, first := patient(t.Context(), j, "a")
		_, second := patient(t.Context(), j, "b")
		synctest.Wait()
		if n := len(s.batches()); n != 0 {
			t.Fatalf("%d commits before anybody came", n)
		}
		if err := j.Commit(t.Context(), put("c")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		if b := s.batches(); len(b) != 1 || len(b[0].Put) != 3 || b[0].Put[0].Address != "a" || b[0].Put[2].Address != "c" {
			t.Errorf("have %+v", b)
		}
	})
}

// TestInNobodysCompany: the change commits itself when nobody can come any more; one that was given up is not written.
func TestInNobodysCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		ctx, cancel := context.WithCancel(t.Context())
		_, dropped := patient(ctx, j, "dropped")
		cancel()
		if err := <-dropped; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		alone, outcome := patient(t.Context(), j, "a")
		close(alone)
		if err := <-outcome; err != nil {
			t.Fatal(err)
		}
		if snap := load(t, s); len(snap.Rows) != 1 || snap.Rows["a"].Version != 1 {
			t.Errorf("have %v", snap.Rows)
		}
	})
}

// TestCompanyThatIsRefused: each gets the answer that it deserves, and the end of the run takes along what still waits.
func TestCompanyThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New()}
		j := begin(t, s, "r")
		bad := put("bad")
		bad.Put[0].Version = 7
		_, good := patient(t.Context(), j, "good")
		if err := j.Commit(t.Context(), bad); !errors.Is(err, statestore.ErrConflict) {
			t.Errorf("the bad one: %v", err)
		}
		if err := <-good; err != nil {
			t.Errorf("the good one: %v", err)
		}
		_, last := patient(t.Context(), j, "last")
		if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
			t.Fatal(err)
		}
		if err := <-last; err != nil {
			t.Errorf("the last one: %v", err)
		}
		if err := j.CommitWith(t.Context(), put("late"), nil); !errors.Is(err, statestore.ErrFinished) {
			t.Errorf("after the end: %v", err)
		}
		if snap := load(t, s); len(snap.Rows) != 2 {
			t.Errorf("have %v", snap.Rows)
		}
	})
}
