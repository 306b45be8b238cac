package host

import (
	"os"
	"sync"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// Lock is the lock of one file, which the kernel gives back when the process ends, however that comes. It names the
// file by its number besides its path, so that a copy or another folder of the same path is never taken for it.
type Lock struct {
	Path   string `json:"path"`
	Volume uint64 `json:"volume"`
	File   uint64 `json:"file"`
}

// released reports that the very file is there and that nobody has it locked. A file that is missing, is another one or
// cannot be opened proves nothing.
func (l *Lock) released() bool {
	if l == nil {
		return false
	}
	f, err := durable.OpenFile(l.Path, os.O_RDONLY, 0) // a store says the path
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // which gives back what the question took
	volume, number, err := identify(f)
	return err == nil && volume == l.Volume && number == l.File && ask(f) == free
}

// Remove removes the file of a lock whose process has ended.
func (l *Lock) Remove() {
	if l.released() {
		_ = os.Remove(l.Path) // what stays holds nothing
	}
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
	f, err := os.CreateTemp("", "athanor-*.lock")
	if err != nil {
		return nil, false
	}
	if lock = locked(f, take); lock == nil {
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

// discard closes a file and removes it.
func discard(f *os.File) {
	_ = f.Close() // it was never written to
	_ = os.Remove(f.Name())
}

// locked locks a new file, and proves that another descriptor of it shows the lock: a file system that carries no locks
// grants every one of them.
func locked(f *os.File, take func(*os.File) bool) *Lock {
	if !take(f) {
		return nil
	}
	other, err := os.Open(f.Name())
	if err != nil {
		return nil
	}
	defer func() { _ = other.Close() }()
	volume, number, err := identify(other)
	if err != nil || ask(other) != taken {
		return nil
	}
	return &Lock{Path: f.Name(), Volume: volume, File: number}
}
