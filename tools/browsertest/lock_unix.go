//go:build unix && !solaris && !aix

package browsertest

import (
	"os"
	"syscall"
)

// canLock: folders can be locked.
const canLock = true

// lockFolder locks a folder and returns what holds the lock, or nil where another process has it, or it is missing. The kernel gives the lock
// back when this process ends, however that comes.
func lockFolder(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close() // it was only opened
		return nil
	}
	return f
}
