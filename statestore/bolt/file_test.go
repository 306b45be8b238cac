package bolt

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
)

// written is a store file with some rows and a run that holds it.
func written(t *testing.T, options ...Option) (*Store, statestore.Lease) {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "project", ".athanor", "state.db"), options...)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var rows []statestore.Row
	for i := range 200 {
		rows = append(rows, plain(i, 0))
	}
	if lease, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: rows}); err != nil {
		t.Fatal(err)
	}
	return s, lease
}

func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, ".athanor", "state.db"), WithID(func() string { return "remembered" }))
	if err != nil {
		t.Fatal(err)
	}
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
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("reading made %v", entries)
	}
}

// TestIdentityBeforeTheFile: a store knows the identity that its file will have, so that what is planned before the first run has
// it, and is not planned again.
func TestIdentityBeforeTheFile(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.ID(t.Context())
	if err != nil || before == "" {
		t.Fatalf("identity %q, %v", before, err)
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, opened := range []*Store{s, again} {
		if id, err := opened.ID(t.Context()); id != before || err != nil {
			t.Errorf("identity %q, and %q before there was a file, %v", id, before, err)
		}
	}
}

func TestReadingChangesNothing(t *testing.T) {
	s, _ := written(t)
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Load(t.Context(), stage); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs(t.Context(), stage, 0); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := os.ReadFile(s.Path()); !bytes.Equal(before, after) {
		t.Error("reading changed the file")
	}
}

func TestTheFileIsPrivate(t *testing.T) {
	s, _ := written(t, WithID(func() string { return "remembered" }))
	for path, want := range map[string]fs.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): fs.ModeDir | 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	ignore, err := os.ReadFile(filepath.Join(filepath.Dir(s.Path()), ".gitignore"))
	if err != nil || string(ignore) != "*\n" {
		t.Errorf(".gitignore %q, %v", ignore, err)
	}
	if id, err := s.ID(t.Context()); id != "remembered" || err != nil {
		t.Errorf("identity %q, %v", id, err)
	}
}

func TestAVanishedFileIsNotMadeAnew(t *testing.T) {
	s, lease := written(t)
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true})
	if !errors.Is(err, statestore.ErrUnavailable) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("commit: %v", err)
	}
	if _, err := os.Stat(s.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is back")
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); !errors.Is(err, statestore.ErrFenced) {
		t.Errorf("the old run in the new file: %v", err)
	}
}

func TestWhatIsNoStore(t *testing.T) {
	other := func(t *testing.T, path string) {
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, write := range map[string]func(*testing.T, string){
		"empty":            func(_ *testing.T, path string) { os.WriteFile(path, nil, 0o600) },
		"text":             func(_ *testing.T, path string) { os.WriteFile(path, []byte("stack: shop\n"), 0o600) },
		"zeros":            func(_ *testing.T, path string) { os.WriteFile(path, make([]byte, 1<<16), 0o600) },
		"another database": other,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			write(t, path)
			refuses(t, path)
		})
	}
}

// refuses fails unless every use of the file ends with ErrDamaged and its path, and changes nothing.
func refuses(t *testing.T, path string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, load := s.Load(t.Context(), stage)
	_, acquire := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r9"})
	_, id := s.ID(t.Context())
	for name, err := range map[string]error{"load": load, "acquire": acquire, "id": id} {
		if damaged, ok := errors.AsType[*statestore.DamagedError](err); !ok || damaged.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestTruncated(t *testing.T) {
	s, _ := written(t)
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	var used int // the file is longer than what is in use
	if err := f.db.View(func(tx *bbolt.Tx) error { used = int(tx.Size()); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{1, 100, 4096, 8192, used / 3, used - 4096, used - 1} {
		path := filepath.Join(t.TempDir(), "state.db")
		if err := os.WriteFile(path, whole[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, path)
	}
}

// TestTorn overwrites each page in turn: never a crash of the process, never a silently smaller stage,
// and the answer is either the whole truth or an error that names the file or the row.
func TestTorn(t *testing.T) {
	s, _ := written(t)
	defer runtime.KeepAlive(s) // it holds the lease as long as it lives
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	torn, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	harmless := 0
	for page := 0; page < len(whole)/4096; page++ {
		for _, fill := range []byte{0, 0xff} {
			spoiled := bytes.Clone(whole)
			copy(spoiled[page*4096:(page+1)*4096], bytes.Repeat([]byte{fill}, 4096))
			if err := os.WriteFile(path, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			snap, err := torn.Load(t.Context(), stage)
			switch {
			case errors.Is(err, statestore.ErrDamaged):
			case err != nil:
				t.Errorf("page %d: %v", page, err)
			case len(snap.Rows)+len(snap.Damaged) == 200 || snap.Serial == 0: // an unused page, or the older of the two heads
				harmless++
			default:
				t.Errorf("page %d: %d rows of 200 and no word of it", page, len(snap.Rows)+len(snap.Damaged))
			}
			if _, err := torn.Acquire(t.Context(), stage, statestore.Claim{Run: "r9"}); err == nil {
				t.Errorf("page %d: a live lease was given away", page)
			}
		}
	}
	if harmless == len(whole)/4096*2 {
		t.Error("no page mattered")
	}
}

func TestSchema(t *testing.T) {
	s, lease := written(t)
	newer, err := Open(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	newer.migrations = []migration{
		func(tx *bbolt.Tx) error { steps++; return tx.Bucket(aboutBucket).Put([]byte("two"), []byte("2")) },
		func(tx *bbolt.Tx) error { steps++; return tx.Bucket(aboutBucket).Put([]byte("three"), []byte("3")) },
	}
	before, _ := os.ReadFile(s.Path())
	if snap, err := newer.Load(t.Context(), stage); err != nil || len(snap.Rows) != 200 || steps != 2 {
		t.Fatalf("reading an older file: %v, %d steps", err, steps)
	}
	if after, _ := os.ReadFile(s.Path()); !bytes.Equal(before, after) {
		t.Fatal("reading migrated the file")
	}
	failing, _ := Open(s.Path())
	failing.migrations = []migration{newer.migrations[0], func(*bbolt.Tx) error { return errors.New("no room") }}
	if _, err := failing.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); err == nil {
		t.Fatal("a failed migration was committed")
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 200 {
		t.Fatalf("after a failed migration the older program reads: %v", err)
	}
	if _, err := newer.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Renew: true}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), stage)
	if e, ok := errors.AsType[*statestore.NewerError](err); !ok || e.Have != 3 || e.Known != 1 || e.Path != s.Path() {
		t.Errorf("reading a newer file: %v", err)
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r9"}); !errors.Is(err, statestore.ErrNewer) {
		t.Errorf("writing a newer file: %v", err)
	}
}
