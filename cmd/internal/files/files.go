// Package files has what commands do with the files that their users name: paths, reading that can be interrupted, and writing that
// leaves no half of a file.
//
// It does not know what is in them.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Absolute is a path from the root; one that cannot be resolved stays as it is.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// ConfigFolder is the folder of the user's configuration, in which athanor keeps permissions, tokens and keys.
func ConfigFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", cli.Hint(err, "export HOME=DIRECTORY: permissions, tokens and keys are kept below it")
	}
	return filepath.Join(dir, "athanor"), nil
}

// Folder is the folder that a target is or lies in: its state is found there without its program.
func Folder(target string) string {
	path := Absolute(target)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// ExistingFolder is [Folder] of a target that must exist where one is given: else what is kept below it would seem to be empty.
func ExistingFolder(target string) (string, error) {
	if _, err := os.Stat(Absolute(target)); target != "" && err != nil {
		return "", cli.Hint(fmt.Errorf("%s: %w", target, WithoutPath(err)), "the directory of the project, whose state store is used; default the current one")
	}
	return Folder(target), nil
}

// WithoutPath keeps an error from saying the path twice.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Interruptible reads what may never come, until the command is interrupted.
func Interruptible(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := read()
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Replace writes a file in one step: it has what it had, or all of the new data. It is private from its first byte on. A device or a pipe
// is written to, and stays what it is.
func Replace(file string, data []byte, mode os.FileMode) error {
	if isStream(file) {
		return writeStream(file, data)
	}
	return localfile.Replace(file, data, mode)
}

// isStream reports whether a path is that of a device or a pipe, such as /dev/null and /dev/stdout. A link elsewhere is replaced: it may
// lead out of the project.
func isStream(file string) bool {
	info, err := os.Lstat(file)
	if err != nil {
		return false
	}
	isLink := info.Mode()&fs.ModeSymlink != 0
	return !info.Mode().IsRegular() && !info.IsDir() && (!isLink || strings.HasPrefix(Absolute(file), "/dev/"))
}

// writeStream writes to a file that is there already.
func writeStream(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// WritePrivate writes what --out names: a file that its owner alone may read.
func WritePrivate(file string, data []byte) error {
	if err := Replace(file, data, 0o600); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// Rewrite replaces what a file holds, which keeps its permissions.
func Rewrite(file string, data []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return Replace(file, data, info.Mode().Perm())
}

// WriteNew writes a file that is not there yet.
func WriteNew(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return cli.Hint(fmt.Errorf("%s is there already", file), "--out names another directory")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, WithoutPath(err))
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
