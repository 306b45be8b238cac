package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// newestEvent is the sequence of the newest event of an epoch in its batches up to one.
func (s *Store) newestEvent(ctx context.Context, c *cache, epoch, committed uint64) (uint64, error) {
	var newest uint64
	prefix := s.eventsPrefix(c.stage, epoch)
	err := s.list(ctx, prefix, "", func(l Listed) (bool, error) {
		if last, batch, ok := parseEvents(strings.TrimPrefix(l.Key, prefix)); ok && batch <= committed {
			newest = max(newest, last)
		}
		return true, nil
	})
	return newest, err
}

// eventsAfter gives the events of an epoch behind a cursor, of its committed batches, in order, until each says false.
// Nothing is listed again while the head is the same: events become visible with it.
func (s *Store) eventsAfter(ctx context.Context, c *cache, epoch, after, committed uint64, each func(entry) bool) error {
	if l, known := c.listed[epoch]; known && l.revision == c.doc.Revision && after >= l.after {
		return nil
	}
	type object struct {
		name        string
		last, batch uint64
	}
	var objects []object
	prefix := s.eventsPrefix(c.stage, epoch)
	err := s.list(ctx, prefix, prefix+eventsName(after, 0)+"~", func(l Listed) (bool, error) {
		name := strings.TrimPrefix(l.Key, prefix)
		if last, batch, ok := parseEvents(name); ok && batch <= committed && last > after {
			objects = append(objects, object{name, last, batch})
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	// Of an event that came twice, the first one counts: batches are in the order of their numbers, and so are events.
	slices.SortFunc(objects, func(a, b object) int { return cmp.Compare(a.batch, b.batch) })
	last := after
	for _, o := range objects {
		data, err := s.get(ctx, prefix+o.name, "")
		if errors.Is(err, ErrMissing) { // of a run that is being forgotten
			continue
		}
		if err != nil {
			return err
		}
		_, entries, err := decodeSegment(fmt.Sprintf("%016x-%s", epoch, o.name), data.Body, s.keyOf(c))
		if err != nil {
			return &statestore.DamagedError{Stage: c.stage, Err: fmt.Errorf("events %s: %w", o.name, err)}
		}
		for _, e := range entries {
			if !each(e) {
				return nil
			}
		}
		last = max(last, o.last)
	}
	c.listed[epoch] = listing{revision: c.doc.Revision, after: last}
	return nil
}
