//go:build unix && !solaris && !aix

package plugin

import (
	"os"
	"syscall"
)

// canLock: folders can be locked.
const canLock = true

// openFolder opens a folder, and nothing else that may stand in its place: a pipe would be waited for.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

// lockFolder locks a folder, if nobody else has it locked. The kernel gives the lock back when this process ends, however that comes.
func lockFolder(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
