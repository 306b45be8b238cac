package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// tablesIn counts what stands in the schema of a URL.
func tablesIn(t *testing.T, url string) (n int) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	defer conn.Close(t.Context())
	err := conn.QueryRow(t.Context(), "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_setting('search_path')").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s := opened(t, url, WithID(func() string { return "remembered" }))
	if snap, err := s.Load(t.Context(), stage); err != nil || snap.Serial != 0 || len(snap.Rows) != 0 {
		t.Errorf("%+v, %v", snap, err)
	}
	if id, err := s.ID(t.Context()); id != "remembered" || err != nil {
		t.Errorf("identity %q, %v", id, err)
	}
	if ok, err := s.Interrupt(t.Context(), stage, statestore.Order{Unlock: true}); ok || err != nil {
		t.Error(ok, err)
	}
	if broken, err := s.Check(t.Context()); len(broken) > 0 || err != nil {
		t.Error(broken, err)
	}
	if n := tablesIn(t, url); n != 0 {
		t.Errorf("reading made %d tables", n)
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	if id, err := opened(t, url).ID(t.Context()); id != "remembered" || err != nil {
		t.Errorf("identity %q, %v", id, err)
	}
}

// TestManyMakeOneSchema: clients that start at once make one store, each its own stage, none fails.
func TestManyMakeOneSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	const n = 20
	ids := make([]string, n)
	var group sync.WaitGroup
	for i := range n {
		s := opened(t, url)
		group.Go(func() {
			_, err := s.Acquire(t.Context(), statestore.Stage{Stack: "shop", Name: fmt.Sprint(i)}, statestore.Claim{Run: "r"})
			if err == nil {
				ids[i], err = s.ID(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("identities %q", ids)
		}
	}
	if stages, err := opened(t, url).Stages(t.Context()); err != nil || len(stages) != n {
		t.Errorf("stages %v, %v", stages, err)
	}
}

func TestSchemasAreStoresApart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	a, b := opened(t, server.Schema(t)), opened(t, server.Schema(t))
	for _, s := range []*Store{a, b} {
		if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	idA, errA := a.ID(t.Context())
	idB, errB := b.ID(t.Context())
	if idA == idB || errors.Join(errA, errB) != nil {
		t.Errorf("identities %q and %q, %v, %v", idA, idB, errA, errB)
	}
}

// step is a migration that adds a table.
func step(name string) migration {
	return func(ctx context.Context, tx pgx.Tx, sql *statements) error {
		_, err := tx.Exec(ctx, sql.in("create table $."+name+" ()"))
		return err
	}
}

// written is a store with some rows and a run that holds it.
func written(t *testing.T, url string) (*Store, statestore.Lease) {
	t.Helper()
	s := opened(t, url)
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var rows []statestore.Row
	for i := range 200 {
		rows = append(rows, plainRow(i, 0))
	}
	if lease, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: rows}); err != nil {
		t.Fatal(err)
	}
	return s, lease
}

func TestSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s, lease := written(t, url)
	tables := tablesIn(t, url)

	newer := opened(t, url)
	newer.migrations = append(migrations(), step("two"), step("three"))
	if snap, err := newer.Load(t.Context(), stage); err != nil || len(snap.Rows) != 200 {
		t.Fatalf("reading an older schema: %v", err)
	}
	if n := tablesIn(t, url); n != tables {
		t.Fatal("reading migrated the schema")
	}
	failing := opened(t, url)
	failing.migrations = append(migrations(), step("two"), func(context.Context, pgx.Tx, *statements) error { return errors.New("no room") })
	if _, err := failing.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); err == nil || tablesIn(t, url) != tables {
		t.Fatalf("a failed migration left something: %v", err)
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 200 {
		t.Fatalf("after a failed migration the older program reads: %v", err)
	}
	if _, err := newer.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); err != nil {
		t.Fatal(err)
	}
	if n := tablesIn(t, url); n <= tables {
		t.Error("writing did not migrate")
	}
	_, load := s.Load(t.Context(), stage)
	_, commit := s.Commit(t.Context(), lease, statestore.Batch{Seq: 3, Renew: true})
	_, acquire := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r9"})
	_, stages := s.Stages(t.Context())
	for name, err := range map[string]error{"load": load, "commit": commit, "acquire": acquire, "stages": stages} {
		if e, ok := errors.AsType[*statestore.NewerError](err); !ok || e.Have != 3 || e.Known != 1 || !strings.HasPrefix(e.Path, "postgres://") {
			t.Errorf("%s in a newer schema: %v", name, err)
		}
	}
}

// TestAMigrationFencesWhoDecidedBefore: a change that was decided under the older schema is not written under the newer.
func TestAMigrationFencesWhoDecidedBefore(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s, lease := written(t, url)
	s.now = func(server time.Time) time.Time {
		pgtest.Exec(t, url, "update about set schema = 2") // between reading and writing
		return server
	}
	_, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Put: []statestore.Row{plainRow(0, 1)}})
	if !errors.Is(err, statestore.ErrNewer) {
		t.Errorf("%v", err)
	}
	pgtest.Exec(t, url, "update about set schema = 1")
	s.now = func(server time.Time) time.Time { return server }
	if snap, err := s.Load(t.Context(), stage); err != nil || snap.Rows[plainRow(0, 0).Address].Version != 1 {
		t.Errorf("it was written: %v", err)
	}
}

// TestAReaderBetweenTwoReadings: what a reader gets belongs to one version, also when it had to ask twice.
func TestAReaderBetweenTwoReadings(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s, lease := written(t, url)
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"})
	if err != nil {
		t.Fatal(err)
	}
	reader := elsewhere(t, url, "other", 0)
	seq := uint64(0)
	reader.now = func(server time.Time) time.Time { // between reading the rows and reading the last run
		if seq++; seq > 2 {
			return server
		}
		batch := statestore.Batch{Seq: seq, Put: []statestore.Row{plainRow(0, seq)}}
		if seq == 2 {
			batch.Finish = statestore.Succeeded
		}
		if _, err := s.Commit(t.Context(), lease, batch); err != nil {
			t.Error(err)
		}
		return server
	}
	snap, err := reader.Load(t.Context(), stage)
	if err != nil || seq < 2 {
		t.Fatalf("%v after %d readings", err, seq)
	}
	version := snap.Rows[plainRow(0, 0).Address].Version
	if version != 2 || snap.Serial != 2 || snap.LastRun.ID != "r" {
		t.Errorf("version %d, serial %d, last run %s: want those of one moment, between the two changes", version, snap.Serial, snap.LastRun.ID)
	}
}

// TestOtherTablesOfANewerVersion: a program that does not know the tables never takes a store for an empty one.
func TestOtherTablesOfANewerVersion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{"table": "alter table records rename to other", "column": "alter table stages rename column head to other"} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Start(t).Schema(t)
			s, lease := written(t, url)
			pgtest.Exec(t, url, "update about set schema = 2", change)
			_, load := s.Load(t.Context(), stage)
			_, commit := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true})
			_, acquire := opened(t, url).Acquire(t.Context(), stage, statestore.Claim{Run: "r9"})
			for call, err := range map[string]error{"load": load, "commit": commit, "acquire": acquire} {
				if !errors.Is(err, statestore.ErrNewer) {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

func TestWhatIsNoStore(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"no version":        "delete from about",
		"version 0":         "update about set schema = 0",
		"another's table":   "alter table about rename column schema to something",
		"another's records": "alter table records rename column value to something",
		"no records":        "drop table records",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Start(t).Schema(t)
			s, lease := written(t, url)
			pgtest.Exec(t, url, spoil)
			_, load := s.Load(t.Context(), stage)
			_, commit := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true})
			_, acquire := opened(t, url).Acquire(t.Context(), stage, statestore.Claim{Run: "r9"})
			for call, err := range map[string]error{"load": load, "commit": commit, "acquire": acquire} {
				if damaged, ok := errors.AsType[*statestore.DamagedError](err); !ok || !strings.HasPrefix(damaged.Path, "postgres://") {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}
