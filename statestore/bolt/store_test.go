package bolt

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt/bolttest"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// openIn opens a store whose machine is the given one.
func openIn(t testing.TB, path string, world storetest.World) *Store {
	t.Helper()
	s, err := Open(path, OnMachine(world))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, subject) }

// TestServed: what a service needs of the store.
func TestServed(t *testing.T) { storetest.RunServed(t, subject) }

func subject(t *testing.T) storetest.Subject {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	t.Cleanup(func() { sound(t, path) })
	return storetest.Subject{
		Open: func(world storetest.World) statestore.Store { return openIn(t, path, world) },
		Damage: func(t *testing.T, stage statestore.Stage, address string) {
			t.Helper()
			bolttest.Damage(t, path, stage, address)
		},
		Records: func(t *testing.T, stage statestore.Stage) storetest.Records {
			t.Helper()
			return bolttest.Records(t, path, stage, nil)
		},
		SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
			t.Helper()
			bolttest.Records(t, path, stage, set)
		},
	}
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
