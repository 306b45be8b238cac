package s3test

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts cmd so that it cannot outlive this process. The kernel sends the signal when the *thread* that
// started it ends, so a goroutine keeps that thread until the server has ended. The channel closes then.
func startBound(cmd *exec.Cmd) (<-chan struct{}, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}
