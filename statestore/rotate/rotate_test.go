package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/rotate"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// stores makes an empty store of each kind; the function that it returns opens it again as another process would.
func stores(t *testing.T) map[string]func(t *testing.T) func() statestore.Store {
	server, bucket := pgtest.Start(t), s3test.Start(t, s3test.Versitygw)
	return map[string]func(t *testing.T) func() statestore.Store{
		"mem": func(*testing.T) func() statestore.Store {
			s := mem.New()
			return func() statestore.Store { return s }
		},
		"bolt": func(t *testing.T) func() statestore.Store {
			return inFile(t, filepath.Join(t.TempDir(), "state.db"))
		},
		"postgres": func(t *testing.T) func() statestore.Store {
			return inDatabase(t, server.Schema(t))
		},
		"s3": func(t *testing.T) func() statestore.Store { return inBucket(t, bucket) },
	}
}

var errKilled = errors.New("killed")

// mortal is a store whose process is killed at one commit: before it or right after it nothing more gets through.
type mortal struct {
	statestore.Store
	at    int
	after bool
	count int
}

func (m *mortal) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	return count(m, func() (statestore.Lease, error) { return m.Store.Acquire(ctx, stage, claim) })
}

func (m *mortal) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	return count(m, func() (statestore.Lease, error) { return m.Store.Commit(ctx, lease, batch) })
}

// Compact is one more point at which the process may be killed.
func (m *mortal) Compact(ctx context.Context) error {
	_, err := count(m, func() (struct{}, error) {
		if store, ok := m.Store.(interface {
			Compact(ctx context.Context) error
		}); ok {
			return struct{}{}, store.Compact(ctx)
		}
		return struct{}{}, errors.ErrUnsupported
	})
	return err
}

func count[T any](m *mortal, do func() (T, error)) (result T, err error) {
	m.count++
	if m.at > 0 && (m.count > m.at || m.count == m.at && !m.after) {
		return result, errKilled
	}
	if result, err = do(); m.count == m.at {
		err = errKilled
	}
	return result, err
}

const rows = 230 // three commits of rows

// stack is a stage with rows, outputs, a fact and sealed secrets, as an engine leaves them.
type stack struct {
	t     *testing.T
	open  func() statestore.Store
	stage statestore.Stage
	place seal.Place
	born  *seal.Key
	// saved is a copy of the state, as a file beside it holds one.
	saved *statestore.Snapshot
}

func binding(what string) []byte { return []byte("shop/test " + what) }

// contents are bodies that are texts; those of derived rows name their key once they were rotated.
func contents() rotate.Contents {
	return rotate.Contents{
		Binding: binding,
		Rekey: func(row statestore.Row, plain []byte, _ *seal.Key) ([]byte, []string, error) {
			kind, from, named := strings.Cut(string(plain), " from ")
			if kind != "derived" {
				return plain, nil, nil
			}
			if !named {
				from = seal.SealedBy(row.Body)
			}
			return []byte("derived from " + from), []string{from}, nil
		},
		Secrets: func(_ statestore.Row, plain []byte) (map[string][]byte, error) {
			if strings.HasPrefix(string(plain), "password") {
				return map[string][]byte{"value": plain}, nil
			}
			return nil, nil
		},
	}
}

func row(address string, version uint64, body []byte) statestore.Row {
	return statestore.Row{Address: address, Version: version, Birth: "born " + address, Body: body, Generations: []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: "k", Identity: "id of " + address,
	}}}
}

// kept is all that the files of a store hold, replaced or not.
func kept(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// remnants begin what a rotation says of where the bytes may be that no client reaches.
var remnants = map[string]string{"bolt": "", "s3": "older versions", "postgres": "the database server's write-ahead log"}

// TestNothingOldIsKept: after a rotation no file of the store holds what the old key sealed, neither in parts of it that are
// empty nor as an older version.
func TestNothingOldIsKept(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (open func() statestore.Store, dir func() string){
		"bolt": func(t *testing.T) (func() statestore.Store, func() string) {
			dir := t.TempDir()
			return inFile(t, filepath.Join(dir, "state.db")), func() string { return dir }
		},
		"s3": func(t *testing.T) (func() statestore.Store, func() string) {
			bucket := s3test.Start(t, s3test.Versitygw)
			return inBucket(t, bucket), bucket.Dir
		},
		"postgres": func(t *testing.T) (func() statestore.Store, func() string) {
			server := pgtest.Launch(t, "autovacuum=off")
			return inDatabase(t, server.URL("postgres")), func() string { return server.Tables(t) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, dir := begin(t)
			s := newStack(t, open, true)
			before, held := s.sealed(), kept(t, dir())
			s.deploy(s.open(), s.born) // what it replaces is old already
			for what, sealed := range before {
				if head, _ := seal.Stamp(sealed); !strings.Contains(held, string(head)) {
					t.Fatalf("%q is not found before the rotation either", what)
				}
			}
			result, err := rotate.Run(t.Context(), s.rotation(s.open(), "rotate"))
			s.check(err)
			s.rotated(true)
			if have := strings.Join(result.Scraps, "\n"); !strings.HasPrefix(have, remnants[name]) || (have == "") != (remnants[name] == "") {
				t.Errorf("what the old key sealed is said to be in %q", have)
			}
			held = kept(t, dir())
			for what, sealed := range before {
				if head, _ := seal.Stamp(sealed); strings.Contains(held, string(head)) {
					t.Errorf("the store still holds %q, sealed with the old key", what)
				}
			}
			for what, sealed := range s.sealed() {
				if head, _ := seal.Stamp(sealed); !strings.Contains(held, string(head)) {
					t.Errorf("%q is not found", what)
				}
			}
		})
	}
}

// closing closes a store at the end of the test.
func closing(t *testing.T, s statestore.Store, err error) statestore.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// inFile opens a store in a file.
func inFile(t *testing.T, path string) func() statestore.Store {
	return func() statestore.Store {
		s, err := bolt.Open(path)
		return closing(t, s, err)
	}
}

// inDatabase opens a store in a database.
func inDatabase(t *testing.T, url string) func() statestore.Store {
	return func() statestore.Store {
		s, err := postgres.Open(url)
		return closing(t, s, err)
	}
}

// inBucket opens a store in a bucket of its own.
func inBucket(t *testing.T, bucket *s3test.Server) func() statestore.Store {
	url := bucket.URL(t, "infra")
	return func() statestore.Store {
		s, err := s3.Open(url, bucket.Config, s3.WithProbes(func(string) bool { return true }, func(string) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// newStack writes the stage as a deploy does that nobody wraps the ring for.
func newStack(t *testing.T, open func() statestore.Store, derived bool) *stack {
	t.Helper()
	dir := t.TempDir()
	s := &stack{t: t, open: open, stage: statestore.Stage{Stack: "shop", Name: "test"}}
	s.place = seal.Place{Config: filepath.Join(dir, "config"), Beside: []string{filepath.Join(dir, "program")}, Stack: "shop", Stage: "test"}
	s.check(os.MkdirAll(s.place.Beside[0], 0o700))
	var err error
	s.born, err = seal.Find(s.place, "")
	s.check(err)
	opened := open()
	store := keeper.NewWhole(opened, s.stage, s.born)
	j, err := statestore.Begin(t.Context(), store, s.stage, statestore.Claim{Run: "deploy", Command: "deploy", TTL: time.Minute})
	s.check(err)
	change := statestore.Change{
		KeyID: s.born.ID(), Outputs: s.born.Seal([]byte("outputs"), binding("\x00outputs")),
		Meta: map[string][]byte{"dir": s.born.Seal([]byte("the folder"), binding("\x00dir"))},
	}
	for i := range rows {
		address, body := fmt.Sprintf("row-%03d", i), fmt.Sprintf("body %d", i)
		switch {
		case derived && i%100 == 7:
			body = "derived"
		case i%100 == 8:
			body = "password " + address
		}
		change.Put = append(change.Put, row(address, 0, s.born.Seal([]byte(body), binding("born "+address))))
	}
	s.check(j.Commit(t.Context(), change))
	s.check(j.Finish(t.Context(), statestore.Succeeded, nil))
	s.check(j.Close())
	secrets, err := s.place.Secrets()
	s.check(err)
	s.check(secrets.Set(s.born, "api", "hunter2"))
	s.saved, err = opened.Load(t.Context(), s.stage)
	s.check(err)
	return s
}

func (s *stack) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) rotation(store statestore.Store, run string) rotate.Rotation {
	return rotate.Rotation{
		Store: store, Stage: s.stage, Place: s.place, Contents: contents(), Wrapping: seal.Place.Again,
		Claim:  statestore.Claim{Run: run, Command: "rotate", TTL: time.Minute},
		Copies: []rotate.Copy{{Name: "a saved copy", Snapshot: s.saved, Save: func(snap *statestore.Snapshot) error { s.saved = snap; return nil }}},
	}
}

func (s *stack) load() *statestore.Snapshot {
	s.t.Helper()
	snap, err := s.open().Load(s.t.Context(), s.stage)
	s.check(err)
	return snap
}

// ring finds the ring as the next command does.
func (s *stack) ring() *seal.Key {
	s.t.Helper()
	snap := s.load()
	p := s.place
	p.Stored = snap.Meta[keeper.RingFact]
	ring, err := seal.Load(p, snap.KeyID)
	s.check(err)
	return ring
}

// sealed are all sealed bytes of the stage, by what they are bound to.
func (s *stack) sealed() map[string][]byte { return sealedIn(s.load()) }

func sealedIn(snap *statestore.Snapshot) map[string][]byte {
	all := map[string][]byte{"\x00outputs": snap.Outputs}
	for name, bytes := range snap.Meta {
		if !keeper.Own(name) || name == keeper.Prefix+"exposed" {
			all["\x00"+name] = bytes
		}
	}
	for _, r := range snap.Rows {
		all[r.Birth] = r.Body
	}
	return all
}

// whole fails unless everything opens, under whichever key it was sealed.
func (s *stack) whole(ring *seal.Key) {
	s.t.Helper()
	snap := s.load()
	all := sealedIn(snap)
	if len(all) < rows+2 {
		s.t.Fatalf("%d of %d sealed texts are left", len(all), rows+2)
	}
	s.check(keeper.NewWhole(nil, s.stage, ring).Prove(snap))
	for what, bytes := range all {
		if _, err := ring.Open(bytes, binding(what)); err != nil {
			s.t.Fatalf("%q: %v", what, err)
		}
	}
	for what, bytes := range sealedIn(s.saved) {
		if _, err := ring.Open(bytes, binding(what)); err != nil {
			s.t.Fatalf("%q of the saved copy: %v", what, err)
		}
	}
	secrets, err := s.place.Secrets()
	s.check(err)
	if value, err := secrets.Get(ring, "api"); err != nil || value != "hunter2" {
		s.t.Fatalf("the sealed secret is %q, %v", value, err)
	}
}

// rotated fails unless everything opens with the newest key alone, nothing with the others, and no rotation is begun.
func (s *stack) rotated(derived bool) {
	s.t.Helper()
	ring := s.ring()
	s.whole(ring.Keeping(func(string) bool { return false }))
	for what, bytes := range s.sealed() {
		for _, old := range []*seal.Key{s.born} {
			if _, err := old.Open(bytes, binding(what)); !errors.Is(err, seal.ErrKey) {
				s.t.Fatalf("%q opens with the old key: %v", what, err)
			}
		}
	}
	for what, bytes := range sealedIn(s.saved) {
		if _, err := ring.Keeping(func(string) bool { return false }).Open(bytes, binding(what)); err != nil {
			s.t.Fatalf("%q of the saved copy: %v", what, err)
		}
	}
	snap := s.load()
	if snap.KeyID != ring.ID() || snap.Meta[keeper.Prefix+"rotating"] != nil {
		s.t.Fatalf("key %s of %s, rotating %q", snap.KeyID, ring.ID(), snap.Meta[keeper.Prefix+"rotating"])
	}
	if kept := ring.By(s.born.ID()) != nil; kept != derived {
		s.t.Fatalf("the old key stays: %v, and values derive from it: %v", kept, derived)
	}
	beside, err := s.place.Wrapped()
	s.check(err)
	if string(beside) != string(snap.Meta[keeper.RingFact]) {
		s.t.Fatal("the rings beside the program and in the store differ")
	}
	for address, r := range snap.Rows {
		plain, err := ring.Open(r.Body, binding(r.Birth))
		s.check(err)
		if strings.HasPrefix(string(plain), "derived") && string(plain) != "derived from "+s.born.ID() {
			s.t.Fatalf("%s: %s", address, plain)
		}
	}
}

// TestKilledAtEveryCommit rotates stages of every store, killed before and after each commit. In between, all readers open
// everything with what is durable, and a deploy may write; the next rotation ends what was begun. Every third kill is played, and each every
// night.
func TestKilledAtEveryCommit(t *testing.T) {
	for name, empty := range stores(t) {
		for _, derived := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/derived=%v", name, derived), func(t *testing.T) {
				t.Parallel()
				whole := newStack(t, empty(t), derived)
				counter := &mortal{Store: whole.open()}
				result, err := rotate.Run(t.Context(), whole.rotation(counter, "rotate"))
				whole.check(err)
				if result.Rows != rows || result.Secrets != 1 || result.Number != 2 || result.Resumed || len(result.Kept) == 1 != derived {
					t.Errorf("rotated %+v", result)
				}
				whole.rotated(derived)
				if counter.count < 6 {
					t.Fatalf("only %d commits", counter.count)
				}
				n := 0
				for at := 1; at <= counter.count; at++ {
					for _, after := range []bool{false, true} {
						if n++; !proctest.Played(n, 3) {
							continue
						}
						t.Run(fmt.Sprintf("commit %d, after=%v", at, after), func(t *testing.T) { // which closes its stores
							s := newStack(t, empty(t), derived)
							s.killed(at, after, at == counter.count && after)
							s.rotated(derived)
						})
					}
				}
			})
		}
	}
}

// killed rotates, is killed at a commit, and rotates again.
func (s *stack) killed(at int, after, done bool) {
	s.t.Helper()
	if _, err := rotate.Run(s.t.Context(), s.rotation(&mortal{Store: s.open(), at: at, after: after}, "rotate")); !errors.Is(err, errKilled) {
		s.t.Fatalf("killed at commit %d: %v", at, err)
	}
	store := s.open()
	ring := s.ring()
	s.whole(ring)
	_, err := store.Interrupt(s.t.Context(), s.stage, statestore.Order{Unlock: true, Who: "test", Why: "it was killed"})
	s.check(err)
	s.deploy(store, ring)
	if done {
		return
	}
	before := ring.Number()
	result, err := rotate.Run(s.t.Context(), s.rotation(store, "again"))
	if err != nil {
		s.t.Fatalf("after a kill at commit %d (after it: %v): %v", at, after, err)
	}
	if result.Number != 2 || result.Resumed != (before == 2) {
		s.t.Fatalf("after a kill at commit %d (after it: %v) of a ring with key %d: %+v", at, after, before, result)
	}
}

// deploy writes a row as the next deploy does, with the ring that it finds.
func (s *stack) deploy(store statestore.Store, ring *seal.Key) {
	s.t.Helper()
	wrapped, err := s.place.Wrapped()
	s.check(err)
	kept := keeper.New(store, s.stage, ring, wrapped)
	snap, err := kept.Load(s.t.Context(), s.stage)
	s.check(err)
	for name := range snap.Meta {
		if keeper.Own(name) {
			s.t.Errorf("the engine sees %s", name)
		}
	}
	j, err := statestore.Begin(s.t.Context(), kept, s.stage, statestore.Claim{Run: "between", Command: "deploy", TTL: time.Minute})
	s.check(err)
	body := ring.Seal([]byte("body between"), binding("born row-000"))
	s.check(j.Commit(s.t.Context(), statestore.Change{KeyID: ring.ID(), Put: []statestore.Row{row("row-000", snap.Rows["row-000"].Version, body)}}))
	s.check(j.Finish(s.t.Context(), statestore.Succeeded, nil))
	s.check(j.Close())
	if stored := s.load(); stored.KeyID != ring.ID() || string(stored.Meta[keeper.RingFact]) != string(wrapped) {
		s.t.Fatalf("key %s, and the ring of the store is %q", stored.KeyID, stored.Meta[keeper.RingFact])
	}
}

// TestRotateTwice changes the key of a stage that kept its first one: values go on deriving from that, and only the second
// leaves.
func TestRotateTwice(t *testing.T) {
	store := mem.New()
	s := newStack(t, func() statestore.Store { return store }, true)
	first, err := rotate.Run(t.Context(), s.rotation(store, "one"))
	s.check(err)
	second, err := rotate.Run(t.Context(), s.rotation(store, "two"))
	s.check(err)
	if second.Number != 3 || !slices.Equal(second.Left, []string{first.Key}) || !slices.Equal(second.Kept, []string{s.born.ID()}) {
		t.Errorf("rotated %+v after %+v", second, first)
	}
	s.rotated(true)
}

// TestExposed lists what the holder of the old key knows, until it is changed.
func TestExposed(t *testing.T) {
	store := mem.New()
	s := newStack(t, func() statestore.Store { return store }, false)
	exposed := func() []string {
		list, err := rotate.Exposed(t.Context(), s.rotation(store, ""))
		s.check(err)
		return list
	}
	if list := exposed(); len(list) != 0 {
		t.Errorf("before a rotation: %v", list)
	}
	_, err := rotate.Run(t.Context(), s.rotation(store, "one"))
	s.check(err)
	if list := exposed(); !slices.Equal(list, []string{"row-008 value", "row-108 value", "row-208 value", "secret api"}) {
		t.Errorf("exposed: %v", list)
	}
	ring, snap := s.ring(), s.load()
	secrets, err := s.place.Secrets()
	s.check(err)
	s.check(secrets.Set(ring, "api", "another"))
	j, err := statestore.Begin(t.Context(), keeper.NewWhole(store, s.stage, ring), s.stage, statestore.Claim{Run: "change", TTL: time.Minute})
	s.check(err)
	s.check(j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{
		row("row-108", snap.Rows["row-108"].Version, ring.Seal([]byte("password changed"), binding("born row-108"))),
	}}))
	s.check(j.Finish(t.Context(), statestore.Succeeded, nil))
	s.check(j.Close())
	if list := exposed(); !slices.Equal(list, []string{"row-008 value", "row-208 value"}) {
		t.Errorf("still exposed: %v", list)
	}
}

// TestUnreadable refuses to rotate what cannot be read, and changes nothing.
func TestUnreadable(t *testing.T) {
	store := mem.New()
	s := newStack(t, func() statestore.Store { return store }, false)
	stranger, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	s.check(err)
	j, err := statestore.Begin(t.Context(), keeper.NewWhole(store, s.stage, s.born), s.stage, statestore.Claim{Run: "stranger", TTL: time.Minute})
	s.check(err)
	s.check(j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{row("strange", 0, stranger.Seal([]byte("x"), binding("born strange")))}}))
	s.check(j.Finish(t.Context(), statestore.Succeeded, nil))
	s.check(j.Close())
	before := s.load()
	if _, err := rotate.Run(t.Context(), s.rotation(store, "one")); !errors.Is(err, rotate.ErrUnreadable) || !strings.Contains(err.Error(), "strange") {
		t.Fatalf("rotated what cannot be read: %v", err)
	}
	after := s.load()
	if wrapped, err := s.place.Wrapped(); wrapped != nil || err != nil || after.KeyID != before.KeyID || !maps.EqualFunc(before.Rows, after.Rows, func(a, b statestore.Row) bool { return a.Version == b.Version }) {
		t.Error("something was changed")
	}
	if runs, err := store.Runs(t.Context(), s.stage, 1); err != nil || runs[0].State != statestore.Failed {
		t.Errorf("the run ended as %+v, %v", runs, err)
	}
}

// TestRotatedMeanwhile refuses a run whose ring was rotated between its look at the store and its lease.
func TestRotatedMeanwhile(t *testing.T) {
	store := mem.New()
	s := newStack(t, func() statestore.Store { return store }, false)
	kept := keeper.New(store, s.stage, s.born, nil)
	_, err := kept.Load(t.Context(), s.stage)
	s.check(err)
	_, err = rotate.Run(t.Context(), s.rotation(store, "one"))
	s.check(err)
	j, err := statestore.Begin(t.Context(), kept, s.stage, statestore.Claim{Run: "late", TTL: time.Minute})
	s.check(err)
	defer j.Close()
	err = j.Commit(t.Context(), statestore.Change{KeyID: s.born.ID(), Put: []statestore.Row{row("late", 0, s.born.Seal([]byte("x"), binding("born late")))}})
	if !errors.Is(err, seal.ErrKey) {
		t.Errorf("sealed with a key that was rotated: %v", err)
	}
	s.rotated(false)
}

// TestStolenKeyFile rotates after the ring was wrapped for somebody else: who has the old key file reads nothing any more.
func TestStolenKeyFile(t *testing.T) {
	store := mem.New()
	s := newStack(t, func() statestore.Store { return store }, false)
	ada, err := age.GenerateX25519Identity()
	s.check(err)
	_, err = s.born.Wrap(s.place, seal.Wrapping{Recipients: []string{ada.Recipient().String()}})
	s.check(err)
	_, err = rotate.Run(t.Context(), s.rotation(store, "one"))
	s.check(err)
	snap := s.load()
	thief := s.place
	thief.Stored = snap.Meta[keeper.RingFact]
	if _, err := seal.Load(thief, snap.KeyID); !errors.Is(err, seal.ErrKey) {
		t.Errorf("the old key file opens the new ring: %v", err)
	}
	t.Setenv(seal.EnvAgeIdentity, ada.String())
	s.rotated(false)
}
