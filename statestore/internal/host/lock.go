package host

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// Lock is the lock of one file, which the kernel gives back when the process ends, however that comes. It names the
// file by its number besides its path, so that a copy or another folder of the same path is never taken for it.
type Lock struct {
	Path   string `json:"path"`
	Volume uint64 `json:"volume"`
	File   uint64 `json:"file"`
	// Mark is what the file says as long as this lock is held. A process that is killed leaves its file, and another one takes it
	// over: the file is locked again then, with another text. Empty for a lock of a version that took nothing over.
	Mark string `json:"mark,omitempty"`
}

// A lock's text has one length. It stands behind the byte that Windows locks, which nobody else can read there.
const (
	markAt   = 1
	markSize = 26
)

// markOf returns the text of a file; empty where it has none.
func markOf(f *os.File) string {
	var text [markSize + 1]byte
	if n, _ := f.ReadAt(text[:], markAt); n != markSize {
		return ""
	}
	return string(text[:markSize])
}

// open opens the very file that the lock is of; nil where that is missing, is another one or cannot be opened.
func (l *Lock) open() *os.File {
	if l == nil {
		return nil
	}
	f, err := durable.OpenFile(l.Path, os.O_RDONLY, 0) // a store says the path
	if err != nil {
		return nil
	}
	volume, number, err := identify(f)
	if err != nil || volume != l.Volume || number != l.File {
		_ = f.Close() // it was only asked for its numbers
		return nil
	}
	return f
}

// released reports that the very file is there, and that nobody has it locked or another process took it over. A file that is
// missing, is another one or cannot be opened proves nothing.
func (l *Lock) released() bool {
	f := l.open()
	if f == nil {
		return false
	}
	defer func() { _ = f.Close() }() // which gives back what the question took
	switch ask(f) {
	case free:
		return true
	case taken:
		mark := markOf(f)
		return l.Mark != "" && mark != "" && mark != l.Mark
	}
	return false
}

// Remove removes the file of a lock whose process has ended, unless another process took it over.
func (l *Lock) Remove() {
	f := l.open()
	if f == nil {
		return
	}
	if !take(f) || markOf(f) != l.Mark {
		_ = f.Close() // nothing was written
		return
	}
	discard(f)
}

// answer is what a file system says of a lock.
type answer int

const (
	unknown answer = iota
	free
	taken
)

// Locks holds the locks of this process, by what they are for.
type Locks struct {
	mu   sync.Mutex
	held map[string]*os.File
	of   map[string]*Lock
}

// Hold takes a lock for a purpose, or returns the one that is held for it. Fresh reports that it was not held before. The
// lock is nil where the file system carries none: in a temporary folder that cannot be written, or that ignores locks.
func (l *Locks) Hold(purpose string) (lock *Lock, fresh bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[purpose] != nil {
		return l.of[purpose], false
	}
	f := leftBehind()
	if f == nil {
		var err error
		if f, err = os.CreateTemp("", pattern); err != nil {
			return nil, false
		}
		if !take(f) {
			discard(f)
			return nil, false
		}
	}
	if lock = locked(f); lock == nil {
		discard(f)
		return nil, false
	}
	if l.held == nil {
		l.held, l.of = map[string]*os.File{}, map[string]*Lock{}
	}
	l.held[purpose], l.of[purpose] = f, lock
	return lock, true
}

// Release gives back the lock for a purpose, if it is held.
func (l *Locks) Release(purpose string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.held[purpose]; f != nil {
		discard(f)
		delete(l.held, purpose)
		delete(l.of, purpose)
	}
}

// pattern is that of the names of lock files.
const pattern = "athanor-*.lock"

// stale is the age from which on a file that nobody has locked is removed. A younger one may prove that a process has ended; one that is
// removed proves nothing, and the lease of that process is waited for.
const stale = 24 * time.Hour

// leftBehind takes over the lock file of a process that was killed, so that killed processes do not fill the temporary folder, and removes
// those that are stale. It returns nil where there is none. Taking one over hides no end of a process: see [Lock].
func leftBehind() (found *os.File) {
	folder, err := os.Open(os.TempDir())
	if err != nil {
		return nil
	}
	names, _ := folder.Readdirnames(-1) // what cannot be read is left for the next time
	_ = folder.Close()                  // it was only read
	for _, name := range names {
		if ok, _ := filepath.Match(pattern, name); !ok {
			continue
		}
		path := filepath.Join(os.TempDir(), name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != 0 && info.Size() != markAt+markSize {
			continue
		}
		old := time.Since(info.ModTime()) > stale
		if found != nil && !old {
			continue
		}
		f, err := durable.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		switch {
		case !sameFile(f, info) || !own(f) || !take(f):
			_ = f.Close() // nothing was written
		case found == nil && markOf(f) != "": // one without may be of a process that is about to take it
			found = f
		case old:
			discard(f)
		default:
			_ = f.Close() // nothing was written
		}
	}
	return found
}

// sameFile reports whether an open file is the one that was found: what its name leads to may be another one meanwhile.
func sameFile(f *os.File, found os.FileInfo) bool {
	info, err := f.Stat()
	return err == nil && os.SameFile(info, found)
}

// discard removes a file and closes it. In this order nobody takes over a lock that is removed; Windows removes no file that is open.
func discard(f *os.File) {
	err := os.Remove(f.Name())
	_ = f.Close() // what was written is of no use any more
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(f.Name()) // what stays holds nothing
	}
}

// locked writes its text into a file that this process has locked, and proves that another descriptor of it shows the
// lock: a file system that carries no locks grants every one of them.
func locked(f *os.File) *Lock {
	lock := &Lock{Path: f.Name(), Mark: rand.Text()}
	if _, err := f.WriteAt([]byte(lock.Mark), markAt); err != nil || len(lock.Mark) != markSize {
		return nil
	}
	mine, number, err := identify(f)
	if err != nil {
		return nil
	}
	lock.Volume, lock.File = mine, number
	other := lock.open()
	if other == nil {
		return nil
	}
	defer func() { _ = other.Close() }() // it was only asked
	if ask(other) != taken || markOf(other) != lock.Mark {
		return nil
	}
	return lock
}
