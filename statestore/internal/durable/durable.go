// Package durable knows how a file appears whole or not at all, and is still there after a power cut.
// It does not know what is in it.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Publish gives a finished file its real name unless somebody was faster, which is fs.ErrExist. The
// temporary file is removed either way. A hard link is the one portable way to a name that fails when it is
// taken; where the file system has no links, the check and the rename are two steps.
func Publish(temporary, path string) error {
	defer os.Remove(temporary)
	err := os.Link(temporary, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, taken := os.Lstat(path); taken == nil {
			return &os.LinkError{Op: "publish", Old: temporary, New: path, Err: fs.ErrExist}
		}
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return err
	}
	os.Remove(temporary) // before the sync, or a power cut brings it back
	return SyncDir(filepath.Dir(path))
}

// Aside writes a new file with mode 0600 beside path, synced, and returns its name for Publish or Rename.
func Aside(path string, data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", named(err, path)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		os.Remove(f.Name())
		return "", named(err, path)
	}
	return f.Name(), nil
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

// Write replaces a file in one step: a reader sees the old content or the new one.
func Write(path string, data []byte) error {
	temporary, err := Aside(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		os.Remove(temporary)
		return named(err, path)
	}
	return SyncDir(filepath.Dir(path))
}

// MakeDir makes a folder and those above it that are missing, mode 0700, so that all of their names are durable: what is
// synced in a folder whose own name is lost is lost with it.
func MakeDir(dir string) error {
	var made []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, at := range made {
		if err := SyncDir(filepath.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes the names in a directory durable. Windows has no such call and needs none.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
