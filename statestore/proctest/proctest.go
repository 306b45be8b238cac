// Package proctest starts the programs that tests need beside them, and finds what is installed for that in the module.
//
// It knows processes and folders. It does not know which program it starts, nor when one is ready.
package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
)

// ModuleRoot returns the nearest folder above the working folder that holds a go.mod.
func ModuleRoot() (dir string, ok bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// StartFree starts a command that may outlive this process. The channel closes when it has ended.
func StartFree(cmd *exec.Cmd) (<-chan struct{}, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return ended, nil
}
