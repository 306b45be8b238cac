package measure

import (
	"fmt"
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

// anonymousOf returns the bytes that a process has resident beside the pages of files and of shared memory, 0 for one that has ended.
func anonymousOf(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// endWithParent has the kernel end the command when the process that started it has ended, so that a
// measurement that is called off leaves nothing running.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
