package statestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

func TestJournalUnknownOutcome(t *testing.T) {
	lost := func(n int, _ statestore.Batch) error {
		if n == 2 {
			return errDisk
		}
		return nil
	}
	for name, s := range map[string]*faulty{
		"it never arrived": {Store: mem.New(), before: lost},
		"the answer lost":  {Store: mem.New(), after: lost},
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t, s, "r")
			if err := j.Commit(t.Context(), put("a")); err != nil {
				t.Fatal(err)
			}
			if err := j.Commit(t.Context(), put("a")); !errors.Is(err, statestore.ErrUnavailable) {
				t.Fatalf("want unavailable, got %v", err)
			}
			if err := j.Commit(t.Context(), put("a")); err != nil { // the lost one goes first, and counts
				t.Fatal(err)
			}
			if v := load(t, s).Rows["a"].Version; v != 3 || j.Commits() != 4 {
				t.Errorf("version %d after 3 writes, %d commits", v, j.Commits())
			}
			sent := s.batches()
			if sent[1].Seq != sent[2].Seq || sent[3].Seq != sent[2].Seq+1 {
				t.Errorf("sequences %d, %d, %d", sent[1].Seq, sent[2].Seq, sent[3].Seq)
			}
		})
	}
}

// TestJournalInAStorm: answers and requests get lost at random while many write; what was
// acknowledged is there, and versions are never confused.
func TestJournalInAStorm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	var mu sync.Mutex
	sometimes := func(n int, _ statestore.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		if r.IntN(4) == 0 {
			return errDisk
		}
		return nil
	}
	s := &faulty{Store: mem.New(), before: sometimes, after: sometimes}
	j := begin(t, s, "r")
	var group sync.WaitGroup
	acknowledged := make([]uint64, 20)
	for w := range acknowledged {
		group.Go(func() {
			for range 30 {
				j.Emit([]byte("e"))
				err := j.Commit(t.Context(), put(fmt.Sprint(w)))
				switch {
				case err == nil:
					acknowledged[w]++
				case !errors.Is(err, statestore.ErrUnavailable):
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for err := error(errDisk); err != nil; {
		if err = j.Finish(t.Context(), statestore.Succeeded, nil); err != nil && !errors.Is(err, statestore.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	rows := load(t, s).Rows
	for w, n := range acknowledged {
		if v := rows[fmt.Sprint(w)].Version; v == 0 || v > 30 || n > 30 {
			t.Errorf("row %d has version %d, %d acknowledged", w, v, n)
		}
	}
	events, err := s.Events(t.Context(), stage, "r", 0, 0)
	if err != nil || len(events) != 600 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, event := range events {
		if event.Seq != uint64(i+1) {
			t.Fatalf("event %d has sequence %d", i, event.Seq)
		}
	}
}

func TestFinishAgainAfterAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), after: func(n int, b statestore.Batch) error {
			if n == 1 {
				return errDisk
			}
			return nil
		}}
		j := begin(t, s, "r")
		if err := j.Finish(t.Context(), statestore.Failed, nil); !errors.Is(err, statestore.ErrUnavailable) {
			t.Fatalf("first: %v", err)
		}
		if err := j.Finish(t.Context(), statestore.Failed, nil); err != nil {
			t.Errorf("again: %v", err)
		}
		if err := j.Finish(t.Context(), statestore.Failed, nil); err != nil {
			t.Errorf("a third time: %v", err)
		}
		if err := j.Finish(t.Context(), statestore.Succeeded, nil); !errors.Is(err, statestore.ErrFinished) {
			t.Errorf("in another state: %v", err)
		}
		if got := load(t, s).LastRun; got == nil || got.State != statestore.Failed || j.Commits() != 2 {
			t.Errorf("last run %+v, %d commits", got, j.Commits())
		}
		j.Close()
	})
}

func TestCommitContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: mem.New(), takes: time.Second}
		j := begin(t, s, "r")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			if err := j.Commit(ctx, put("on its way")); err != nil {
				t.Errorf("a change on its way: %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if err := j.Commit(ctx, put("waiting")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a waiting change: %v", err)
			}
		})
		group.Wait()
		if err := j.Commit(ctx, put("late")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a late change: %v", err)
		}
		rows := load(t, s).Rows
		if _, there := rows["on its way"]; !there || len(rows) != 1 {
			t.Errorf("rows %v", rows)
		}
		j.Close()
	})
}
