//go:build !linux

package local

import "os"

// nameNew knows no such call here.
func nameNew(*os.Root, string, string) (ok bool, err error) { return false, nil }
