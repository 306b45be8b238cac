//go:build !unix || solaris || aix

package proctest

import "os"

// canLock: folders cannot be locked here.
const canLock = false

func lockFolder(string) *os.File { return nil }

func awaitFolder(string) *os.File { return nil }
