//go:build !linux

package awstest

import (
	"context"
	"os/exec"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// run is a run of go test whose packages share one emulator: here none does.
type run struct{}

func runOf(int) (run, bool) { return run{}, false }

func (run) join(ctx context.Context, cmd *exec.Cmd) (string, error) {
	return start(ctx, cmd, proctest.StartBound)
}
