// Package bolt is the store in one file on one machine, with nothing to install.
//
// It knows how the file is opened, locked, made and migrated, and that it is locked for each
// transaction only: exclusion between runs is the lease row, so that readers, cancel and unlock work while
// a deploy runs. What stands in the file is the ledger's.
package bolt

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// Store is a store in one file. Between calls it holds no lock; between the commits of a run it keeps the file open.
type Store struct {
	mu   sync.Mutex
	kept *file // of the last commit, nil when there is none

	packer packer // of events

	path       string
	id         func() string
	patience   time.Duration
	freelist   bbolt.FreelistType
	migrations []migration
	ops        ledger.Operations
}

var _ statestore.Folders = (*Store)(nil)

// Option sets how a store behaves.
type Option func(*Store)

// WithID says which identity the store gets when its file is made: a remembered one, so that a file
// that was lost does not become another store. When it gives an empty one a random identity is made, which nobody knows before the
// file. Without it a random identity is made as soon as the store is asked for it.
func WithID(id func() string) Option { return func(s *Store) { s.id = id } }

// WithPatience sets how long a transaction waits for the lock of the file while other processes read or
// write, before it ends with ErrUnavailable. The default is 10 s.
func WithPatience(d time.Duration) Option { return func(s *Store) { s.patience = d } }

// OnMachine sets the machine that the store asks for clocks and processes, for tests.
func OnMachine(machine host.World) Option { return func(s *Store) { s.ops.World = machine } }

// Open names a store file. It touches nothing: the file is made by the first Acquire, and until then
// every stage is empty.
func Open(path string, options ...Option) (*Store, error) {
	if path == "" {
		return nil, errors.New("the store has no path")
	}
	path, err := filepath.Abs(path) // the process may change its directory later
	if err != nil {
		return nil, err
	}
	s := &Store{
		path:     path,
		id:       sync.OnceValue(rand.Text),
		patience: 10 * time.Second,
		// The hash map and the array are equally fast at the sizes that a state file reaches (see the
		// benchmarks); the map stays fast when a long history leaves many free pages.
		freelist:   bbolt.FreelistMapType,
		migrations: migrations(),
	}
	s.ops = ledger.Operations{Backend: backend{store: s}, World: host.Real(), Near: true}
	for _, option := range options {
		option(s)
	}
	return s, nil
}

// Path is the file of the store.
func (s *Store) Path() string { return s.path }

// Load implements [statestore.Store].
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	return s.ops.Load(ctx, stage)
}

// Acquire implements [statestore.Store]. It makes the file when there is none.
func (s *Store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	return s.ops.Acquire(ctx, stage, claim)
}

// Commit implements [statestore.Store]. A file that vanished is an error, never made anew.
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	ops := s.ops
	ops.Backend = backend{store: s, of: amid}
	if batch.Finish != "" {
		ops.Backend = backend{store: s, of: last}
	}
	return ops.Commit(ctx, lease, batch)
}

// Versions implements [statestore.Versions].
func (s *Store) Versions(ctx context.Context, stage statestore.Stage) ([]statestore.Version, error) {
	return s.ops.Versions(ctx, stage)
}

// LoadVersion implements [statestore.Versions].
func (s *Store) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (*statestore.Snapshot, error) {
	return s.ops.LoadVersion(ctx, stage, serial)
}

// Interrupt implements [statestore.Store].
func (s *Store) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (bool, error) {
	done, err := s.ops.Interrupt(ctx, stage, order)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return done, err
}

// Runs implements [statestore.Store].
func (s *Store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	return s.ops.Runs(ctx, stage, limit)
}

// Events implements [statestore.Store].
func (s *Store) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	return s.ops.Events(ctx, stage, run, after, limit)
}

// Stages implements [statestore.Store]: sorted by the length and text of their names.
func (s *Store) Stages(ctx context.Context) ([]statestore.Stage, error) {
	var stages []statestore.Stage
	err := s.read(ctx, func(tx *bbolt.Tx) error {
		root := tx.Bucket(stagesBucket)
		if root == nil {
			return nil
		}
		return root.ForEachBucket(func(key []byte) error {
			if stage, ok := ledger.ParseStageKey(key); ok && !ledger.IsFolder(stage) {
				stages = append(stages, stage)
			}
			return nil
		})
	})
	return stages, err
}

// ReadFolder implements [statestore.Folders].
func (s *Store) ReadFolder(ctx context.Context, name string, read func(statestore.Folder) error, keys ...string) error {
	return s.ops.ReadFolder(ctx, name, read, keys...)
}

// ChangeFolder implements [statestore.Folders]. It makes the file when there is none.
func (s *Store) ChangeFolder(ctx context.Context, name string, change func(statestore.Folder) (bool, error), keys ...string) error {
	return s.ops.ChangeFolder(ctx, name, change, keys...)
}

// ID implements [statestore.Store]. Before the file is made it is the identity that the file is
// going to have, empty when that is not known yet.
func (s *Store) ID(ctx context.Context) (string, error) {
	id, found := "", false
	err := s.read(ctx, func(tx *bbolt.Tx) error {
		id, found = string(tx.Bucket(aboutBucket).Get(idKey)), true
		return nil
	})
	if err == nil && !found {
		id = s.id()
	}
	return id, err
}

// Close implements [statestore.Store]. A store can be used after it, as nothing but speed is lost.
func (s *Store) Close() error { return s.drop() }

// Check proves the file: the database's own check of its pages, then for each stage the structure of
// its rows and that the indexes agree with them. The second result says what kept it from looking.
func (s *Store) Check(ctx context.Context) (broken []error, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			broken = append(broken, &statestore.DamagedError{Path: s.path, Err: err})
		}
		return nil
	})
	if err != nil || len(broken) > 0 {
		return broken, err
	}
	stages, err := s.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, stage := range stages {
		snap, err := s.Load(ctx, stage)
		if err != nil {
			return broken, err
		}
		indexes, err := s.ops.Check(ctx, stage)
		if err != nil {
			return broken, err
		}
		broken = append(append(broken, snap.Check()...), indexes...)
	}
	return broken, nil
}
