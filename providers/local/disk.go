package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// readable is the size in bytes up to which content is shown as text; beyond it, by digest.
const readable = 4 << 10

// ShapeError says that something else than a file or a folder lies where one is to be.
type ShapeError struct {
	Path string
	// Is and Want are such as "a symbolic link" and "a file".
	Is, Want string
}

func (e *ShapeError) Error() string { return fmt.Sprintf("%s is %s, not %s", e.Path, e.Is, e.Want) }

// shapeOf names what a mode says.
func shapeOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a device, pipe or socket"
	}
}

// state is a file as it was read.
type state struct {
	sum  string // sha-256, hex
	size int64
	text string // the content, when it is text and short
	mode fs.FileMode
}

// shown is the content as plans and drift show it: text when that is short, else digest and size. The two
// forms are of different type, so that no text can pass for a digest.
func (s state) shown() any {
	if s.size == int64(len(s.text)) {
		return s.text
	}
	return s.byDigest()
}

func (s state) byDigest() any { return map[string]any{"sha256": s.sum, "size": s.size} }

// publicDigest is what others see of content with this sum: made with the stage's key where the content is secret,
// so that nobody can guess it. A look without a declaration cannot tell whether it is; the record can.
func publicDigest(kind, sum, recorded string, secret bool, derive func(info string, n int) []byte) string {
	if derive == nil {
		if secret {
			return ""
		}
		return sum
	}
	keyed := hex.EncodeToString(derive(kind+" digest "+sum, 32))
	if secret || recorded == keyed {
		return keyed
	}
	return sum
}

// textState is the state of a file that holds text.
func textState(text string, mode fs.FileMode) state {
	sum := sha256.Sum256([]byte(text))
	s := state{sum: hex.EncodeToString(sum[:]), size: int64(len(text)), mode: mode}
	if len(text) <= readable && utf8.ValidString(text) {
		s.text = text
	}
	return s
}

// readState reads the file name in root. What is not a file is a *ShapeError.
func readState(root *os.Root, name string) (state, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return state{}, err
	}
	if !info.Mode().IsRegular() {
		return state{}, &ShapeError{Path: name, Is: shapeOf(info.Mode()), Want: "a file"}
	}
	f, err := root.Open(name)
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	return hashed(f, info.Mode().Perm())
}

// hashed reads all of r and keeps it when it is short.
func hashed(r io.Reader, mode fs.FileMode) (state, error) {
	h, head := sha256.New(), &strings.Builder{}
	n, err := io.Copy(io.MultiWriter(h, &limited{head, readable}), r)
	if err != nil {
		return state{}, err
	}
	s := state{sum: hex.EncodeToString(h.Sum(nil)), size: n, mode: mode}
	if n <= readable && utf8.ValidString(head.String()) {
		s.text = head.String()
	}
	return s, nil
}

// limited keeps the first left bytes and drops the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	head := p[:min(len(p), l.left)]
	l.left -= len(head)
	if _, err := l.w.Write(head); err != nil {
		return 0, err
	}
	return len(p), nil
}

// body is what a file is to hold: text, or the bytes of a prepared asset.
type body struct {
	text  string
	asset *reconcile.Asset
}

func (b body) open(ctx context.Context) (io.ReadCloser, error) {
	if b.asset == nil {
		return io.NopCloser(strings.NewReader(b.text)), nil
	}
	return localfile.Open(ctx, b.asset.Path)
}

// aside is the name under which a file is written before it gets its own. It depends on the name alone, so
// that what a crash leaves behind is overwritten, or removed, by the next run.
func aside(name string) string {
	dir, base := filepath.Split(name)
	sum := sha256.Sum256([]byte(base))
	return dir + ".athanor-" + hex.EncodeToString(sum[:8])
}

// put writes a file aside and gives it its name in one step: readers see the old file or the new one,
// whole. Without replace it is an error of class Exists when the name is taken.
func put(ctx context.Context, root *os.Root, name string, b body, mode fs.FileMode, replace bool) (err error) {
	temp := aside(name)
	if err := writeAside(ctx, root, temp, b, mode); err != nil {
		return errors.Join(err, removeIf(root, temp))
	}
	if replace {
		err = root.Rename(temp, name)
	} else {
		err = publish(root, temp, name)
	}
	return errors.Join(err, removeIf(root, temp))
}

// publish gives a file a name that must be free.
func publish(root *os.Root, temp, name string) error {
	if done, err := nameNew(root, temp, name); done || err != nil {
		return err
	}
	err := root.Link(temp, name) // a run that is cut right after this leaves the other name
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameFree(root, temp, name) // a file system without hard links
	}
	return err
}

// renameFree renames unless the name is taken.
func renameFree(root *os.Root, from, to string) error {
	if _, err := root.Lstat(to); err == nil {
		return &fs.PathError{Op: "create", Path: to, Err: fs.ErrExist}
	}
	return root.Rename(from, to)
}

// writeAside writes and closes the file that is to be renamed. It is private until its mode is set.
func writeAside(ctx context.Context, root *os.Root, temp string, b body, mode fs.FileMode) error {
	if err := removeIf(root, temp); err != nil {
		return err
	}
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	in, err := b.open(ctx)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), in)
	err = errors.Join(err, in.Close(), f.Chmod(mode), f.Close())
	if err == nil && b.asset != nil && hex.EncodeToString(h.Sum(nil)) != b.asset.Digest {
		return fmt.Errorf("%s changed while it was read", b.asset.Path)
	}
	return err
}

// removeIf removes a file if it is there.
func removeIf(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// missing reports whether an error says that there is nothing at a path. A file where a parent folder would
// be is such an answer: nothing can lie below it.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cleaned is a path in its one form, with slashes. A path that holds a reference is left as it is.
func cleaned(path string) string {
	if path == "" || token.Has(path) {
		return path
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// within is a path of the stack as a path of the machine.
func within(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// openParent opens the folder that holds path and gives the name in it. With create it is made first. A path that the
// stack may not reach is an error.
func openParent(ctx context.Context, path string, create bool) (*os.Root, string, error) {
	if err := localfile.Inside(ctx, path); err != nil {
		return nil, "", err
	}
	dir, base := filepath.Dir(path), filepath.Base(path)
	if create {
		if err := makeFolder(ctx, dir); err != nil {
			return nil, "", err
		}
	}
	root, err := os.OpenRoot(dir)
	return root, base, err
}

// makeFolder makes a folder and those above it, where the stack may reach them.
func makeFolder(ctx context.Context, full string) error {
	if err := localfile.Inside(ctx, full); err != nil {
		return err
	}
	return os.MkdirAll(full, 0o755)
}

// again does what makes folders and writes into them, and does it again when a folder was missing: the deletion of another
// resource removes folders that it leaves empty, between making one and writing into it too.
func again(do func() error) error {
	const most = 16 // each time, another deletion was just then at the same folder
	for try := 1; ; try++ {
		if err := do(); !errors.Is(err, fs.ErrNotExist) || try == most {
			return err
		}
	}
}

// prune removes the folders above path that are left empty, as long as they lie inside the stack's directory.
// Folders elsewhere are never removed.
func prune(stack, path string) {
	stack = filepath.Clean(stack)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		inside, err := filepath.Rel(stack, dir)
		if err != nil || inside == "." || !filepath.IsLocal(inside) {
			return
		}
		if err := os.Remove(dir); err != nil && !missing(err) {
			return // not empty
		}
	}
}

// managesModes is false where files have no permission bits.
func managesModes() bool { return runtime.GOOS != "windows" }
