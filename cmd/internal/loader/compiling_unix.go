//go:build unix

package loader

import (
	"os/exec"
	"syscall"
	"time"
)

// compiling lets the end of a command's context end what the command has started, too: the compilers and the linker of
// one go command. They are interrupted as by Ctrl-C, so that the go command takes away what it has built aside.
func compiling(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	c.WaitDelay = 5 * time.Second
}
