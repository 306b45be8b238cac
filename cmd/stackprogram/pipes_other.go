//go:build !unix

package stackprogram

import (
	"os"
	"os/exec"
)

// HasPipes: a program cannot be given pipes here.
const HasPipes = false

func pipes() (calls, answers *os.File) { return os.Stdin, os.Stderr } // nobody asks for them

func givePipes(*exec.Cmd, *os.File, *os.File) {}

func giveFile(_ *exec.Cmd, file *os.File) string { return file.Name() }
