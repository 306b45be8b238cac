//go:build unix && !solaris && !aix

package devloop

import (
	"os"
	"syscall"
)

// lockFile takes the lock of an open file, which goes with the process however that ends. False: somebody has it.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
