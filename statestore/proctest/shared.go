package proctest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Shared returns the path of a file, such as a compiled program, that all packages of one run of go test share. Who asks first
// makes it, by writing it to the path that make is given; of those that ask meanwhile each may make it, and one is kept.
// It lies in the folder of the run, which the go command removes at its end. A test binary that was compiled by itself
// makes its own, in a folder beside itself, which stays.
func Shared(name string, make func(path string) error) (string, error) {
	folder, err := filepath.Abs(filepath.Dir(os.Args[0]))
	if err != nil {
		return "", err
	}
	if run := filepath.Dir(folder); strings.HasPrefix(filepath.Base(run), "go-build") {
		folder = filepath.Join(run, "shared")
	} else {
		folder = filepath.Join(folder, "shared", strconv.Itoa(os.Getpid()))
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(filepath.Dir(path), "made")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	made := filepath.Join(aside, filepath.Base(path))
	if err := make(made); err != nil {
		return "", err
	}
	return path, os.Rename(made, path)
}
