//go:build !unix

package miniflare

import "os/exec"

// group is the process alone where there are no process groups: the host ends when its standard input does.
type group struct{ cmd *exec.Cmd }

func openGroup(string) (*group, error) { return &group{}, nil }

func (g *group) join(c *exec.Cmd) { g.cmd = c }

func (g *group) close() {
	if g.cmd.Process != nil {
		g.cmd.Process.Kill() //nolint:errcheck // a process that has ended already needs no signal
	}
}
