//go:build unix && !solaris && !aix

package proctest

import (
	"errors"
	"os"
	"syscall"
)

// canLock: folders can be locked.
const canLock = true

// lockFolder locks a folder and returns what holds the lock, or nil where another process has it, or it is missing. The kernel gives the lock
// back when this process ends, however that comes.
func lockFolder(path string) *os.File { return flock(path, syscall.LOCK_EX|syscall.LOCK_NB) }

// awaitFolder waits for the lock of a folder.
func awaitFolder(path string) *os.File { return flock(path, syscall.LOCK_EX) }

func flock(path string, how int) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err != nil {
		_ = f.Close() // it was only opened
		return nil
	}
	return f
}
