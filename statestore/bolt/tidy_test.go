package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
)

// TestKilledCompactionIsTidied: what a killed compaction has left goes when the file is opened next, if only to be read. A reader of a
// file that was replaced meanwhile leaves what the file's next compaction writes.
func TestKilledCompactionIsTidied(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "R", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Finish(t.Context(), statestore.Succeeded, nil), j.Close()); err != nil {
		t.Fatal(err)
	}
	left := aside(s.Path())
	leave := func() {
		if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if _, err := s.Load(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	f, err := s.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(s.Path()+".new", whole, 0o600), os.Rename(s.Path()+".new", s.Path())); err != nil {
		t.Fatal(err)
	}
	leave()
	f.tidy()
	if _, err := os.Lstat(left); err != nil {
		t.Errorf("a reader of the old file took it away: %v", err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}
