package postgres

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// TestFolderTurns: of many changes of a folder by one process each is made once, none in vain, and one that waits for its turn
// ends with its context.
func TestFolderTurns(t *testing.T) {
	t.Parallel()
	const clients = 60
	s := opened(t, pgtest.Start(t).Schema(t))
	var made atomic.Int64
	add := func(n int) error {
		return s.ChangeFolder(t.Context(), "runs", func(f statestore.Folder) (bool, error) {
			made.Add(1)
			return true, f.Put(strconv.Itoa(n), []byte("x"))
		})
	}
	if err := add(0); err != nil { // which makes the schema
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			if err := add(n + 1); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n > clients+3 {
		t.Errorf("%d changes were made %d times", clients+1, n)
	}
	leave, err := s.folders.enter(t.Context(), "runs")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ChangeFolder(ctx, "runs", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a change that waits: %v", err)
	}
}
