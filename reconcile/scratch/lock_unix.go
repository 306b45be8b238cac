//go:build unix && !solaris && !aix

package scratch

import (
	"os"
	"syscall"
)

// canLock: files and folders can be locked.
const canLock = true

// open opens a file or a folder for its lock, and nothing that a link leads to. A pipe that stands in its place is not waited for.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// take locks a file, if nobody else has it locked. The kernel gives the lock back when this process ends, however that comes.
func take(f *os.File) bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }
