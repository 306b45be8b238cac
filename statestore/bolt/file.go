package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

var errLocked = errors.New("another process keeps the file locked")

// file is the store's file, open, and locked for one transaction.
type file struct {
	db    *bbolt.DB
	os    *os.File
	path  string
	wreck bool // the database panicked: its own locks cannot be trusted any more
	turn  turn // of a writer
	head  meta // when it was kept
}

// open waits for the lock of the file: shared for reading, exclusive for writing. A file that does not exist
// is fs.ErrNotExist.
func (s *Store) open(ctx context.Context, write bool) (*file, error) {
	deadline := time.Now().Add(s.patience)
	var mine turn
	defer func() { mine.release() }() // unless the file took it over
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := s.inTurn(write, &mine)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, &statestore.UnavailableError{Path: s.path, Err: err}
		}
		// Jitter keeps processes that wait for each other from waking up in step.
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// inTurn opens the file at once or says errLocked: a writer after it took the turn, a reader while nobody has it.
func (s *Store) inTurn(write bool, mine *turn) (*file, error) {
	switch {
	case !write && held(s.path):
		return nil, errLocked
	case write && *mine == turn{}:
		t, err := takeTurn(s.path)
		if err != nil {
			return nil, err
		}
		*mine = t
	}
	var f *file
	var err error
	if write {
		f, err = s.again()
	}
	if f == nil && err == nil {
		f, err = s.tryOpen(write)
	}
	if err == nil {
		f.turn, *mine = *mine, turn{}
	}
	return f, err
}

// tryOpen opens the file at once or says errLocked.
func (s *Store) tryOpen(write bool) (*file, error) {
	f := &file{path: s.path}
	options := &bbolt.Options{
		Timeout:         1, // one attempt: the database's own waiting polls too slowly
		ReadOnly:        !write,
		FreelistType:    s.freelist,
		NoStatistics:    true,
		PreLoadFreelist: write,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			// Without O_CREATE: a file that vanished must not come back empty.
			opened, err := durable.OpenFile(name, flag&^os.O_CREATE, mode)
			if err == nil {
				f.os = opened
				err = inspect(opened)
			}
			return opened, err
		},
	}
	err := f.guard(func() (err error) {
		f.db, err = bbolt.Open(s.path, 0o600, options)
		return err
	})
	if err == nil && write {
		err = f.current()
	}
	if err != nil {
		_ = f.close() // the database may have closed it already
		return nil, s.openError(err)
	}
	f.tidy()
	return f, nil
}

// tidy removes what a compaction has left that was killed. Nobody compacts the file while its lock is held here, and none is left where
// the path still names the file that was locked.
func (f *file) tidy() {
	if _, err := os.Lstat(aside(f.path)); err == nil && f.current() == nil {
		_ = os.Remove(aside(f.path))
	}
}

// openError gives an error of opening its meaning.
func (s *Store) openError(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout), errors.Is(err, errReplaced):
		return errLocked
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, statestore.ErrDamaged):
		return err
	case errors.Is(err, errNoDatabase), errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return &statestore.DamagedError{Path: s.path, Err: err}
	}
	return &statestore.UnavailableError{Path: s.path, Err: err}
}

var errReplaced = errors.New("the file was replaced while it was opened")

// current proves, under the lock, that the path still names the file that was locked: what is written
// into a file without a name is lost.
func (f *file) current() error {
	named, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	locked, err := f.os.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, locked) {
		return errReplaced
	}
	return nil
}

// close releases the file. After a panic inside the database only the lock and the descriptor are given back; the
// mapping stays until the process ends, since closing the database could wait forever.
func (f *file) close() error {
	defer f.turn.release()
	if f.db != nil && !f.wreck {
		return f.db.Close()
	}
	if f.os != nil {
		return errors.Join(unlock(f.os), f.os.Close())
	}
	return nil
}

// guard runs one use of the database. A page that makes no sense makes the database panic, and one that is not there
// is a memory fault; both mean that the file is damaged and neither may take the process down.
func (f *file) guard(use func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f.wreck = true
			err = &statestore.DamagedError{Path: f.path, Err: fmt.Errorf("%v", r)}
		}
	}()
	return use()
}
