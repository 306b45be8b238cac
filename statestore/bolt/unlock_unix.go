//go:build unix && !solaris && !aix

package bolt

import (
	"os"
	"syscall"
)

// unlock gives the lock of the file back. Closing alone does not: a mapping of the file that is still
// there keeps the lock as well.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
