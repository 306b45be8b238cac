//go:build unix

package stackprogram

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// HasPipes: a program can be given pipes.
const HasPipes = true

// The pipes of a program, behind its standard streams, and the file of its answer.
const (
	callsPipe = 3 + iota
	answersPipe
	answerFile
)

// pipes are those that this program was given.
func pipes() (calls, answers *os.File) {
	syscall.CloseOnExec(callsPipe)
	syscall.CloseOnExec(answersPipe)
	syscall.CloseOnExec(answerFile)
	return os.NewFile(callsPipe, "calls"), os.NewFile(answersPipe, "answers")
}

// givePipes gives a program its ends.
func givePipes(cmd *exec.Cmd, calls, answers *os.File) {
	cmd.ExtraFiles = append([]*os.File{calls, answers}, cmd.ExtraFiles...)
}

// giveFile gives a program a file and takes the name of it away, so that nothing stays when this process is killed. It returns where
// the program opens the file: by its name where a system has no names for what is open.
func giveFile(cmd *exec.Cmd, file *os.File) string {
	if _, err := os.Stat(fmt.Sprint("/dev/fd/", file.Fd())); err != nil || os.Remove(file.Name()) != nil {
		return file.Name()
	}
	cmd.ExtraFiles = []*os.File{file}
	return fmt.Sprint("/dev/fd/", answerFile)
}
