package statestore_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// paced is a store that lets a journal collect a commit when a value is sent on turns.
type paced struct {
	faulty
	turns chan struct{}
}

func (p *paced) Pace() { <-p.turns }

// TestPacerCollects: what is queued when the pacer returns shares one commit, in the order in which it was queued.
func TestPacerCollects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &paced{faulty{Store: mem.New()}, make(chan struct{})}
		j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 3)
		for _, address := range []string{"a", "b", "c"} {
			go func() { done <- j.Commit(t.Context(), put(address)) }()
			synctest.Wait()
		}
		if n := len(s.batches()); n != 0 {
			t.Fatalf("%d commits before the pacer returned", n)
		}
		s.turns <- struct{}{}
		if err := errors.Join(<-done, <-done, <-done); err != nil {
			t.Error(err)
		}
		if b := s.batches(); len(b) != 1 || len(b[0].Put) != 3 || b[0].Put[0].Address != "a" || b[0].Put[2].Address != "c" {
			t.Errorf("have %+v", b)
		}
		close(s.turns)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}
