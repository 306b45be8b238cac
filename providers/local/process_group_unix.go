//go:build unix

package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// keeper leads a process group. It holds the group's number, so that nothing else is ever reached under it, and waits for
// one event alone: the end of the process that began the group, however that came. Then it ends the group in good
// order, and itself last. Its arguments are the signal and the patience in tenths of a second; what it reads first is
// the id of the process that the group is about.
const keeper = `trap '' TERM INT HUP QUIT USR1 USR2 TSTP TTIN TTOU
read -r leader
read -r end
kill -s "$1" 0
n=0
while [ "$n" -lt "$2" ] && kill -0 "$leader" 2>/dev/null; do sleep 0.1; n=$((n+1)); done
kill -s KILL 0`

// group is a process group of which nothing outlives us.
type group struct {
	birth  birth // of its keeper
	keeper *exec.Cmd
	told   io.WriteCloser // the keeper reads it; its end is ours
}

// openGroup makes a group that ends with us. Its keeper keeps a lock, if there is one, until it ends.
func openGroup(stop syscall.Signal, grace time.Duration, lock *os.File) (*group, error) {
	if stop == syscall.SIGKILL {
		grace = 0
	}
	c := exec.Command("/bin/sh", "-c", keeper, "athanor-keeper", signalName(stop), strconv.FormatInt(grace.Milliseconds()/100, 10))
	c.Dir = "/"
	if lock != nil {
		c.ExtraFiles = []*os.File{lock}
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	told, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &group{birth: bornAs(c.Process.Pid), keeper: c, told: told}, nil
}

// join lets a command start as a member of the group.
func (g *group) join(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.birth.PID}
}

// tell tells the keeper whom it must wait for.
func (g *group) tell(leader *os.Process) {
	fmt.Fprintln(g.told, leader.Pid)
}

// signal goes to all of the group. The keeper ignores what can be ignored. Its number is ours until close has reaped it.
func (g *group) signal(s syscall.Signal) {
	syscall.Kill(-g.birth.PID, s) //nolint:errcheck // a process that has ended already is none of those that must end
}

// close kills what is left of the group.
func (g *group) close() {
	g.signal(syscall.SIGKILL)
	g.told.Close()  //nolint:errcheck // its reader has ended
	g.keeper.Wait() //nolint:errcheck // it was killed
}

func signalOf(name string) syscall.Signal {
	switch name {
	case "SIGINT":
		return syscall.SIGINT
	case "SIGQUIT":
		return syscall.SIGQUIT
	case "SIGHUP":
		return syscall.SIGHUP
	case "SIGKILL":
		return syscall.SIGKILL
	}
	return syscall.SIGTERM
}

// signalName is what kill -s calls it.
func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "INT"
	case syscall.SIGQUIT:
		return "QUIT"
	case syscall.SIGHUP:
		return "HUP"
	case syscall.SIGKILL:
		return "KILL"
	}
	return "TERM"
}

// endGroup ends a group that somebody else has begun, as long as it is the very one: its keeper is alive, which holds the
// number meanwhile. It returns when the keeper has ended.
func endGroup(ctx context.Context, keeper, leader birth, stop syscall.Signal, grace time.Duration) error {
	if !keeper.alive() {
		return nil
	}
	signal := func(s syscall.Signal) error {
		if err := syscall.Kill(-keeper.PID, s); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("process group %d: %w", keeper.PID, err)
		}
		return nil
	}
	if leader.alive() {
		if err := signal(stop); err != nil {
			return err
		}
		if err := signal(syscall.SIGCONT); err != nil {
			return err
		}
		patient, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		until(patient, func() bool { return !leader.alive() || !keeper.alive() })
	}
	if keeper.alive() {
		if err := signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	if !until(ctx, func() bool { return !keeper.alive() }) {
		return fmt.Errorf("process group %d: %w", keeper.PID, context.Cause(ctx))
	}
	return nil
}
