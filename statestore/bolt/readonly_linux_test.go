package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
)

// TestAReadOnlyFolder runs for the superuser too, who may write everywhere: its thread works on files as somebody else.
func TestAReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		const nobody = 65534
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"}); !errors.Is(err, statestore.ErrUnavailable) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}
