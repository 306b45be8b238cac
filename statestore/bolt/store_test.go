package bolt

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// openIn opens a store whose machine is the given one.
func openIn(t testing.TB, path string, world storetest.World) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.ops.World = world
	return s
}

// damage changes one bit in the middle of a row's record.
func damage(t *testing.T, path string, stage statestore.Stage, address string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		rows := stageBucket(tx, stage).Bucket([]byte(ledger.Rows))
		value := append([]byte(nil), rows.Get([]byte(address))...)
		value[len(value)/2] ^= 1
		return rows.Put([]byte(address), value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// records reads what a file keeps of a stage, or replaces it.
func records(t *testing.T, path string, stage statestore.Stage, set storetest.Records) storetest.Records {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := storetest.Records{}
	err = db.Update(func(tx *bbolt.Tx) error {
		return stageBucket(tx, stage).ForEachBucket(func(name []byte) error {
			table, b := map[string][]byte{}, stageBucket(tx, stage).Bucket(name)
			all[string(name)] = table
			cursor := b.Cursor()
			for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
				table[string(key)] = bytes.Clone(value)
			}
			if set == nil {
				return nil
			}
			for key := range table {
				if err := b.Delete([]byte(key)); err != nil {
					return err
				}
			}
			for key, value := range set[string(name)] {
				if err := b.Put([]byte(key), value); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		path := filepath.Join(t.TempDir(), "state.db")
		t.Cleanup(func() { sound(t, path) })
		return storetest.Subject{
			Open:    func(world storetest.World) statestore.Store { return openIn(t, path, world) },
			Damage:  func(t *testing.T, stage statestore.Stage, address string) { damage(t, path, stage, address) },
			Records: func(t *testing.T, stage statestore.Stage) storetest.Records { return records(t, path, stage, nil) },
			SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
				records(t, path, stage, set)
			},
		}
	})
}

// sound fails when the file does not pass the database's check, or an index does not agree with the
// rows. Rows that a case damaged on purpose do not count.
func sound(t *testing.T, path string) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := s.Check(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Error(err)
	}
	for _, err := range broken {
		if e, ok := err.(*statestore.DamagedError); !ok || e.Address == "" {
			t.Error(err)
		}
	}
}
