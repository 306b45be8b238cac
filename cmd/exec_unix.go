//go:build unix

package cmd

import "syscall"

// replaceProcess becomes the program, so that signals, terminal and exit code are its own.
func replaceProcess(binary string, args, env []string) error {
	return syscall.Exec(binary, append([]string{binary}, args...), env)
}
