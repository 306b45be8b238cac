//go:build !unix

package terminal

import "os"

// whenUnread has no way to wait here.
func whenUnread(*os.File, func()) (end func(), err error) { return func() {}, nil }
