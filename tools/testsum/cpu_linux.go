package main

import (
	"os"
	"os/exec"
	"syscall"
)

// relayed are the signals by which go test and a terminal end a test binary.
var relayed = []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM}

// endWithParent has the kernel kill the test binary when this process is killed: go test does so some time after the
// time limit.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
