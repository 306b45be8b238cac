package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrNotFile is matched by the error about a pipe, a device, a socket or a folder where a file is wanted.
var ErrNotFile = errors.New("not a file")

// ErrTooLarge is matched by the error about a file that is larger than any real one.
var ErrTooLarge = errors.New("too large")

// OpenFile opens a file like [os.OpenFile], and waits for nobody: a pipe, a device, a socket or a folder in its place is
// an error at once. A checkout may hold one where a file is expected.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	not := &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	// The opening of a device may itself do something, so its mode is read first, and once more when it is open.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, not
	}
	f, err := os.OpenFile(path, flag|withoutWaiting, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = not
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a file of at most that many bytes, as [OpenFile] opens it.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return data, err
}
