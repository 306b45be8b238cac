package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// atOnce is how many segments are read at once.
const atOnce = 8

// errSuperseded says that a segment is missing: a newer head does not list it.
var errSuperseded = errors.New("a segment of the head is missing")

// load brings the tables to what the head lists.
func (s *Store) load(ctx context.Context, c *cache) error {
	want := c.doc.names()
	if c.tables == nil || len(c.loaded) > len(want) || !slices.Equal(c.loaded, want[:len(c.loaded)]) {
		c.forget()
		c.tables = newTables()
	}
	todo := c.doc.Segments[len(c.loaded):]
	if len(todo) == 0 {
		return nil
	}
	data, errs := make([][]byte, len(todo)), make([]error, len(todo))
	var readers sync.WaitGroup
	for r := range min(atOnce, len(todo)) {
		readers.Go(func() {
			for i := r; i < len(todo); i += atOnce {
				var object Object
				object, errs[i] = s.get(ctx, s.segmentKey(c.stage, todo[i].Name), "")
				data[i] = object.Body
			}
		})
	}
	readers.Wait()
	for i, ref := range todo {
		err := errs[i]
		switch {
		case errors.Is(err, ErrMissing):
			return errSuperseded
		case err != nil:
			return err
		}
		_, entries, err := decodeSegment(ref.Name, data[i], s.keyOf(c))
		if err != nil {
			c.forget()
			return &statestore.DamagedError{Stage: c.stage, Err: fmt.Errorf("segment %s: %w", ref.Name, err)}
		}
		c.apply(entries)
		c.loaded = append(c.loaded, ref.Name)
		c.extend(ref, len(c.loaded) == 1, entries)
	}
	return nil
}

func newTables() map[ledger.Table]*ledger.Memory {
	tables := make(map[ledger.Table]*ledger.Memory)
	for _, name := range kept() {
		tables[name] = new(ledger.Memory)
	}
	return tables
}

// apply makes entries part of the tables.
func (c *cache) apply(entries []entry) {
	for _, e := range entries {
		c.tables[e.table].Set(e.key, e.value)
	}
}

// extend remembers the entries of a segment that is the changes of one batch, for merging.
func (c *cache) extend(ref segmentRef, base bool, entries []entry) {
	if base || ref.Merged > 0 {
		c.tail = nil
		return
	}
	c.tail = append(c.tail, entries)
}

// keyOf finds the keys of a stage whose names are sealed.
func (s *Store) keyOf(c *cache) func(id string) (Sealer, error) {
	return func(id string) (Sealer, error) {
		if s.set.Key == nil {
			return nil, &SealedError{Stage: c.stage}
		}
		return s.set.Key(c.stage, id, c.doc.Ring)
	}
}

// SealedError says that the names of a stage are sealed and the store was opened as if they were not.
type SealedError struct{ Stage statestore.Stage }

func (e *SealedError) Error() string {
	return fmt.Sprintf("%s: its names are sealed in the store, which was opened without names=sealed", e.Stage)
}

// Hint says what the user can do.
func (e *SealedError) Hint() string { return "add names=sealed to the URL of the store" }
