package localfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Replace writes a file in one step: a reader finds what it held before or all that is new, and a write that fails changes nothing. The
// file is its owner's alone until it has its mode. An error names the file, and never the one that is written aside.
func Replace(path string, data []byte, mode fs.FileMode) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	}
	aside, err := os.CreateTemp(filepath.Dir(path), ".athanor-*")
	if err != nil {
		return named(err, path)
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(data)
	if err = errors.Join(err, aside.Chmod(mode), aside.Sync(), aside.Close()); err == nil {
		err = os.Rename(aside.Name(), path)
	}
	return named(err, path)
}

// named returns the error about a file that is written aside as one about the file that it becomes.
func named(err error, path string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	}
	return err
}
