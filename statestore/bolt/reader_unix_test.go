//go:build unix

package bolt

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// TestAStoppedReader: one that was stopped in the middle of reading holds a writer up for its patience at most, and other
// readers not at all; the journal goes on when the reader does.
func TestAStoppedReader(t *testing.T) {
	const patience = 100 * time.Millisecond
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path, WithPatience(patience))
	if err != nil {
		t.Fatal(err)
	}
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := spawn(t, "look", path)
	c.line(t)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	row := plain(0, 0)
	err = j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{row}})
	if !errors.Is(err, statestore.ErrUnavailable) { // the reader stands still: only the patience can end the wait
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Load(t.Context(), stage); err != nil {
		t.Errorf("another reader: %v", err)
	}
	if err := j.Held(); err != nil {
		t.Errorf("the lease has time left: %v", err)
	}
	c.kill(t)
	if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil {
		t.Errorf("after the reader went: %v", err)
	}
	if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
		t.Error(err)
	}
	sound(t, path)
}
