//go:build unix

package tracetest

import (
	"os"
	"syscall"
)

// inodeOf is the number that tells a file from all others, 0 where there is none.
func inodeOf(path string, stat func(string) (os.FileInfo, error)) uint64 {
	info, err := stat(path)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
