package postgres

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

const (
	shortText = "what-was-replaced-1f6b"
	longText  = "what-was-replaced-and-long-5c02" // of a value that the server keeps in pieces
)

// replaced writes a short and a long row, and replaces them.
func replaced(t *testing.T, s *Store) {
	t.Helper()
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	short, long := plainRow(1, 0), plainRow(2, 0)
	short.Needs, long.Needs = nil, nil
	for version, texts := range [][2]string{{shortText, longText}, {"new", "new"}} {
		short.Version, long.Version = uint64(version), uint64(version)
		short.Body, long.Body = []byte(texts[0]), slices.Concat([]byte(texts[1]), noise(8<<10))
		if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{short, long}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Finish(t.Context(), statestore.Succeeded, nil), j.Close()); err != nil {
		t.Fatal(err)
	}
}

// noise is bytes that cannot be compressed.
func noise(n int) []byte {
	all, x := make([]byte, n), uint32(1)
	for i := range all {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		all[i] = byte(x)
	}
	return all
}

// holds reports whether a file of the server's tables has a text in it.
func holds(t *testing.T, server *pgtest.Server, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(server.Tables(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantRemnants fails unless both rows' old bytes are still in the tables, or neither's, and Compact says so.
func wantRemnants(t *testing.T, server *pgtest.Server, err error, obstacle string) {
	t.Helper()
	rest, ok := errors.AsType[*statestore.RemnantsError](err)
	if !ok || !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("it does not say what remains: %v", err)
	}
	text := strings.Join(rest.Where, "\n")
	for _, part := range []string{"write-ahead log", "archives", "replicas", "backups"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not name %q: %s", part, text)
		}
	}
	if strings.Contains(text, "the database's tables") != (obstacle != "") || !strings.Contains(text, obstacle) {
		t.Errorf("it names as obstacle %s, want %q", text, obstacle)
	}
	for _, old := range []string{shortText, longText} {
		if holds(t, server, old) != (obstacle != "") {
			t.Errorf("the tables hold %q: %t, but it says %s", old, obstacle == "", text)
		}
	}
}

func launched(t *testing.T) (server *pgtest.Server, url string) {
	t.Helper()
	server = pgtest.Launch(t, "autovacuum=off")
	return server, server.URL("postgres")
}

// TestCompact: what was replaced is in the files of the tables until Compact.
func TestCompact(t *testing.T) {
	t.Parallel()
	server, url := launched(t)
	s := opened(t, url)
	replaced(t, s)
	if !holds(t, server, shortText) || !holds(t, server, longText) {
		t.Fatal("the tables hold nothing old before either")
	}
	wantRemnants(t, server, s.Compact(t.Context()), "")
	snap, err := s.Load(t.Context(), stage)
	if err != nil || len(snap.Rows) != 2 || string(snap.Rows[plainRow(1, 0).Address].Body) != "new" {
		t.Errorf("afterwards there are %d rows, %v", len(snap.Rows), err)
	}
	sound(t, url)
}

// TestCompactByAnother: a role that does not own the tables is told what their owner must run, and that is true.
func TestCompactByAnother(t *testing.T) {
	t.Parallel()
	server, url := launched(t)
	replaced(t, opened(t, url))
	guest := server.Role(t, url, "password")
	role, _, _ := strings.Cut(strings.TrimPrefix(guest, "postgres://"), ":")
	pgtest.Exec(t, url, "grant usage on schema athanor to "+role, "grant select, insert, update, delete on all tables in schema athanor to "+role)
	err := opened(t, guest).Compact(t.Context())
	wantRemnants(t, server, err, "this role does not own them")
	const sql = `vacuum (full) "athanor".records, "athanor".stages`
	if !strings.Contains(err.Error(), sql) {
		t.Errorf("it does not say what to run: %v", err)
	}
	pgtest.Exec(t, url, sql)
	if holds(t, server, shortText) || holds(t, server, longText) {
		t.Error("what it says to run leaves the old bytes in the tables")
	}
}

// TestCompactAmongReaders: a transaction that began before can still read what was replaced; so the server keeps it.
func TestCompactAmongReaders(t *testing.T) {
	t.Parallel()
	server, url := launched(t)
	s := opened(t, url, WithPatience(time.Second))
	reader := pgtest.Connect(t, url)
	defer reader.Close(t.Context())
	tx, err := reader.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err == nil {
		err = tx.QueryRow(t.Context(), "select 1").Scan(new(int))
	}
	if err != nil {
		t.Fatal(err)
	}
	replaced(t, s)
	wantRemnants(t, server, s.Compact(t.Context()), "a transaction that began earlier")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRemnants(t, server, s.Compact(t.Context()), "")
}

// TestCompactInUse: tables that somebody else holds are waited for as long as the store's patience, and others use them
// afterwards.
func TestCompactInUse(t *testing.T) {
	t.Parallel()
	server, url := launched(t)
	s := opened(t, url, WithPatience(time.Second))
	replaced(t, s)
	holder := pgtest.Connect(t, url)
	defer holder.Close(t.Context())
	tx, err := holder.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "lock table athanor.records in access share mode")
	}
	if err != nil {
		t.Fatal(err)
	}
	wantRemnants(t, server, s.Compact(t.Context()), "the tables were in use")
	if _, err := opened(t, url).Load(t.Context(), stage); err != nil {
		t.Errorf("the tables stay locked: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRemnants(t, server, s.Compact(t.Context()), "")
}
