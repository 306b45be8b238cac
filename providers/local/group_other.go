//go:build !unix

package local

import (
	"context"
	"os/exec"
)

// commandGroup is nothing: there are no process groups to end, only the command itself.
type commandGroup struct{}

func openCommand(context.Context, string, *exec.Cmd) (*commandGroup, error) {
	return &commandGroup{}, nil
}

func (*commandGroup) leave() {}

// sweepLocks has nothing to remove: there are no locks here.
func sweepLocks() {}
