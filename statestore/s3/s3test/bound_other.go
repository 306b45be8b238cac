//go:build !linux

package s3test

import "os/exec"

// startBound starts cmd, which ends with its test. The channel closes then.
func startBound(cmd *exec.Cmd) (<-chan struct{}, error) {
	ended := make(chan struct{})
	err := cmd.Start()
	if err == nil {
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
	}
	return ended, err
}
