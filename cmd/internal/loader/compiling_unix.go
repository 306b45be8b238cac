//go:build unix

package loader

import (
	"os/exec"
	"syscall"
	"time"
)

// compiling lets the end of a command's context end what the command has started, too: the compilers and the linker of
// one go command. They are interrupted as by Ctrl-C, so that the go command takes away what it has built aside. What goes on all the same,
// as a compiler of C in a shell script may, is killed by the function that it returns.
func compiling(c *exec.Cmd) (kill func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	c.WaitDelay = 5 * time.Second
	return func() {
		if c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // as a rule nobody is left
		}
	}
}
