package objects

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// tx is one transaction on a stage: a changed copy of the head, and changes of the tables that can be undone.
type tx struct {
	store *Store
	cache *cache
	ctx   context.Context //nolint:containedctx // of the transaction, which the ledger knows nothing of
	now   time.Time
	doc   *document
	was   rules.Head // before the transaction

	entries []entry
	undos   []func()
	events  []entry
	batch   *batchRef // that is committed
	err     error     // the first error: what was decided since is void
}

var _ ledger.Remote = (*tx)(nil)

// begin starts a transaction on what the cache knows.
func (s *Store) begin(ctx context.Context, c *cache) (*tx, error) {
	t := &tx{store: s, cache: c, ctx: ctx, now: s.now(), doc: &document{Stage: c.stage}}
	t.doc.Format = headFormat
	if c.doc == nil {
		return t, nil
	}
	t.doc = c.doc.clone()
	t.doc.Format = headFormat
	var err error
	if t.was, err = t.doc.tenure(); err != nil {
		return nil, err
	}
	// On another machine than the holder's, the server's clock alone says how old the lease is.
	if p := t.was.Tenure.Process; t.was.Tenure.Held() && !s.here(p.Boot, p.Space) && !c.modified.IsZero() {
		t.was.Tenure.Renewed = c.modified.UTC()
		t.doc.Lease, err = json.Marshal(&t.was)
	}
	return t, err
}

// here reports whether a process counts the time since boot like this one.
func (s *Store) here(boot, space string) bool {
	return s.world.Self.Boot != "" && s.world.Self.Boot == boot && s.world.Self.Space == space
}

// undo takes back what the transaction changed in the tables.
func (t *tx) undo() {
	for _, undo := range slices.Backward(t.undos) {
		undo()
	}
	t.undos = nil
}

// table returns a table of the segments, which are loaded for it.
func (t *tx) table(name ledger.Table) *ledger.Memory {
	if t.err == nil && t.cache.doc != nil {
		t.err = t.store.load(t.ctx, t.cache)
	}
	if t.cache.tables == nil {
		if t.err != nil {
			return new(ledger.Memory)
		}
		t.cache.tables = newTables()
	}
	return t.cache.tables[name]
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Now implements [ledger.Remote].
func (t *tx) Now() time.Time { return t.now }

// Expect implements [ledger.Remote]. All of a stage is read at once, when anything of it is.
func (t *tx) Expect([]ledger.Want) {}

// Get implements [ledger.Tx].
func (t *tx) Get(name ledger.Table, key []byte) []byte {
	switch name {
	case ledger.Heads:
		return frameOf(key, t.doc.Lease)
	case ledger.Runs:
		return t.run(key)
	case ledger.Batches:
		return t.digest(key)
	case ledger.Events:
		return t.event(key)
	}
	return t.table(name).Get(string(key))
}

func (t *tx) run(key []byte) []byte {
	if len(key) != 8 {
		return nil
	}
	epoch := binary.BigEndian.Uint64(key)
	if at, found := t.doc.run(epoch); found {
		return frameOf(key, t.doc.Runs[at].Run)
	}
	if epoch < t.doc.Forgotten || len(t.doc.Segments) == 0 {
		return nil
	}
	return t.table(ledger.Runs).Get(string(key))
}

// digest is that of a batch of this epoch. What is newer than the newest one is there nowhere.
func (t *tx) digest(key []byte) []byte {
	seq := binary.BigEndian.Uint64(key)
	if seq > t.was.Tenure.Seq {
		return nil
	}
	for _, b := range t.doc.Batches {
		if b.Seq == seq {
			return b.Digest
		}
	}
	return t.table(ledger.Batches).Get(string(number(t.was.Epoch)) + string(key))
}

// event says whether an event of this epoch is there. Its content is of no interest to who writes.
func (t *tx) event(key []byte) []byte {
	epoch, seq := binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	if t.cache.eventsOf != epoch {
		top, err := t.store.newestEvent(t.ctx, t.cache, epoch, t.was.Tenure.Seq)
		if err != nil {
			t.fail(err)
			return nil
		}
		t.cache.eventsOf, t.cache.eventsTop = epoch, top
	}
	if seq <= t.cache.eventsTop {
		return []byte{}
	}
	for _, e := range t.events {
		if e.key == string(key) {
			return e.value
		}
	}
	return nil
}

func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Put implements [ledger.Tx].
func (t *tx) Put(name ledger.Table, key, value []byte) error {
	switch name {
	case ledger.Heads:
		payload, err := payloadOf(key, value)
		t.doc.Lease = payload
		return err
	case ledger.Runs:
		payload, err := payloadOf(key, value)
		epoch := binary.BigEndian.Uint64(key)
		at, found := t.doc.run(epoch)
		if !found {
			t.doc.Runs = slices.Insert(t.doc.Runs, at, runRef{Epoch: epoch})
		}
		t.doc.Runs[at].Run = payload
		return err
	case ledger.Batches:
		t.batch = &batchRef{Seq: binary.BigEndian.Uint64(key), Digest: bytes.Clone(value)}
		t.doc.Batches = append(t.doc.Batches, *t.batch)
		return nil
	case ledger.Events:
		t.events = append(t.events, entry{ledger.Events, string(key), value})
		return nil
	}
	if clear := t.store.set.Clear; clear != "" && name == ledger.Facts && string(key) == "m"+clear {
		payload, err := payloadOf(key, value)
		if err != nil {
			return err
		}
		t.doc.Ring = payload
	}
	t.set(name, string(key), value)
	return nil
}

// set changes a table of the segments.
func (t *tx) set(name ledger.Table, key string, value []byte) {
	table := t.table(name)
	before := table.Get(key)
	t.undos = append(t.undos, func() { table.Set(key, before) })
	table.Set(key, value)
	t.entries = append(t.entries, entry{name, key, value})
}

// Delete implements [ledger.Tx]. The oldest runs go first, so that one number says which are forgotten.
func (t *tx) Delete(name ledger.Table, key []byte) error {
	if name != ledger.Runs {
		t.set(name, string(key), nil)
		return nil
	}
	epoch := binary.BigEndian.Uint64(key)
	t.doc.Forgotten = max(t.doc.Forgotten, epoch+1)
	t.doc.Runs = slices.DeleteFunc(t.doc.Runs, func(r runRef) bool { return r.Epoch <= epoch })
	return nil
}

// Clear implements [ledger.Tx]. Batches are kept by their epoch, and so are deleted with it; the events of runs that
// are forgotten are swept, and earlier versions that the head does not list are in no later base.
func (t *tx) Clear(name ledger.Table, prefix []byte) error {
	switch name {
	case ledger.Batches:
		t.doc.Batches = nil
		return nil
	case ledger.Events, ledger.Past:
		return nil
	}
	var keys []string
	for key := range t.table(name).Ascend(string(prefix), "") {
		keys = append(keys, key)
	}
	for _, key := range slices.Backward(keys) {
		t.set(name, key, nil)
	}
	return nil
}

// Ascend implements [ledger.Tx].
func (t *tx) Ascend(name ledger.Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	switch name {
	case ledger.Runs:
		return t.runs
	case ledger.Events:
		return t.eventsFrom(prefix, from)
	}
	return func(yield func(key, value []byte) bool) {
		for key, value := range t.table(name).Ascend(string(prefix), string(from)) {
			if !yield([]byte(key), value) {
				return
			}
		}
	}
}

// runs walks all runs that are not forgotten.
func (t *tx) runs(yield func(key, value []byte) bool) {
	if len(t.doc.Segments) > 0 {
		for key, value := range t.table(ledger.Runs).Ascend("", string(number(t.doc.Forgotten))) {
			if _, newer := t.doc.run(binary.BigEndian.Uint64([]byte(key))); !newer && !yield([]byte(key), value) {
				return
			}
		}
	}
	for _, r := range t.doc.Runs {
		key := number(r.Epoch)
		if !yield(key, frameOf(key, r.Run)) {
			return
		}
	}
}

// Last implements [ledger.Remote]. Newer runs stand in the head, so that they cost no more than it.
func (t *tx) Last(name ledger.Table, n int) [][]byte {
	var keys [][]byte
	if name == ledger.Runs && len(t.doc.Runs) >= n {
		for _, r := range t.doc.Runs[len(t.doc.Runs)-n:] {
			keys = append(keys, number(r.Epoch))
		}
		return keys
	}
	for key := range t.Ascend(name, nil, nil) {
		keys = append(keys, key)
	}
	return keys[max(0, len(keys)-n):]
}

// eventsFrom walks the events of a run.
func (t *tx) eventsFrom(prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(prefix) != 8 || len(from) != 16 || t.err != nil {
			return
		}
		epoch, first := binary.BigEndian.Uint64(prefix), binary.BigEndian.Uint64(from[8:])
		err := t.store.eventsAfter(t.ctx, t.cache, epoch, first-1, t.committed(epoch), func(e entry) bool {
			return !strings.HasPrefix(e.key, string(prefix)) || e.key < string(from) || yield([]byte(e.key), e.value)
		})
		if err != nil {
			t.fail(err)
		}
	}
}

// committed is the newest batch of a run that was committed.
func (t *tx) committed(epoch uint64) uint64 {
	if at, found := t.doc.run(epoch); found {
		return t.doc.Runs[at].Seq
	}
	if value := t.table(ends).Get(string(number(epoch))); len(value) == 8 {
		return binary.BigEndian.Uint64(value)
	}
	return 0
}
