//go:build !unix

package loader

import (
	"errors"
	"os"
	"os/exec"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// ReplaceProcess runs the program and takes over its exit code.
func ReplaceProcess(binary string, args, env []string) error {
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return cli.Exit(ended.ExitCode())
	}
	return err
}
