//go:build unix

package loader

import "syscall"

// ReplaceProcess becomes the program, so that signals, terminal and exit code are its own.
func ReplaceProcess(binary string, args, env []string) error {
	return syscall.Exec(binary, append([]string{binary}, args...), env)
}
