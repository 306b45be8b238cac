package bolt

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

var (
	errOlder = errors.New("the file has an older schema")
	errUndo  = errors.New("nothing to make durable")
)

// read runs a reading transaction. Without a file there is nothing to read, and use is not called.
func (s *Store) read(ctx context.Context, use func(*bbolt.Tx) error) error {
	f, err := s.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.guard(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			version, err := s.schema(tx)
			if err == nil && version < s.known() {
				err = errOlder
			}
			if err != nil {
				return err
			}
			return use(tx)
		})
	})
	err = s.ended(err, f.close())
	if errors.Is(err, errOlder) {
		return s.readOlder(ctx, use)
	}
	return err
}

// readOlder reads a file of an older schema as if it had been migrated: in a writing transaction that
// is never committed. Reading changes nothing, not even the schema.
func (s *Store) readOlder(ctx context.Context, use func(*bbolt.Tx) error) error {
	err := s.write(ctx, false, func(tx *bbolt.Tx) (bool, error) { return false, use(tx) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write runs a writing transaction, which is durable when use says so and it returns nil. The file is kept for the next
// one when that is asked for and all went well.
func (s *Store) write(ctx context.Context, keep bool, use func(*bbolt.Tx) (durable bool, err error)) error {
	f, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	err = f.guard(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			if err := s.migrate(tx); err != nil {
				return err
			}
			durable, err := use(tx)
			if err == nil && !durable {
				err = errUndo
			}
			return err
		})
	})
	switch {
	case keep && err == nil:
		return s.ended(nil, s.keep(f))
	case errors.Is(err, errUndo):
		err = nil
	}
	return s.ended(err, f.close())
}

// ended gives the errors of a transaction their meaning: what is none of ours comes from the disk.
func (s *Store) ended(err, closing error) error {
	if err == nil {
		err = closing
	}
	if err == nil || errors.Is(err, errOlder) || statestore.Refused(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &statestore.UnavailableError{Path: s.path, Err: err}
}

// backend runs the ledger's transactions on one stage.
type backend struct {
	store *Store
	keep  bool // the file for the next transaction
}

// View implements the ledger's backend.
func (b backend) View(ctx context.Context, stage statestore.Stage, _ []ledger.Want, read func(ledger.Tx) error) error {
	return b.store.read(ctx, func(tx *bbolt.Tx) error {
		bucket := stageBucket(tx, stage)
		if bucket == nil {
			return nil
		}
		return read(newTables(bucket))
	})
}

// Update implements the ledger's backend. Only who makes a stage makes the file.
func (b backend) Update(ctx context.Context, stage statestore.Stage, makeIt bool, _ []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	use := func(tx *bbolt.Tx) (bool, error) {
		bucket := stageBucket(tx, stage)
		if bucket == nil {
			if !makeIt {
				return false, nil
			}
			var err error
			if bucket, err = makeStage(tx, stage); err != nil {
				return false, err
			}
		}
		return write(newTables(bucket))
	}
	err := b.store.write(ctx, b.keep, use)
	if makeIt && errors.Is(err, fs.ErrNotExist) {
		if err := b.store.create(); err != nil {
			return &statestore.UnavailableError{Path: b.store.path, Err: err}
		}
		err = b.store.write(ctx, b.keep, use)
	}
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, statestore.ErrUnavailable) {
		return &statestore.UnavailableError{Path: b.store.path, Err: err}
	}
	return err
}

func stageBucket(tx *bbolt.Tx, stage statestore.Stage) *bbolt.Bucket {
	if root := tx.Bucket(stagesBucket); root != nil {
		return root.Bucket(ledger.StageKey(stage))
	}
	return nil
}

func makeStage(tx *bbolt.Tx, stage statestore.Stage) (*bbolt.Bucket, error) {
	root, err := tx.CreateBucketIfNotExists(stagesBucket)
	if err != nil {
		return nil, err
	}
	bucket, err := root.CreateBucket(ledger.StageKey(stage))
	if err != nil {
		return nil, err
	}
	for _, name := range ledger.Tables() {
		if _, err := bucket.CreateBucket([]byte(name)); err != nil {
			return nil, err
		}
	}
	return bucket, nil
}

// tables are the buckets of one stage in one transaction.
type tables struct {
	stage *bbolt.Bucket
	open  map[ledger.Table]*bbolt.Bucket
}

func newTables(stage *bbolt.Bucket) *tables {
	return &tables{stage: stage, open: make(map[ledger.Table]*bbolt.Bucket, 8)}
}

// table opens a bucket. One that a damaged file lost panics in use, which counts as damage.
func (t *tables) table(name ledger.Table) *bbolt.Bucket {
	b := t.open[name]
	if b == nil {
		if b = t.stage.Bucket([]byte(name)); b == nil {
			panic("the table of " + string(name) + " is gone")
		}
		if name == ledger.Events || name == ledger.Batches || name == ledger.Runs {
			b.FillPercent = 0.9 // these only grow at the end
		}
		t.open[name] = b
	}
	return b
}

func (t *tables) Get(name ledger.Table, key []byte) []byte { return t.table(name).Get(key) }

func (t *tables) Put(name ledger.Table, key, value []byte) error {
	return t.table(name).Put(key, value)
}

func (t *tables) Delete(name ledger.Table, key []byte) error { return t.table(name).Delete(key) }

func (t *tables) Clear(name ledger.Table, prefix []byte) error {
	if len(prefix) > 0 {
		return t.clearFrom(name, prefix)
	}
	delete(t.open, name)
	if err := t.stage.DeleteBucket([]byte(name)); err != nil {
		return err
	}
	b, err := t.stage.CreateBucket([]byte(name))
	t.open[name] = b
	return err
}

// clearFrom collects the keys first: a cursor loses its place when what is under it is deleted.
func (t *tables) clearFrom(name ledger.Table, prefix []byte) error {
	var keys [][]byte
	for key := range t.Ascend(name, prefix, nil) {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		if err := t.Delete(name, key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) Ascend(name ledger.Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if bytes.Compare(from, prefix) < 0 {
			from = prefix
		}
		cursor := t.table(name).Cursor()
		for key, value := cursor.Seek(from); key != nil && bytes.HasPrefix(key, prefix); key, value = cursor.Next() {
			if !yield(key, value) {
				return
			}
		}
	}
}
