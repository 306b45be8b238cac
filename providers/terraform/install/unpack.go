package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxPackage bounds a package as it is downloaded, and maxUnpacked what is in it, in bytes. The largest that is known has
	// 0.2 and 0.8 GB.
	maxPackage, maxUnpacked = 1 << 30, 4 << 30
	maxFiles                = 10_000
)

var errPackage = errors.New("the package is not what a provider's package is")

// unpack writes what is in a package into a new folder. Names that lead out of it, links and devices are refused.
func unpack(path, folder string) error {
	r, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errPackage, err)
	}
	defer func() { _ = r.Close() }()
	if len(r.File) > maxFiles {
		return fmt.Errorf("%w: it has %d files", errPackage, len(r.File))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxUnpacked)
	for _, f := range r.File {
		name := strings.TrimSuffix(f.Name, "/")
		switch {
		case !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(f.Name, `\`):
			return fmt.Errorf("%w: the name %q leads out of it", errPackage, f.Name)
		case f.Mode().IsDir():
			if err := root.MkdirAll(name, 0o700); err != nil {
				return err
			}
			continue
		case !f.Mode().IsRegular():
			return fmt.Errorf("%w: %q is no file (%v)", errPackage, f.Name, f.Mode())
		}
		n, err := unpackFile(root, name, f, left)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

func unpackFile(root *os.Root, name string, f *zip.File, left int64) (int64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errPackage, err)
	}
	defer in.Close()
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, left+1))
	if n > left {
		err = fmt.Errorf("%w: it unpacks to more than %d GiB", errPackage, int64(maxUnpacked)>>30)
	}
	return n, errors.Join(err, out.Sync(), out.Close())
}

// program is the path of the provider's program in a folder with its package.
func (s Source) program(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	prefix := "terraform-provider-" + s.Name
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		return ok && e.Type().IsRegular() && (rest == "" || rest[0] == '_' || rest[0] == '.')
	})
	if i < 0 {
		return "", fmt.Errorf("%w: no file of it begins with %s", errPackage, prefix)
	}
	return filepath.Join(folder, entries[i].Name()), nil
}
