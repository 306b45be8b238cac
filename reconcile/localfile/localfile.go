// Package localfile opens the files that a stack names.
//
// It knows the folders that a stack may read, and it resolves symbolic links when it opens a file, so that a link which
// is changed after a check leads nowhere else. It does not know stacks, kinds or permissions: the command puts the
// [Bounds] into the context, and code that reads a path from a stack opens it here.
package localfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds are the files that a stack may open.
type Bounds struct {
	// Root is the project's root folder. Everything below it may be opened.
	Root string
	// Allowed are files and folders outside of the root, with all links resolved.
	Allowed []string
}

type key struct{}

// With returns a context in which only files within the bounds are opened. Without bounds every file is.
func With(ctx context.Context, b Bounds) context.Context { return context.WithValue(ctx, key{}, b) }

// BoundsOf returns the bounds of a context.
func BoundsOf(ctx context.Context) (Bounds, bool) {
	b, ok := ctx.Value(key{}).(Bounds)
	return b, ok
}

// OutsideError says that a path leads out of the folders that a stack may read.
type OutsideError struct {
	// Path is the path as it was named, Real the file that it leads to, "" when that is not known.
	Path, Real string
}

func (e *OutsideError) Error() string {
	if e.Real == "" || e.Real == e.Path {
		return e.Path + " is outside of the project"
	}
	return fmt.Sprintf("%s leads to %s, outside of the project", e.Path, e.Real)
}

// Hint says how the user allows it.
func (e *OutsideError) Hint() string {
	real := e.Real
	if real == "" {
		real = e.Path
	}
	return "if the stack may read it: --allow path=" + real
}

// ErrNotFile is matched by the error about a pipe, a device, a socket or a folder where a file is wanted.
var ErrNotFile = errors.New("not a file")

// Open opens a file or a folder for reading. It waits for nobody: a pipe, a device or a socket is an error at once. In
// a context with [Bounds], a path that leads outside is an [*OutsideError].
func Open(ctx context.Context, path string) (*os.File, error) {
	bounds, bounded := BoundsOf(ctx)
	real := path
	if bounded { // of what lies outside, the error says nothing
		var err error
		if real, err = bounds.inside(path); err != nil {
			return nil, err
		}
	}
	// The opening of a device may itself do something, so its mode is read first, and once more when it is open.
	if info, err := os.Stat(real); err == nil && !opens(info) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	f, err := bounds.open(path, real, bounded)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !opens(info) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func opens(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// inside returns the file that a path leads to; one that leads outside is an [*OutsideError].
func (b Bounds) inside(path string) (real string, err error) {
	real, inside, err := b.Resolve(path)
	if err == nil && !inside {
		err = &OutsideError{Path: path, Real: real}
	}
	return real, err
}

// open opens a path that was resolved to a file within the bounds, if there are any.
func (b Bounds) open(path, real string, bounded bool) (*os.File, error) {
	if !bounded {
		return os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	}
	f, err := b.openReal(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		if again, inside, _ := b.Resolve(path); !inside || again != real {
			return nil, &OutsideError{Path: path}
		}
	}
	return f, err
}

// Resolve returns the file that a path leads to, and whether it is within the bounds. Of a path whose last parts do not
// exist, the part that does is resolved.
func (b Bounds) Resolve(path string) (real string, inside bool, err error) {
	if real, err = Real(path); err != nil {
		return "", false, err
	}
	root, err := Real(b.Root)
	if err != nil {
		return "", false, err
	}
	return real, Within(root, real) || b.allowed(real) != "", nil
}

// allowed is the allowed file or folder that holds a resolved path, "" when none does.
func (b Bounds) allowed(real string) string {
	for _, a := range b.Allowed {
		if Within(a, real) {
			return a
		}
	}
	return ""
}

// openReal opens a resolved path below the root, or below what is allowed. No link is left in it: one that has appeared
// since it was resolved may lead about inside of that folder, and never out of it.
func (b Bounds) openReal(real string) (*os.File, error) {
	folder, err := Real(b.Root)
	if err != nil {
		return nil, err
	}
	if !Within(folder, real) {
		folder = b.allowed(real)
	}
	single := folder == real
	if info, err := os.Lstat(folder); err != nil {
		return nil, err
	} else if single && !info.IsDir() {
		folder = filepath.Dir(real)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(folder, real)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil || !single {
		return f, err
	}
	// Of a single file, nothing beside it may be opened in its place.
	named, err := root.Lstat(name)
	if err == nil {
		var opened fs.FileInfo
		if opened, err = f.Stat(); err == nil && !os.SameFile(named, opened) {
			err = &OutsideError{Path: real}
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Within reports whether a clean absolute path is a folder or lies below it.
func Within(folder, path string) bool {
	if folder == path {
		return true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.HasPrefix(path, folder)
}

// Real returns an absolute path with all links resolved. Of a path whose last parts do not exist, the part that does is
// resolved; a link that leads to nothing is followed as far as it is there.
func Real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	const mostLinks = 40
	rest := ""
	for range mostLinks {
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for {
			if to, err := os.Readlink(abs); err == nil { // a link that dangles
				if !filepath.IsAbs(to) {
					to = parent(abs) + string(filepath.Separator) + to // not cleaned: what is before a ".." may be a link
				}
				abs = to
				break
			}
			rest, abs = filepath.Join(filepath.Base(abs), rest), parent(abs)
			if _, err := os.Lstat(abs); err == nil || abs == parent(abs) {
				break
			}
		}
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many links")}
}

// parent cuts the last name off a path, and leaves the rest as it is.
func parent(path string) string {
	name := strings.TrimRight(path, string(filepath.Separator))
	at := strings.LastIndexByte(name, filepath.Separator)
	if at <= len(filepath.VolumeName(path)) {
		return filepath.Dir(path)
	}
	return name[:at]
}

// ReadFile reads a file whole, as [Open] opens it.
func ReadFile(ctx context.Context, path string) ([]byte, error) { return ReadAtMost(ctx, path, -1) }

// ErrTooLarge is matched by the error about a file that is larger than asked for.
var ErrTooLarge = errors.New("too large")

// ReadAtMost reads a file that has at most that many bytes; -1 is no limit.
func ReadAtMost(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotFile}
	}
	from, size := io.Reader(f), info.Size()
	if most >= 0 {
		from, size = io.LimitReader(f, most+1), min(size, most)
	}
	var data bytes.Buffer
	data.Grow(int(min(size, believed)) + bytes.MinRead)
	_, err = data.ReadFrom(from)
	if err == nil && most >= 0 && int64(data.Len()) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return data.Bytes(), err
}

// believed bounds the size that is made room for because a file says that it has it.
const believed = 64 << 20

// ReadDir lists a folder in the order of names, as [Open] opens it.
func ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	f, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Inside reports a path that leads outside of the bounds. It need not exist: it may be about to be written.
func Inside(ctx context.Context, path string) error {
	bounds, bounded := BoundsOf(ctx)
	if !bounded {
		return nil
	}
	_, err := bounds.inside(path)
	return err
}

// Check reports a path that leads outside of the bounds, and one that is neither a file nor a folder, as [Open] does.
func Check(ctx context.Context, path string) error {
	f, err := Open(ctx, path)
	if err != nil {
		return err
	}
	return f.Close()
}
