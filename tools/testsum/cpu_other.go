//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// relayed are the signals by which a terminal ends a test binary.
var relayed = []os.Signal{os.Interrupt}

// endWithParent does nothing: only Linux ends a process with its parent.
func endWithParent(*exec.Cmd) {}
