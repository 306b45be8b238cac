//go:build !unix || solaris || aix

package bolt

import "os"

// relocks: the lock of an open file ends with the file descriptor.
const relocks = false

func lock(*os.File) error { return errLocked }

// unlock has nothing to do where locks end with the file descriptor.
func unlock(*os.File) error { return nil }

// substitutes reports false: a file that is open cannot be replaced.
func substitutes(_, _ os.FileInfo) bool { return false }
