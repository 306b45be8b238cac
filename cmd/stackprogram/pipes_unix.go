//go:build unix

package stackprogram

import (
	"os"
	"os/exec"
	"syscall"
)

// HasPipes: a program can be given pipes.
const HasPipes = true

// The pipes of a program, behind its standard streams.
const (
	callsPipe = 3 + iota
	answersPipe
)

// pipes are those that this program was given.
func pipes() (calls, answers *os.File) {
	syscall.CloseOnExec(callsPipe)
	syscall.CloseOnExec(answersPipe)
	return os.NewFile(callsPipe, "calls"), os.NewFile(answersPipe, "answers")
}

// givePipes gives a program its ends.
func givePipes(cmd *exec.Cmd, calls, answers *os.File) { cmd.ExtraFiles = []*os.File{calls, answers} }
