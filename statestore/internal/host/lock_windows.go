package host

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// take locks a file, if nobody else has it locked. The lock belongs to the handle, which Go opens so that programs that
// are started do not inherit it.
func take(f *os.File) bool { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) == nil }

// ask reports whether somebody has the file locked. Those who ask at once share the lock.
func ask(f *os.File) answer {
	switch err := lockFile(f, 0); {
	case err == nil:
		return free
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return taken
	}
	return unknown
}

func lockFile(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// own is always true: the temporary folder is the user's own.
func own(*os.File) bool { return true }

// identify returns the numbers that tell a file from every other one that exists.
func identify(f *os.File) (volume, number uint64, err error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0, 0, err
	}
	return uint64(info.VolumeSerialNumber), uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), nil
}
