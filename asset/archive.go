package asset

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// File is one file of an archive.
type File struct {
	// Name in the archive, with slashes.
	Name string
	// Path is where the content lies; "" when it is Data.
	Path string
	Data []byte
	// Executable files can be run. Of other permissions nothing is kept.
	Executable bool
	// Link is what a symbolic link points at, relative to the folder that it is in; "" for a file.
	Link string
	// From are the paths of the sources that the content was built of; nil where it is a source itself.
	From []string
}

// PathError says what is wrong with a file that is to be archived.
type PathError struct{ Path, Problem string }

func (e *PathError) Error() string { return e.Path + ": " + e.Problem }

// Tree are all files below a folder, in the order of their names. Empty folders are not kept, symbolic links are as long
// as they stay inside.
func Tree(ctx context.Context, dir string) ([]File, error) {
	var files []File
	if err := localfile.Check(ctx, dir); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		f := File{Name: filepath.ToSlash(rel), Path: at}
		switch {
		case rel == "." && !d.IsDir():
			return &PathError{at, "not a folder"}
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			if f.Link, err = inside(at, rel); err != nil {
				return err
			}
		case !d.Type().IsRegular():
			return &PathError{at, "neither a file nor a folder"}
		default:
			info, err := d.Info()
			if err != nil {
				return err
			}
			f.Executable = info.Mode()&0o111 != 0
		}
		files = append(files, f)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = &PathError{dir, "no file is in it"}
	}
	return files, err
}

// inside is what a link points at, unless that leads out of the folder.
func inside(at, rel string) (string, error) {
	to, err := os.Readlink(at)
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(to) || !filepath.IsLocal(filepath.Join(filepath.Dir(rel), to)) {
		return "", &PathError{at, "a link that leads out of the folder"}
	}
	return filepath.ToSlash(to), nil
}

// Zip makes an archive of files. Its bytes depend on their names, their contents and on which are executable, and on
// nothing else.
func Zip(ctx context.Context, work reconcile.Workspace, files []File) (reconcile.Asset, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	key, sums, err := inputs(ctx, files)
	if err != nil {
		return reconcile.Asset{}, err
	}
	to := filepath.Join(work.Cache, "zip", key+".zip")
	made, err := Existing(ctx, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err = WriteNew(to, func(w io.Writer) error { return writeZip(ctx, w, files, sums) }); err == nil {
			made, err = Existing(ctx, to)
		}
	}
	if err != nil {
		return reconcile.Asset{}, err
	}
	if sources := sourcesOf(ctx, work, files, sums); sources != nil {
		made.Files = List(sources, made.Size)
	}
	return made, nil
}

// Existing is a file that is there already, as it is.
func Existing(ctx context.Context, path string) (reconcile.Asset, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	f, err := localfile.Open(ctx, path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return reconcile.Asset{}, err
	}
	if !info.Mode().IsRegular() {
		return reconcile.Asset{}, &PathError{path, "not a file"}
	}
	h := sha256.New()
	n, err := copyTo(ctx, h, f)
	return reconcile.Asset{Digest: hex.EncodeToString(h.Sum(nil)), Path: path, Size: n}, err
}

// Keep writes data into a folder of the cache, under its digest.
func Keep(ctx context.Context, work reconcile.Workspace, folder string, data []byte) (reconcile.Asset, error) {
	sum := sha256.Sum256(data)
	to := filepath.Join(work.Cache, folder, hex.EncodeToString(sum[:]))
	if kept, err := Existing(ctx, to); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	err := WriteNew(to, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return reconcile.Asset{}, err
	}
	return Existing(ctx, to)
}

// inputs is one digest of all that an archive is made of, and those of its files.
func inputs(ctx context.Context, files []File) (key string, sums []string, err error) {
	all := sha256.New()
	for i, f := range files {
		if i > 0 && files[i-1].Name == f.Name {
			return "", nil, &PathError{f.Name, "twice in one archive"}
		}
		h := sha256.New()
		if err := f.copyTo(ctx, h); err != nil {
			return "", nil, err
		}
		sums = append(sums, hex.EncodeToString(h.Sum(nil)))
		fmt.Fprintf(all, "%q %q %t %s\n", f.Name, f.Link, f.Executable, sums[i])
	}
	return hex.EncodeToString(all.Sum(nil)), sums, nil
}

func writeZip(ctx context.Context, w io.Writer, files []File, sums []string) error {
	epoch := time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC) // the oldest time that an archive can hold
	archive := zip.NewWriter(w)
	for i, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: epoch}
		switch {
		case f.Link != "":
			header.SetMode(fs.ModeSymlink | 0o777)
		case f.Executable:
			header.SetMode(0o755)
		default:
			header.SetMode(0o644)
		}
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := f.copyTo(ctx, checked{entry, sha256.New(), sums[i], f}); err != nil {
			return err
		}
	}
	return archive.Close()
}

// checked is where a file goes that must be what it was a moment ago.
type checked struct {
	io.Writer
	sum  hash.Hash
	want string
	file File
}

func (c checked) Write(p []byte) (int, error) {
	c.sum.Write(p)
	return c.Writer.Write(p)
}

func (c checked) done() error {
	if hex.EncodeToString(c.sum.Sum(nil)) != c.want {
		return &PathError{cmp.Or(c.file.Path, c.file.Name), "changed while it was read"}
	}
	return nil
}

// copyTo writes the content of a file.
func (f File) copyTo(ctx context.Context, w io.Writer) error {
	var from io.Reader
	switch {
	case f.Link != "":
		from = strings.NewReader(f.Link)
	case f.Path == "":
		from = bytes.NewReader(f.Data)
	default:
		opened, err := localfile.Open(ctx, f.Path)
		if err != nil {
			return err
		}
		defer opened.Close()
		from = opened
	}
	if _, err := copyTo(ctx, w, from); err != nil {
		return err
	}
	if c, ok := w.(checked); ok {
		return c.done()
	}
	return nil
}

// copyTo copies until the context ends.
func copyTo(ctx context.Context, w io.Writer, r io.Reader) (n int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.CopyN(w, r, 1<<20)
		n += m
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// WriteNew writes a file aside and then gives it its name, so that nobody sees half of it. It makes the folder of the file where there
// is none.
func WriteNew(path string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
