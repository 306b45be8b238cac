//go:build !unix || solaris || aix

package plugin

import "os"

// canLock: folders cannot be locked here, so that those of killed processes are left to the system.
const canLock = false

func openFolder(string) (*os.File, error) { return nil, nil } //nolint:nilnil // there is no lock

func lockFolder(*os.File) bool { return true }
