package bolt

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// create makes the file aside and publishes it whole. Of several processes that do it at once one
// wins, and all use that one's file.
func (s *Store) create() error {
	dir := filepath.Dir(s.path)
	if err := durable.MakeDir(dir); err != nil {
		return err
	}
	if filepath.Base(dir) == ".athanor" {
		if err := ignore(filepath.Join(dir, ".gitignore")); err != nil {
			return err
		}
	}
	temporary, err := durable.Aside(s.path, nil)
	if err != nil {
		return err
	}
	if err := s.initialize(temporary); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := durable.Publish(temporary, s.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// initialize fills an empty file; the database syncs what it writes.
func (s *Store) initialize(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{FreelistType: s.freelist, NoStatistics: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		about, err := tx.CreateBucket(aboutBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(stagesBucket); err != nil {
			return err
		}
		id := s.id()
		if id == "" {
			id = rand.Text()
		}
		if err := about.Put(idKey, []byte(id)); err != nil {
			return err
		}
		return putSchema(tx, s.known())
	})
	return errors.Join(err, db.Close())
}

// ignore keeps the folder out of version control, before anything else is in it.
func ignore(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	temporary, err := durable.Aside(path, []byte("*\n"))
	if err != nil {
		return err
	}
	if err := durable.Publish(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
