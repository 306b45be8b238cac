//go:build unix && !solaris && !aix

package host

import (
	"errors"
	"os"
	"syscall"
)

// take locks a file, if nobody else has it locked. The lock belongs to the open file, which Go opens so that programs
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

// own reports whether a file is of this user, and no other one can write it or knows it by another name: what others can write in the
// temporary folder proves nothing.
func own(f *os.File) bool {
	var s syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &s) == nil && int(s.Uid) == os.Geteuid() && s.Mode&0o7777 == 0o600 && s.Nlink == 1
}

// identify returns the numbers that tell a file from every other one that exists.
func identify(f *os.File) (volume, number uint64, err error) {
	var s syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &s); err != nil {
		return 0, 0, err
	}
	return uint64(s.Dev), s.Ino, nil //nolint:unconvert // its size is the system's
}
