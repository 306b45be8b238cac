// Package scratch makes folders and files that last as long as the process that has them, however that ends.
//
// A process that is killed removes nothing. The next process that makes a folder with the same prefix does: what has an owner is locked, and
// the kernel gives a lock back when its process ends.
package scratch

import (
	"os"
	"path/filepath"
	"time"
)

// stale is the age from which on something counts as left behind where locks cannot say it.
const stale = 24 * time.Hour

// Folder is a folder of this process.
type Folder struct {
	// Path is where it lies.
	Path string

	lock *os.File // nil where folders cannot be locked
}

// New makes a folder that no other user may enter, in a folder, "" for the one of temporary files. Its name begins with a prefix, by which it
// finds and removes those of processes that were killed.
func New(in, prefix string) (*Folder, error) {
	if in == "" {
		in = os.TempDir()
	}
	Sweep(in, prefix, "", stale)
	for {
		path, err := os.MkdirTemp(in, prefix)
		if err != nil {
			return nil, err
		}
		f := &Folder{Path: path}
		if !canLock {
			return f, nil
		}
		f.lock, err = open(path)
		if os.IsNotExist(err) {
			continue // another process took it for one that was left behind
		}
		if err != nil {
			return nil, err
		}
		if take(f.lock) && isAt(f.lock, path) {
			return f, nil
		}
		f.Remove()
	}
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() {
	_ = os.RemoveAll(f.Path) // what stays is removed by another process
	if f.lock != nil {
		_ = f.lock.Close() // it was only locked
	}
}

// isAt reports whether a path names an open file.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// Sweep removes what has no owner any more of the folders and files whose names begin with a prefix and end with a
// suffix. A folder that nobody has locked has none. A file is left for so long as age says, since it may have been made for a lock that is
// not taken yet; so is a folder where folders cannot be locked.
func Sweep(in, prefix, suffix string, age time.Duration) {
	paths, _ := filepath.Glob(filepath.Join(in, prefix+"*"+suffix)) // a folder that cannot be read has none
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		if (!info.IsDir() || !canLock) && time.Since(info.ModTime()) < age {
			continue
		}
		removeFree(path)
	}
}

// removeFree removes what nobody has locked.
func removeFree(path string) {
	if !canLock {
		_ = os.RemoveAll(path) // the next process tries again
		return
	}
	lock, err := open(path)
	if err != nil {
		return // it is somebody else's
	}
	if take(lock) && isAt(lock, path) {
		_ = os.RemoveAll(path) // as above
	}
	_ = lock.Close() // it was only locked
}
