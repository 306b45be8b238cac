//go:build unix

package local

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the command as the leader of a process group, and kills the group instead of the leader.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
