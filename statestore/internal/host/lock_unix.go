//go:build unix && !solaris && !aix

package host

import (
	"errors"
	"os"
	"syscall"
)

// take locks a file that nobody else knows of yet. The lock belongs to the open file, which Go opens so that programs
// that are started do not inherit it.
func take(f *os.File) bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }

// ask reports whether somebody has the file locked. Those who ask at once share the lock.
func ask(f *os.File) answer {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return free
	case errors.Is(err, syscall.EWOULDBLOCK):
		return taken
	}
	return unknown
}

// identify returns the numbers that tell a file from every other one that exists.
func identify(f *os.File) (volume, number uint64, err error) {
	var s syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &s); err != nil {
		return 0, 0, err
	}
	return uint64(s.Dev), s.Ino, nil //nolint:unconvert // its size is the system's
}
