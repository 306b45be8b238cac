package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

var headCases = map[string]func(*fixture){
	"records put back, dropped or mixed":   headMixed,
	"an older version wrote the state":     headOlder,
	"damage stops nobody":                  headDamaged,
	"every batch has the head of its rows": headFollows,
	"facts change without the serial":      headFacts,
	"a lost answer":                        headReplayed,
}

// ring is a stage's key.
func (f *fixture) ring() *seal.Key {
	f.Helper()
	dir := filepath.Join(f.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{seal.EnvKeyFile, seal.EnvPassphrase} {
		if os.Getenv(name) != "" {
			f.Fatalf("$%s is set", name)
		}
	}
	key, err := seal.LoadOrMake(dir, f.stage.Stack, f.stage.Name)
	if err != nil {
		f.Fatal(err)
	}
	return key
}

// whole opens the store as a new process does that has the key.
func (f *fixture) whole(key *seal.Key) *keeper.Whole { return keeper.NewWhole(f.store, f.stage, key) }

// proven fails the case unless a new process finds the state as it was written.
func (f *fixture) proven(key *seal.Key, what string) *statestore.Snapshot {
	f.Helper()
	snap, err := f.whole(key).Load(f.Context(), f.stage)
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	return snap
}

// sealedRow is a row whose body is sealed.
func sealedRow(key *seal.Key, address string, version uint64, body string, needs ...string) statestore.Row {
	r := row(address, version, needs...)
	r.Body = key.Seal([]byte(body), []byte(address))
	return r
}

// copied is a copy of records that may be changed.
func (r Records) copied() Records {
	all := make(Records, len(r))
	for table, records := range r {
		all[table] = maps.Clone(records)
	}
	return all
}

// back puts one record back to what it was; one that was not there is dropped.
func (r Records) back(before Records, table, key string) {
	if value, was := before[table][key]; was {
		r[table][key] = value
	} else {
		delete(r[table], key)
	}
}

// headMixed mixes what the store kept at two times in every way that needs no key.
func headMixed(f *fixture) {
	key := f.ring()
	w := f.begin(f.whole(key), "r1")
	w.commit(statestore.Batch{
		KeyID: key.ID(), Outputs: key.Seal([]byte("old"), nil), Meta: map[string][]byte{"dir": key.Seal([]byte("old"), nil)},
		Put: []statestore.Row{sealedRow(key, "a", 0, "old"), sealedRow(key, "b", 0, "old"), sealedRow(key, "dropped", 0, "old")},
	})
	before := f.subject.Records(f.T, f.stage)
	w.commit(statestore.Batch{
		Put:     []statestore.Row{sealedRow(key, "a", 1, "new"), sealedRow(key, "b", 1, "new"), sealedRow(key, "c", 0, "new"), gone("dropped", 1)},
		Outputs: key.Seal([]byte("new"), nil), Meta: map[string][]byte{"dir": key.Seal([]byte("new"), nil)},
	})
	w.finish()
	after := f.subject.Records(f.T, f.stage)
	f.proven(key, "untouched")
	facts := func(names ...string) func(Records) {
		return func(r Records) {
			for _, name := range names {
				r.back(before, "facts", name)
			}
		}
	}
	rows := func(names ...string) func(Records) {
		return func(r Records) {
			for _, name := range names {
				r.back(before, "rows", name)
			}
		}
	}
	const headRecord = "mathanor.head"
	attacks := map[string]func(Records){
		"one row put back":             rows("a"),
		"two rows put back":            rows("a", "b"),
		"a row dropped":                rows("c"),
		"a removed row added":          rows("dropped"),
		"all rows put back":            rows("a", "b", "c", "dropped"),
		"rows and their head put back": func(r Records) { rows("a", "b", "c", "dropped")(r); facts(headRecord)(r) },
		"outputs put back":             facts("o"),
		"a fact put back":              facts("mdir"),
		"a fact dropped":               func(r Records) { delete(r["facts"], "mdir") },
		"outputs dropped":              func(r Records) { delete(r["facts"], "o") },
		"the head put back":            facts(headRecord),
		"the serial put back":          func(r Records) { r.back(before, "head", "head") },
		"the head dropped":             func(r Records) { delete(r["facts"], headRecord) },
		"everything dropped":           func(r Records) { r["rows"], r["facts"] = nil, map[string][]byte{headRecord: r["facts"][headRecord]} },
		"one row in another's place": func(r Records) {
			r["rows"]["a"] = before["rows"]["b"] // its checksum says that it is damaged, and a row that is missing is noticed too
			delete(r["rows"], "c")
		},
	}
	for name, attack := range attacks {
		records := after.copied()
		attack(records)
		f.subject.SetRecords(f.T, f.stage, records)
		store, warned := f.whole(key), 0
		store.Unproven = func(*keeper.TamperedError) { warned++ }
		if _, err := store.Load(f.Context(), f.stage); !errors.Is(err, keeper.ErrTampered) && warned == 0 {
			f.Errorf("%s: %v", name, err)
		}
		other := f.whole(key)
		other.Accept = true
		if _, err := other.Load(f.Context(), f.stage); err != nil {
			f.Errorf("%s, accepted: %v", name, err)
		}
	}
	f.subject.SetRecords(f.T, f.stage, after)
	f.proven(key, "as it was")
	f.subject.SetRecords(f.T, f.stage, before)
	f.proven(key, "put back as a whole, which only a memory notices")

	// What was accepted is what counts once something was written.
	records := after.copied()
	records.back(before, "rows", "a")
	f.subject.SetRecords(f.T, f.stage, records)
	accepting := f.whole(key)
	accepting.Accept = true
	next := f.begin(accepting, "r2")
	next.commit(statestore.Batch{Put: []statestore.Row{sealedRow(key, "b", 2, "newest")}})
	next.finish()
	f.proven(key, "accepted and written")

	// A writer that knows better goes by what it knows: what somebody changed under it is noticed by the next.
	writer := f.begin(f.whole(key), "r3")
	writer.commit(statestore.Batch{Put: []statestore.Row{sealedRow(key, "b", 3, "once")}})
	midst := f.subject.Records(f.T, f.stage)
	midst.back(after, "rows", "c")
	delete(midst["rows"], "c")
	f.subject.SetRecords(f.T, f.stage, midst)
	writer.commit(statestore.Batch{Put: []statestore.Row{sealedRow(key, "b", 4, "twice")}})
	if _, err := f.whole(key).Load(f.Context(), f.stage); !errors.Is(err, keeper.ErrTampered) {
		f.Errorf("dropped in the middle of a run: %v", err)
	}
	f.subject.SetRecords(f.T, f.stage, after) // with valid indexes
}

// headOlder: what an older version wrote has no head and gets one; from then on it must have one.
func headOlder(f *fixture) {
	key := f.ring()
	old := f.begin(f.store, "r1")
	old.commit(statestore.Batch{KeyID: key.ID(), Put: []statestore.Row{row("a", 0), row("b", 0)}})
	old.finish()
	f.proven(key, "an old state")
	w := f.begin(f.whole(key), "r2")
	w.commit(statestore.Batch{Put: []statestore.Row{sealedRow(key, "c", 0, "new")}})
	w.finish()
	f.proven(key, "with its first head")
	before := f.subject.Records(f.T, f.stage)
	late := f.begin(f.store, "r3") // an older version again, or somebody without the key
	late.commit(statestore.Batch{Put: []statestore.Row{row("b", 1)}})
	late.finish()
	if _, err := f.whole(key).Load(f.Context(), f.stage); !errors.Is(err, keeper.ErrTampered) {
		f.Errorf("written without the key: %v", err)
	}
	delete(before["facts"], "mathanor.head")
	f.subject.SetRecords(f.T, f.stage, before)
	_, err := f.whole(key).Load(f.Context(), f.stage)
	if e, ok := errors.AsType[*keeper.TamperedError](err); !ok || !e.Headless {
		f.Errorf("without its head: %v", err)
	}
}

// headDamaged: a row that cannot be decoded stops none of the others, and is said to keep them from being proven.
func headDamaged(f *fixture) {
	key := f.ring()
	w := f.begin(f.whole(key), "r1")
	w.commit(statestore.Batch{KeyID: key.ID(), Put: []statestore.Row{row("bad", 0), row("good", 0)}})
	f.subject.Damage(f.T, f.stage, "bad")
	store, warned := f.whole(key), 0
	store.Unproven = func(e *keeper.TamperedError) {
		if warned++; !e.Damaged {
			f.Errorf("unproven: %v", e)
		}
	}
	if snap, err := store.Load(f.Context(), f.stage); err != nil || warned != 1 || len(snap.Rows) != 1 {
		f.Fatalf("%v, %d warnings", err, warned)
	}
	w.finish()
	next := f.begin(store, "r2")
	next.commit(statestore.Batch{Put: []statestore.Row{row("good", 1)}})
	next.commit(statestore.Batch{Put: []statestore.Row{row("bad", statestore.Repair)}})
	next.commit(statestore.Batch{Put: []statestore.Row{gone("bad", 1)}})
	next.finish()
	f.proven(key, "repaired")
}

// headFollows writes batches of all sorts, by one process after another; a new process proves the state after each.
func headFollows(f *fixture) {
	key, random := f.ring(), rand.New(rand.NewPCG(1, 2))
	versions := map[string]uint64{}
	address := func() string { return fmt.Sprintf("row-%d", random.IntN(12)) }
	for run := range 8 {
		w := f.begin(f.whole(key), fmt.Sprintf("r%d", run))
		for n := range 12 {
			batch, next := statestore.Batch{Renew: true, KeyID: key.ID()}, maps.Clone(versions)
			if from, to := address(), address(); random.IntN(3) == 0 && next[from] > 0 && next[to] == 0 {
				batch.Move = map[string]string{from: to}
				next[to] = next[from]
				delete(next, from)
			}
			put := map[string]bool{}
			for range random.IntN(4) {
				a := address()
				if put[a] {
					continue
				}
				put[a] = true
				r := sealedRow(key, a, next[a], "body")
				if need := address(); random.IntN(2) == 0 && need != a {
					r.Needs = []string{need}
				}
				next[a]++
				if random.IntN(4) == 0 {
					r = gone(a, next[a]-1)
					delete(next, a)
				}
				batch.Put = append(batch.Put, r)
			}
			switch random.IntN(4) {
			case 0:
				batch.Outputs = key.Seal([]byte(a(n)), nil)
			case 1:
				batch.Meta = map[string][]byte{a(n): []byte("x"), "empty": {}}
			case 2:
				batch.Meta = map[string][]byte{a(n): nil}
			}
			if err := w.try(batch); err == nil {
				versions = next
			} else if !errors.Is(err, statestore.ErrNeeded) && !errors.Is(err, statestore.ErrOwned) && !errors.Is(err, statestore.ErrInvalid) {
				f.Fatalf("run %d, batch %d: %v", run, n, err)
			}
			f.proven(key, fmt.Sprintf("run %d, batch %d: %+v", run, n, batch))
		}
		w.finish()
	}
	if len(versions) == 0 {
		f.Error("nothing was written")
	}
}

// a is one of three names.
func a(n int) string { return fmt.Sprintf("fact-%d", n%3) }

// headFacts: a run that changes nothing but facts does not raise the serial; who loaded before it notices nevertheless.
func headFacts(f *fixture) {
	key := f.ring()
	first := f.begin(f.whole(key), "r1")
	first.commit(statestore.Batch{KeyID: key.ID(), Put: []statestore.Row{sealedRow(key, "a", 0, "x")}, Outputs: []byte("one")})
	first.finish()
	early := f.whole(key)
	if _, err := early.Load(f.Context(), f.stage); err != nil {
		f.Fatal(err)
	}
	second := f.begin(f.whole(key), "r2")
	second.commit(statestore.Batch{Outputs: []byte("two"), Meta: map[string][]byte{"dir": []byte("d")}})
	second.finish()
	third := f.begin(early, "r3")
	third.commit(statestore.Batch{Put: []statestore.Row{sealedRow(key, "a", 1, "y")}})
	third.finish()
	f.proven(key, "after all three")
}

// headReplayed: a batch whose answer was lost is sent again, by the journal, and is the same one.
func headReplayed(f *fixture) {
	key := f.ring()
	whole := f.whole(key)
	w := f.begin(whole, "r1")
	batch := statestore.Batch{Seq: 1, KeyID: key.ID(), Put: []statestore.Row{sealedRow(key, "a", 0, "x")}}
	lease := w.lease
	if _, err := whole.Commit(f.Context(), lease, batch); err != nil {
		f.Fatal(err)
	}
	lost := keeper.NewWhole(&losing{Store: f.store}, f.stage, key)
	batch = statestore.Batch{Seq: 2, Put: []statestore.Row{sealedRow(key, "a", 1, "y")}}
	lease.Revision++
	lease.Serial++
	for n := range 2 {
		if next, err := lost.Commit(f.Context(), lease, batch); n == 0 && !errors.Is(err, errLost) || n == 1 && (err != nil || next.Serial != 2) {
			f.Fatalf("attempt %d: %v", n, err)
		}
	}
	f.proven(key, "sent again")
}

var errLost = errors.New("the answer was lost")

// losing is a store whose first answer to a commit is lost.
type losing struct {
	statestore.Store
	lost bool
}

func (s *losing) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	next, err := s.Store.Commit(ctx, lease, batch)
	if err == nil && !s.lost {
		s.lost = true
		return lease, errLost
	}
	return next, err
}
