//go:build !linux

package plugin

import "os/exec"

// bind does nothing here: a provider whose parent was killed ends when it next writes to its log.
func bind(*exec.Cmd) {}

// kill ends the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
