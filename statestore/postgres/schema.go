package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
)

// migration lifts a schema by one version within a transaction.
type migration func(ctx context.Context, tx pgx.Tx, sql *statements) error

// migrations lists them: the first one leads from an empty schema to version 1.
func migrations() []migration { return []migration{tablesOfVersion1} }

// tablesOfVersion1 makes the tables. Names of stages and keys are bytes, since text cannot hold every one of them, and
// the key of a stage is a digest, since names may be longer than an index takes; see shortened for the keys of records.
func tablesOfVersion1(ctx context.Context, tx pgx.Tx, sql *statements) error {
	for _, statement := range []string{
		`create table $.about (
			one boolean primary key default true check (one),
			schema bigint not null,
			id text not null)`,
		`create table $.stages (
			stage bigint generated always as identity primary key,
			digest bytea not null unique,
			stack bytea not null,
			name bytea not null,
			version bigint not null default 1,
			head bytea not null) with (fillfactor = 50)`,
		`create table $.records (
			stage bigint not null,
			kind text collate "C" not null,
			key bytea not null,
			long bytea,
			value bytea not null,
			primary key (stage, kind, key))`,
		`comment on table $.about is 'athanor: the version of this schema and the identity of the store'`,
		`comment on table $.stages is 'athanor: every write of a stage compares and raises its version'`,
		`comment on table $.records is 'athanor: rows, owners, needs, facts, runs, events and batches of all stages'`,
	} {
		if _, err := tx.Exec(ctx, sql.in(statement)); err != nil {
			return err
		}
	}
	return nil
}

// known is the newest schema version that this program knows.
func (s *Store) known() int64 { return int64(len(s.migrations)) }

var (
	errAbsent = errors.New("the database has no store")
	errOlder  = errors.New("the store has an older schema")
	// errSpoiled says that the tables are not those of the version.
	errSpoiled = errors.New("its tables were changed")
)

// checkSchema says what a version means to this program.
func (s *Store) checkSchema(version int64) error {
	switch {
	case version < 1:
		return &statestore.DamagedError{Path: s.place, Err: errors.New("its schema version is not a number from 1")}
	case version > s.known():
		return &statestore.NewerError{Path: s.place, Have: uint64(version), Known: uint64(s.known())}
	case version < s.known():
		return errOlder
	}
	return nil
}

// migrate makes the schema, or lifts it to the newest version, all the steps in one transaction. Of many clients that
// do so at once one works and the others wait for it.
func (s *Store) migrate(ctx context.Context) error {
	ctx, w := s.watch(ctx)
	defer w.stop()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.lift(ctx, tx) })
	return w.reason(err)
}

// migrationLock is what those who migrate this schema exclude each other by.
func (s *Store) migrationLock() int64 {
	sum := sha256.Sum256([]byte("athanor migrates " + s.sql.schema))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// lift runs the missing migrations in a transaction.
func (s *Store) lift(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", s.migrationLock()); err != nil {
		return err
	}
	version, room, err := s.look(ctx, tx)
	switch {
	case err != nil:
		return err
	case version != nothing:
		if err := s.checkSchema(version); !errors.Is(err, errOlder) {
			return err
		}
	case !room:
		if _, err := tx.Exec(ctx, "create schema "+pgx.Identifier{s.sql.schema}.Sanitize()); err != nil {
			return err
		}
	}
	for _, step := range s.migrations[max(version, 0):] {
		if err := step(ctx, tx, &s.sql); err != nil {
			return err
		}
	}
	if version != nothing {
		_, err = tx.Exec(ctx, s.sql.setVersion, s.known())
		return err
	}
	id := s.id()
	if id == "" {
		id = strings.ToLower(rand.Text()[:16])
	}
	_, err = tx.Exec(ctx, s.sql.setAbout, s.known(), id)
	return err
}

// nothing is the version where there is no store.
const nothing = -1

// look says which version the schema has, and whether there is room for it: a schema, maybe without tables, made by
// somebody who may for somebody who may not. The table about is the same in every version.
func (s *Store) look(ctx context.Context, from querier) (version int64, room bool, err error) {
	about := false
	err = from.QueryRow(ctx, `select exists (select from pg_namespace where nspname = $1),
		exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'about')`,
		s.sql.schema).Scan(&room, &about)
	if err != nil || !about {
		return nothing, room, err
	}
	err = from.QueryRow(ctx, s.sql.about).Scan(&version, new(string))
	return version, room, err
}

// explained runs a call and explains why its statements do not fit the tables, if they do not. What looks spoiled is
// tried once more: the tables may have been made between the statement and the explanation.
func (s *Store) explained(ctx context.Context, call func() error) error {
	err := s.explain(ctx, call())
	if errors.Is(err, errSpoiled) {
		err = s.explain(ctx, call())
	}
	return err
}

// explain finds out why a statement does not fit the tables: there are none, a newer program made others, or somebody
// spoiled them.
func (s *Store) explain(ctx context.Context, err error) error {
	code := codeOf(err)
	if code != undefinedTable && code != undefinedSchema && code != undefinedColumn {
		return err
	}
	version := int64(nothing)
	looking := s.begin(ctx, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx, _ *watch) (err error) {
		// A migration that runs now is waited for: tables are seen by their rows in the catalogue a moment before every
		// connection knows of them, and both are sure once the lock is given back.
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", s.migrationLock()); err != nil {
			return err
		}
		version, _, err = s.look(ctx, tx)
		return err
	})
	if looking == nil && version == nothing {
		return errAbsent
	}
	if looking == nil {
		looking = s.checkSchema(version)
	}
	if looking != nil && !errors.Is(looking, errOlder) && codeOf(looking) != undefinedColumn {
		return looking
	}
	return &statestore.DamagedError{Path: s.place, Err: fmt.Errorf("%w: %w", errSpoiled, plain(err))}
}
