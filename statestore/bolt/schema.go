package bolt

import (
	"encoding/binary"
	"errors"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
)

// The buckets of the file. Each stage is a bucket of its own in stages, with one bucket per table.
var (
	aboutBucket  = []byte("about")
	stagesBucket = []byte("stages")
	schemaKey    = []byte("schema")
	idKey        = []byte("id")
)

// migration lifts a file by one schema version within a transaction.
type migration func(*bbolt.Tx) error

// migrations lists them: the first one leads from version 1 to 2. There is only one version so far.
func migrations() []migration { return nil }

// known is the newest schema version that this program knows.
func (s *Store) known() uint64 { return uint64(len(s.migrations)) + 1 }

func putSchema(tx *bbolt.Tx, version uint64) error {
	return tx.Bucket(aboutBucket).Put(schemaKey, binary.BigEndian.AppendUint64(nil, version))
}

// schema reads the version and refuses what is not ours or not known yet.
func (s *Store) schema(tx *bbolt.Tx) (uint64, error) {
	about := tx.Bucket(aboutBucket)
	if about == nil {
		return 0, &statestore.DamagedError{Path: s.path, Err: errors.New("it is a database of another program")}
	}
	value := about.Get(schemaKey)
	if len(value) != 8 {
		return 0, &statestore.DamagedError{Path: s.path, Err: errors.New("its schema version cannot be read")}
	}
	version := binary.BigEndian.Uint64(value)
	switch {
	case version > s.known():
		return 0, &statestore.NewerError{Path: s.path, Have: version, Known: s.known()}
	case version == 0:
		return 0, &statestore.DamagedError{Path: s.path, Err: errors.New("its schema version is 0")}
	}
	return version, nil
}

// migrate lifts the file to the newest version, all the steps in the transaction that is given.
func (s *Store) migrate(tx *bbolt.Tx) error {
	version, err := s.schema(tx)
	if err != nil || version == s.known() {
		return err
	}
	for _, step := range s.migrations[version-1:] {
		if err := step(tx); err != nil {
			return err
		}
	}
	return putSchema(tx, s.known())
}
