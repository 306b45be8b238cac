package bolt

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
)

// committed is a store that keeps its file open, after a commit of one row.
func committed(t *testing.T) (*Store, statestore.Lease) {
	t.Helper()
	s, lease := written(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.kept == nil {
		t.Skip("this system cannot take the lock of an open file again")
	}
	return s, lease
}

// commitAgain writes row 0, whose version is given.
func commitAgain(t *testing.T, s *Store, lease statestore.Lease, seq, version uint64) {
	t.Helper()
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: seq, Put: []statestore.Row{plain(0, version)}}); err != nil {
		t.Fatal(err)
	}
}

func TestAKeptFileIsLockedByNobody(t *testing.T) {
	s, lease := committed(t)
	kept := s.kept
	db, err := bbolt.Open(s.Path(), 0o600, &bbolt.Options{Timeout: time.Nanosecond})
	if err != nil {
		t.Fatalf("somebody else could not open it: %v", err)
	}
	short, err := Open(s.Path(), WithPatience(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	s.patience = time.Millisecond
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); err == nil {
		t.Error("a commit while somebody else has the lock")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := short.Load(t.Context(), stage); err != nil {
		t.Errorf("read beside a kept file: %v", err)
	}
	s.patience = time.Second
	commitAgain(t, s, lease, 2, 1)
	if s.kept != kept {
		t.Error("it was opened anew although nobody had written")
	}
}

// TestAKeptFileThatWasWrittenIsOpenedAnew lets another store write, and grow the file, between two commits.
func TestAKeptFileThatWasWrittenIsOpenedAnew(t *testing.T) {
	s, lease := committed(t)
	for round := range uint64(3) {
		kept := s.kept
		other, err := Open(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		there := statestore.Stage{Stack: "shop", Name: string(rune('a' + round))}
		theirs, err := other.Acquire(t.Context(), there, statestore.Claim{Run: "r"})
		if err != nil {
			t.Fatal(err)
		}
		var rows []statestore.Row
		for i := range 500 {
			rows = append(rows, plain(i, 0))
		}
		if _, err := other.Commit(t.Context(), theirs, statestore.Batch{Seq: 1, Put: rows, Finish: statestore.Succeeded}); err != nil {
			t.Fatal(err)
		}
		commitAgain(t, s, lease, round+2, round+1)
		if s.kept == kept {
			t.Error("what it remembered of the file was used again")
		}
		if snap, err := other.Load(t.Context(), there); err != nil || len(snap.Rows) != 500 {
			t.Errorf("%d of their rows: %v", len(snap.Rows), err)
		}
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || snap.Rows[plain(0, 0).Address].Version != 4 {
		t.Errorf("version %d, %v", snap.Rows[plain(0, 0).Address].Version, err)
	}
	sound(t, s.Path())
}

// TestAKeptFileThatWasReplaced puts a copy in its place: commits go where the path leads.
func TestAKeptFileThatWasReplaced(t *testing.T) {
	s, lease := committed(t)
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(aside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, s.Path()); err != nil {
		t.Fatal(err)
	}
	commitAgain(t, s, lease, 2, 1)
	snap, err := s.Load(t.Context(), stage)
	if err != nil || snap.Rows[plain(0, 0).Address].Version != 2 {
		t.Errorf("version %d, %v", snap.Rows[plain(0, 0).Address].Version, err)
	}
	sound(t, s.Path())
}

// TestTheLastCommitKeepsNothing: nothing stays open when a run is over, nor after a refusal.
func TestTheLastCommitKeepsNothing(t *testing.T) {
	s, lease := committed(t)
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Put: []statestore.Row{plain(0, 7)}}); err == nil || s.kept != nil {
		t.Errorf("after a refusal: %v, kept %v", err, s.kept != nil)
	}
	commitAgain(t, s, lease, 2, 1)
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 3, Finish: statestore.Succeeded}); err != nil || s.kept != nil {
		t.Errorf("after the run: %v, kept %v", err, s.kept != nil)
	}
}
