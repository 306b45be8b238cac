//go:build unix

package miniflare

import (
	"io"
	"os/exec"
	"syscall"
)

// keeper leads a process group. It waits for one event alone: the end of the process that began the group, however that
// came. Then it ends the group, workerd included, which would outlive a killed Node.js, and clears away the folder that
// is its argument, if any.
const keeper = `trap '' TERM INT HUP QUIT
read -r end
kill -s TERM 0
[ -z "$1" ] || rm -rf -- "$1"
kill -s KILL 0`

// group is a process group of which nothing outlives us.
type group struct {
	keeper *exec.Cmd
	told   io.WriteCloser // the keeper reads it; its end is ours
}

// openGroup makes a group that ends with us, and a folder with it, "" for none.
func openGroup(temporary string) (*group, error) {
	c := exec.Command("/bin/sh", "-c", keeper, "athanor-keeper", temporary)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	told, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &group{keeper: c, told: told}, nil
}

// join lets a command start as a member of the group.
func (g *group) join(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.keeper.Process.Pid}
}

// close kills the group.
func (g *group) close() {
	syscall.Kill(-g.keeper.Process.Pid, syscall.SIGKILL) //nolint:errcheck // a process that has ended already is none of those that must end
	g.told.Close()                                       //nolint:errcheck // its reader has ended
	g.keeper.Wait()                                      //nolint:errcheck // it was killed
}
