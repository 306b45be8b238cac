//go:build unix && !solaris && !aix

package bolt

import (
	"errors"
	"os"
	"syscall"
)

// relocks: the lock of an open file can be given back and taken again.
const relocks = true

// lock takes the lock of an open file for writing, or says errLocked.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// unlock gives the lock of the file back. Closing alone does not: a mapping of the file that is still
// there keeps the lock as well.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// substitutes reports whether a new file can take the place of an old one: the same user and group own both, and the old
// one has no other name.
func substitutes(new, old os.FileInfo) bool {
	n, ok := new.Sys().(*syscall.Stat_t)
	o, known := old.Sys().(*syscall.Stat_t)
	return ok && known && n.Uid == o.Uid && n.Gid == o.Gid && o.Nlink == 1
}
