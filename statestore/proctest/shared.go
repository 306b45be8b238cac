package proctest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Program builds the main package in a folder as it ships, once for all packages of one run of go test, and returns the path of the program.
func Program(ctx context.Context, folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	name := strings.Trim(strings.NewReplacer(string(filepath.Separator), "-", ":", "").Replace(folder), "-")
	return Shared(filepath.Join(name, "program"), func(path string) error {
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, ".")
		build.Dir = folder
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
		return nil
	})
}

// Shared returns the path of a file, such as a compiled program, that all packages of one run of go test share. Who asks first
// makes it, by writing it to the path that make is given, and those that ask meanwhile wait for it; where folders cannot be locked, each
// of them may make it, and one is kept. It lies in the folder of the run, which the go command removes at its end. A test binary that was compiled by itself
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
	if lock := awaitFolder(filepath.Dir(path)); lock != nil {
		defer lock.Close()
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
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
