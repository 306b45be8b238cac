package devloop

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of an open file, which goes with the handle however its process ends. False: somebody has it. What is
// locked is a byte far behind the content, which others read.
func lockFile(f *os.File) bool {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30}) == nil
}
