package measure

import (
	"os"
	"os/exec"
	"syscall"
)

// peakRSS in bytes; Linux counts in KiB.
func peakRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}

// endWithParent has the kernel end the command when the process that started it is gone, so that a
// measurement that is called off leaves nothing running.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
