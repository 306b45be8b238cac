//go:build unix

package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestLocksAreSwept: the file of a lock goes a day after its run was killed. One that is held stays, however old it is, and so does a young one.
func TestLocksAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	long := time.Now().Add(-25 * time.Hour)
	for nonce, age := range map[string]time.Time{"old": long, "held": long, "young": time.Now()} {
		path := commandLock(nonce)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, age, age)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(commandLock("held"))
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	sweepLocks()
	for nonce, stays := range map[string]bool{"old": false, "held": true, "young": true} {
		if _, err := os.Lstat(commandLock(nonce)); errors.Is(err, fs.ErrNotExist) == stays {
			t.Errorf("%s stays: %v, want %v", nonce, !stays, stays)
		}
	}
}
