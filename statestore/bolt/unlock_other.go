//go:build !unix || solaris || aix

package bolt

import "os"

// unlock has nothing to do where locks end with the file descriptor.
func unlock(*os.File) error { return nil }
