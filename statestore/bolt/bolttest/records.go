// Package bolttest lets tests read and damage the file of a store.
//
// It knows where the file of statestore/bolt keeps the tables of a stage. It does not know what they mean.
package bolttest

import (
	"bytes"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

func bucketOf(tx *bbolt.Tx, stage statestore.Stage) *bbolt.Bucket {
	return tx.Bucket([]byte("stages")).Bucket(ledger.StageKey(stage))
}

// Damage changes one bit in the middle of a row's record.
func Damage(t testing.TB, path string, stage statestore.Stage, address string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		rows := bucketOf(tx, stage).Bucket([]byte(ledger.Rows))
		value := append([]byte(nil), rows.Get([]byte(address))...)
		value[len(value)/2] ^= 1
		return rows.Put([]byte(address), value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Records reads what a file keeps of a stage, and replaces it by set unless that is nil.
func Records(t testing.TB, path string, stage statestore.Stage, set storetest.Records) storetest.Records {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := storetest.Records{}
	err = db.Update(func(tx *bbolt.Tx) error {
		return bucketOf(tx, stage).ForEachBucket(func(name []byte) error {
			table, b := map[string][]byte{}, bucketOf(tx, stage).Bucket(name)
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
