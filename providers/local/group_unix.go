//go:build unix

package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/reconcile/scratch"
)

// commandGroup is the process group of one run of a command. Its keeper kills the group when this process ends, and holds the
// lock until then, so that the next run knows when nothing of this one lives any more.
type commandGroup struct {
	*group
	lock *os.File // nil without a nonce, and where the temporary folder carries no locks
}

// openCommand lets a command start in a group of its own, after nothing lives any more of an earlier run with this nonce.
func openCommand(ctx context.Context, nonce string, c *exec.Cmd) (*commandGroup, error) {
	lock, err := lockCommand(ctx, nonce)
	if err != nil {
		return nil, err
	}
	g, err := openGroup(syscall.SIGKILL, 0, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("process group: %w", err), unlockCommand(lock))
	}
	g.join(c)
	c.Cancel = func() error {
		g.signal(syscall.SIGKILL)
		return nil
	}
	return &commandGroup{g, lock}, nil
}

// leave ends the keeper alone: what the command has left running on purpose goes on.
func (g *commandGroup) leave() {
	g.keeper.Process.Kill() //nolint:errcheck // it may have been killed with its group
	g.told.Close()          //nolint:errcheck // its reader has ended
	g.keeper.Wait()         //nolint:errcheck // it was killed
	unlockCommand(g.lock)   //nolint:errcheck // what stays in the temporary folder holds nothing
}

// commandLock is the file whose lock is held while a run with this nonce lives. The nonce is random and in state before the
// command starts.
func commandLock(nonce string) string {
	sum := sha256.Sum256([]byte("local.Command " + nonce))
	return filepath.Join(os.TempDir(), lockPrefix+hex.EncodeToString(sum[:16])+lockSuffix)
}

// lockPrefix and lockSuffix begin and end the names of the files of locks.
const lockPrefix, lockSuffix = "athanor-command-", ".lock"

// sweepLocks removes the files of a day ago whose lock nobody holds: those of runs that were killed, and never tried again. A younger one may
// be about to be locked.
func sweepLocks() { scratch.Sweep(os.TempDir(), lockPrefix, lockSuffix, 24*time.Hour) }

// lockCommand takes the lock, and waits for it as long as ctx lasts. Where there is none to take the command runs without: the
// keeper of an earlier run has ended that with its process.
func lockCommand(ctx context.Context, nonce string) (*os.File, error) {
	if nonce == "" {
		return nil, nil
	}
	path := commandLock(nonce)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, nil //nolint:nilerr // see above
		}
		var refused error
		free := func() bool {
			refused = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
			return !errors.Is(refused, syscall.EWOULDBLOCK)
		}
		if !free() && !until(ctx, free) {
			return nil, errors.Join(fmt.Errorf("an earlier run of it has not ended: %w", context.Cause(ctx)), f.Close())
		}
		if refused != nil {
			return nil, errors.Join(f.Close(), os.Remove(path)) // a file system that carries no locks
		}
		switch current, err := isAt(f, path); {
		case err != nil:
			return nil, errors.Join(err, f.Close())
		case current:
			return f, nil
		}
		if err := f.Close(); err != nil { // its holder removed it meanwhile
			return nil, err
		}
	}
}

// isAt reports whether a path names an open file.
func isAt(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// unlockCommand removes the file of a lock and gives it back.
func unlockCommand(lock *os.File) error {
	if lock == nil {
		return nil
	}
	return errors.Join(os.Remove(lock.Name()), lock.Close())
}
