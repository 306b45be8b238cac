package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// Output runs a command in a process group of its own and gives the end of what it writes. When its context ends, or this
// process does, the whole group is killed; what the command leaves running on purpose goes on. The command was made by
// [exec.CommandContext].
func Output(c *exec.Cmd) ([]byte, error) {
	output := &tail{max: keptOutput}
	c.Stdout, c.Stderr, c.WaitDelay = output, output, lingering
	group, err := openCommand(context.Background(), "", c) //nolint:forbidigo // it bounds the wait for a lock; none is taken
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	defer group.leave()
	if err = c.Run(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left a child that holds its output
	}
	return []byte(output.text()), err
}
