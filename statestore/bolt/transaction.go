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
	err := s.write(ctx, apart, func(tx *bbolt.Tx) (bool, error) { return false, use(tx) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write runs a writing transaction, which is durable when use says so and it returns nil. When all went well, the file is
// kept amid a run, and compacted at its end.
func (s *Store) write(ctx context.Context, of part, use func(*bbolt.Tx) (durable bool, err error)) error {
	f, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	err = f.guard(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			f.db.AllocSize = growth(tx.Size())
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
	case of == amid && err == nil:
		return s.ended(nil, s.keep(f))
	case of == last && err == nil:
		return s.ended(nil, s.settle(f))
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

// part is which part of a run a transaction is.
type part int

const (
	apart part = iota // of none, or its beginning
	amid              // another one follows soon
	last              // the run is over
)

// backend runs the ledger's transactions on one stage.
type backend struct {
	store *Store
	of    part
}

// View implements the ledger's backend.
func (b backend) View(ctx context.Context, stage statestore.Stage, _ []ledger.Want, read func(ledger.Tx) error) error {
	return b.store.read(ctx, func(tx *bbolt.Tx) error {
		bucket := stageBucket(tx, stage)
		if bucket == nil {
			return nil
		}
		return read(b.tables(bucket))
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
		t := b.tables(bucket)
		durable, err := write(t)
		if err == nil && durable {
			err = t.flush(b.of)
		}
		return durable, err
	}
	err := b.store.write(ctx, b.of, use)
	if makeIt && errors.Is(err, fs.ErrNotExist) {
		if err := b.store.create(); err != nil {
			return &statestore.UnavailableError{Path: b.store.path, Err: err}
		}
		err = b.store.write(ctx, b.of, use)
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

// grows is the fill of pages in a table to whose end keys are added; elsewhere it is the database's half.
const grows = 0.95

// lastIn returns the last entry of a bucket, nil when there is none. [bbolt.Cursor.Last] alone never returns when the
// transaction has emptied all pages of a bucket that had several.
func lastIn(b *bbolt.Bucket) (key, value []byte) {
	cursor := b.Cursor()
	if first, _ := cursor.First(); first == nil {
		return nil, nil
	}
	return cursor.Last()
}

// behindAll reports whether a key comes behind all that were in a table before the transaction changed it.
func (t *tables) behindAll(name ledger.Table, b *bbolt.Bucket, key []byte) bool {
	end, known := t.ends[name]
	if !known {
		found, _ := lastIn(b)
		end = bytes.Clone(found)
		t.ends[name] = end
	}
	return bytes.Compare(key, end) > 0
}

// tables are the buckets of one stage in one transaction.
type tables struct {
	stage  *bbolt.Bucket
	open   map[ledger.Table]*bbolt.Bucket
	finds  map[ledger.Table]*bbolt.Cursor // each goes by the space of its last search
	ends   map[ledger.Table][]byte        // the last keys before the transaction
	events events
}

func (b backend) tables(stage *bbolt.Bucket) *tables {
	return &tables{stage: stage, open: make(map[ledger.Table]*bbolt.Bucket, 8), finds: map[ledger.Table]*bbolt.Cursor{}, ends: map[ledger.Table][]byte{}, events: events{packer: &b.store.packer}}
}

// history is the table of events.
func (t *tables) history() *events {
	t.events.bucket = t.table(ledger.Events)
	return &t.events
}

// flush writes what was held back. At the end of a run the oldest events go.
func (t *tables) flush(of part) error {
	err := t.history().flush()
	if err == nil && of == last {
		err = t.history().trim(keptEvents)
	}
	return err
}

// past opens the bucket of earlier versions, which a stage of an older program does not have: nil for none.
func (t *tables) past() *bbolt.Bucket {
	if t.open[ledger.Past] == nil {
		if b := t.stage.Bucket([]byte(ledger.Past)); b != nil {
			t.open[ledger.Past] = b
		}
	}
	return t.open[ledger.Past]
}

// table opens a bucket. One that a damaged file lost panics in use, which counts as damage.
func (t *tables) table(name ledger.Table) *bbolt.Bucket {
	b := t.open[name]
	if b == nil {
		if b = t.stage.Bucket([]byte(name)); b == nil {
			panic("the table of " + string(name) + " is missing")
		}
		t.open[name] = b
	}
	return b
}

func (t *tables) Get(name ledger.Table, key []byte) []byte {
	if name == ledger.Events {
		return t.history().get(key)
	}
	if name == ledger.Past && t.past() == nil {
		return nil
	}
	cursor := t.finds[name]
	if cursor == nil {
		cursor = t.table(name).Cursor()
		t.finds[name] = cursor
	}
	if found, value := cursor.Seek(key); bytes.Equal(found, key) {
		return value
	}
	return nil
}

func (t *tables) Put(name ledger.Table, key, value []byte) error {
	if name == ledger.Events {
		return t.history().put(key, value)
	}
	if name == ledger.Past && t.past() == nil {
		b, err := t.stage.CreateBucket([]byte(ledger.Past))
		if err != nil {
			return err
		}
		t.open[ledger.Past] = b
	}
	b := t.table(name)
	if b.FillPercent != grows && t.behindAll(name, b, key) {
		b.FillPercent = grows
	}
	return b.Put(key, value)
}

func (t *tables) Delete(name ledger.Table, key []byte) error { return t.table(name).Delete(key) }

func (t *tables) Clear(name ledger.Table, prefix []byte) error {
	if name == ledger.Past && t.past() == nil {
		return nil
	}
	if len(prefix) > 0 {
		return t.clearFrom(name, prefix)
	}
	delete(t.open, name)
	delete(t.finds, name)
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
	cursor := t.table(name).Cursor()
	for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix) && key != nil; key, _ = cursor.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		if err := t.table(name).Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) Ascend(name ledger.Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	if name == ledger.Events {
		return t.history().ascend(prefix, from)
	}
	if name == ledger.Past && t.past() == nil {
		return func(func(key, value []byte) bool) {}
	}
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
