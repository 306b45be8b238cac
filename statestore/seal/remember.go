package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// RememberedStore is the id of the store that a stage of a project had on this machine, empty when
// none is known. A store file that was lost and is made anew takes it, so that it is not "another
// store" to the owner tags in the cloud. Dir is that of [LoadOrMake]; project is the path of the project.
func RememberedStore(dir, project, stack, stage string) (string, error) {
	path, err := rememberPath(dir, project, stack, stage)
	if err != nil {
		return "", err
	}
	id, err := durable.ReadFile(path, longestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(id)), err
}

// RememberStore remembers the id of a store, durably and in one step. Each stage has a file of its own, so
// that two processes never lose each other's update.
func RememberStore(dir, project, stack, stage, id string) error {
	path, err := rememberPath(dir, project, stack, stage)
	if err != nil {
		return err
	}
	if known, err := durable.ReadFile(path, longestFile); err == nil && strings.TrimSpace(string(known)) == id {
		return nil
	}
	if err := durable.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.Write(path, []byte(id+"\n"))
}

// rememberPath hashes the names: paths and stages hold what no file name may.
func rememberPath(dir, project, stack, stage string) (string, error) {
	dir, err := source{os.Getenv, os.UserConfigDir}.folder(dir)
	if err != nil {
		return "", err
	}
	project, err = filepath.Abs(project)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(frame("athanor store 1", project, stack, stage))
	return filepath.Join(dir, "stores", hex.EncodeToString(sum[:16])), nil
}
