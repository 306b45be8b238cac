//go:build !unix

package local

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// group is one process: there are no process groups, and nothing ends it but us.
type group struct {
	birth   birth
	process *os.Process
}

func openGroup(syscall.Signal, time.Duration, *os.File) (*group, error) { return &group{}, nil }

func (g *group) join(*exec.Cmd) {}

func (g *group) tell(leader *os.Process) { g.birth, g.process = bornAs(leader.Pid), leader }

// signal kills: there is no gentler one that every process takes.
func (g *group) signal(syscall.Signal) { g.close() }

func (g *group) close() {
	if g.process != nil {
		g.process.Kill() //nolint:errcheck // it may have ended
	}
}

func signalOf(string) syscall.Signal { return syscall.SIGKILL }

// endGroup ends nothing: nobody tells here whether a process is still the same one.
func endGroup(context.Context, birth, birth, syscall.Signal, time.Duration) error { return nil }

func startOf(int) string { return "" }
