package bolt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

const (
	leastGrowth = 32 << 10 // bytes that a small file grows by
	compactFrom = 96 << 10 // bytes of the smallest file that is compacted at the end of a run
)

// growth returns by how many bytes a full file of the given size grows. The database by itself doubles the file.
func growth(size int64) int { return max(leastGrowth, int(size/16)) }

// aside names the file that a compaction writes. Only the process that has the lock of the store's file writes it.
func aside(path string) string { return path + ".compact" }

// Compact rewrites the file so that it holds the current state of each stage alone: no version before it is kept, and
// nothing that was replaced or deleted stays in free pages. It returns [errors.ErrUnsupported] where an open file cannot be replaced, or where a new
// file would not have the owner, mode and names of the old one.
func (s *Store) Compact(ctx context.Context) error {
	stages, err := s.Stages(ctx)
	if err != nil {
		return err
	}
	for _, stage := range stages {
		if err := s.ops.DropVersions(ctx, stage); err != nil {
			return err
		}
	}
	f, err := s.open(ctx, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.compact(f)
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, f.close())
	}
	return s.ended(err, f.close())
}

// settle compacts the file at the end of a run if a quarter of it is empty, and closes it. All that was committed is durable
// already, so a file that cannot be compacted stays as it is.
func (s *Store) settle(f *file) error {
	wasteful := false
	err := f.guard(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			wasteful = tx.Size() >= compactFrom && 3*tx.Size() >= 4*compactSize(tx)
			return nil
		})
	})
	if err == nil && wasteful {
		if replaced, err := s.compact(f); replaced {
			return errors.Join(err, f.close())
		}
	}
	return f.close()
}

// compactSize estimates the size that the file would have if it was compacted.
func compactSize(tx *bbolt.Tx) int64 {
	var sum bbolt.BucketStats
	_ = tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { // the function returns no error
		sum.Add(b.Stats())
		return nil
	})
	return int64(sum.LeafInuse+sum.BranchInuse)*17/16 + 8*int64(os.Getpagesize())
}

// compact copies the file and puts the copy in its place, under the lock. Processes that wait for the lock then find that
// the path names another file, and open that one. A reader that has opened the old file reads the same content from it.
// When replaced is true, the old file has no name any more, whatever the error is.
func (s *Store) compact(f *file) (replaced bool, err error) {
	into := aside(s.path)
	_ = os.Remove(into)
	defer func() {
		if !replaced {
			_ = os.Remove(into)
		}
	}()
	if err := f.guard(func() error { return f.copyTo(into, s.freelist) }); err != nil {
		return false, err
	}
	if err := os.Rename(into, s.path); err != nil {
		return false, err
	}
	return true, durable.SyncDir(filepath.Dir(s.path))
}

// copyTo writes what the file holds into a new one, durably, in small transactions so that it needs little memory.
func (f *file) copyTo(path string, freelist bbolt.FreelistType) (err error) {
	into, err := bbolt.Open(path, 0o600, &bbolt.Options{
		FreelistType: freelist, NoStatistics: true, NoSync: true, NoGrowSync: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			opened, err := os.OpenFile(name, flag|os.O_EXCL, mode) // never what somebody else put there
			if err != nil {
				return nil, err
			}
			if err := f.takesPlace(opened); err != nil {
				return nil, errors.Join(err, opened.Close())
			}
			return opened, nil
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	into.AllocSize = leastGrowth
	if err := bbolt.Compact(into, f.db, 1<<19); err != nil {
		return err
	}
	return into.Sync()
}

// takesPlace gives a new file the mode of the old one, and refuses it when it is not a full substitute: another
// user's file, one behind a symbolic link, or one of several names.
func (f *file) takesPlace(substitute *os.File) error {
	named, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if err := substitute.Chmod(named.Mode().Perm()); err != nil {
		return err
	}
	have, err := substitute.Stat()
	if err != nil {
		return err
	}
	if !named.Mode().IsRegular() || !substitutes(have, named) {
		return errors.ErrUnsupported
	}
	return nil
}
