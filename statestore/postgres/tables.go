package postgres

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// unread is the number of a version before the first reading.
const unread = -1

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version is one state of a stage, as the database knows it.
type version struct {
	stage   int64 // 0: there is no such stage
	number  int64
	reading time.Time // by the server's clock
}

// tables are those of one stage in one transaction, as far as it read or wrote them. Reading is one statement for all that
// is wanted; writing is remembered until the end.
type tables struct {
	store *Store
	stage statestore.Stage
	from  querier
	ctx   context.Context //nolint:containedctx // of the transaction, which the ledger knows nothing of
	watch *watch

	at    version
	known map[ledger.Table]*table
	clear []cleared
	err   error // the first error: what was decided since is void
}

// table is what one transaction knows of a table.
type table struct {
	ledger.Memory
	known map[string]bool // keys that were read or written, there or not
	whole []string        // prefixes under which everything is known
	last  int             // so many from the end are known
	dirty map[string]bool // keys to be written or deleted at the end
}

func (t *table) knows(key string) bool { return t.known[key] || t.knowsAll(key) }

// knowsAll reports whether everything that begins with prefix is known.
func (t *table) knowsAll(prefix string) bool {
	return slices.ContainsFunc(t.whole, func(whole string) bool { return strings.HasPrefix(prefix, whole) })
}

// cleared is what is to be deleted by prefix.
type cleared struct {
	kind   ledger.Table
	prefix []byte
}

// errStale says that another writer came in between.
var errStale = errors.New("the stage was changed meanwhile")

// open reads the head of a stage and what is wanted with it.
func (s *Store) open(ctx context.Context, from querier, w *watch, stage statestore.Stage, wants []ledger.Want) (*tables, error) {
	t := &tables{store: s, stage: stage, from: from, ctx: ctx, watch: w, known: make(map[ledger.Table]*table, 8)}
	for _, name := range ledger.Tables() {
		t.known[name] = &table{known: make(map[string]bool), dirty: make(map[string]bool)}
	}
	t.known[ledger.Heads].whole = []string{""}
	t.at.number = unread
	t.fetch(wants)
	return t, t.err
}

// Now implements ledger.Remote: the time of the first reading by the server's clock.
func (t *tables) Now() time.Time { return t.store.now(t.at.reading) }

// Expect implements ledger.Remote.
func (t *tables) Expect(wants []ledger.Want) {
	missing := slices.DeleteFunc(slices.Clone(wants), func(w ledger.Want) bool {
		if w.All {
			return t.known[w.Table].knowsAll(string(w.Key)) || w.Last > 0 && w.Last <= t.known[w.Table].last
		}
		return t.known[w.Table].knows(string(w.Key))
	})
	if len(missing) > 0 {
		t.fetch(missing)
	}
}

// Last implements ledger.Remote.
func (t *tables) Last(name ledger.Table, n int) [][]byte {
	t.Expect([]ledger.Want{{Table: name, All: true, Last: n}})
	var keys [][]byte
	for key := range t.known[name].Ascend("", "") {
		keys = append(keys, []byte(key))
	}
	return keys[max(0, len(keys)-n):]
}

// Get implements ledger.Tx.
func (t *tables) Get(name ledger.Table, key []byte) []byte {
	if !t.known[name].knows(string(key)) {
		t.fetch([]ledger.Want{{Table: name, Key: key}})
	}
	return t.known[name].Get(string(key))
}

// Put implements ledger.Tx.
func (t *tables) Put(name ledger.Table, key, value []byte) error {
	t.known[name].set(string(key), append([]byte{}, value...))
	return t.err
}

// Delete implements ledger.Tx.
func (t *tables) Delete(name ledger.Table, key []byte) error {
	t.known[name].set(string(key), nil)
	return t.err
}

func (t *table) set(key string, value []byte) {
	t.known[key], t.dirty[key] = true, true
	t.Set(key, value)
}

// Ascend implements ledger.Tx.
func (t *tables) Ascend(name ledger.Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	t.Expect([]ledger.Want{{Table: name, Key: prefix, All: true}})
	return func(yield func(key, value []byte) bool) {
		for key, value := range t.known[name].Ascend(string(prefix), string(from)) {
			if !yield([]byte(key), value) {
				return
			}
		}
	}
}

// Clear implements ledger.Tx.
func (t *tables) Clear(name ledger.Table, prefix []byte) error {
	if len(prefix) > keptKey {
		return errors.New("a prefix of this length cannot be cleared")
	}
	known := t.known[name]
	var gone []string
	for key := range known.Ascend(string(prefix), "") {
		gone = append(gone, key)
	}
	for _, key := range slices.Backward(gone) {
		known.Set(key, nil)
		delete(known.dirty, key)
	}
	known.whole = append(known.whole, string(prefix))
	t.clear = append(t.clear, cleared{name, prefix})
	return t.err
}
