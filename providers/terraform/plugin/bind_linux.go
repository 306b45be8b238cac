package plugin

import (
	"os/exec"
	"syscall"
)

// bind ends the process with ours, and keeps the terminal's signals from it: an interrupt is answered with StopProvider.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill ends the process and all that it started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
