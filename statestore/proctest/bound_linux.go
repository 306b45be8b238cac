package proctest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartBound starts cmd so that it cannot outlive this process, however this
// process ends. The kernel sends the signal when the *thread* that started the
// child ends, so a goroutine keeps that thread until the child has ended. The
// channel closes then.
func StartBound(cmd *exec.Cmd) (<-chan struct{}, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	ended := make(chan struct{})
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
	if err := <-started; err != nil {
		return nil, err
	}
	return ended, nil
}
