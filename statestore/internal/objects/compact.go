package objects

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

const (
	// mergeAfter is the number of batches whose segments are merged: who reads a stage reads few segments, and what is
	// written is written twice.
	mergeAfter = 32
	// mergeAtEnd is the same for the last batch of a run, after which nobody is waiting.
	mergeAtEnd = 8
	// smallBase is the size up to which a base is not worth to be replaced.
	smallBase = 64 << 10
	// grace is how long an object stays that no head lists any more: somebody may be reading by an older head.
	grace = time.Hour
)

// segment is one that a swap is going to list.
type segment struct {
	name    string
	header  segmentHeader
	entries []entry // of the batch alone, where the segment holds more
	bytes   int
}

// segment returns what a commit has to write beside the head, nil when that holds all of it.
func (t *tx) segment(next *rules.Head) (*segment, error) {
	if t.batch == nil { // an acquisition or an interruption: many may try, and the head alone decides
		return nil, nil
	}
	mergeAfter := t.store.set.MergeAfter
	if next.Tenure.Released {
		mergeAfter = min(mergeAtEnd, mergeAfter)
	}
	ending := next.Tenure.Released && len(t.cache.tail) >= mergeAfter
	whole := t.store.compacting.Load()
	if len(t.entries) == 0 && len(t.doc.Batches) < inlineBatches && len(t.doc.Runs) < 4*inlineRuns && !ending && !whole {
		return nil, nil
	}
	t.table(ledger.Rows) // is loaded: a segment may have to hold all
	if t.err != nil {
		return nil, t.err
	}
	unmerged := len(t.cache.tail)
	if whole {
		if err := t.dropVersions(next); err != nil {
			return nil, err
		}
	}
	t.absorb(next)
	entries := merged(t.entries)
	seg := &segment{
		name: segmentName(next.Epoch, next.Tenure.Seq), entries: entries,
		header: segmentHeader{
			Format: docFormat, Epoch: next.Epoch, Seq: next.Tenure.Seq, Digest: t.batch.Digest, Before: t.doc.names(), Serial: next.Serial,
			Sealed: t.doc.Sealed,
		},
	}
	var base, tail int
	for i, ref := range t.doc.Segments {
		if i == 0 {
			base = ref.Bytes
		} else {
			tail += ref.Bytes
		}
	}
	switch {
	case whole || len(t.doc.Segments) == 0 || tail+bytesOf(entries) > max(base, smallBase):
		seg.header.Base = true
	case unmerged >= mergeAfter:
		seg.header.Merged = unmerged
	}
	return seg, nil
}

// dropVersions gives up all versions but the state as it is.
func (t *tx) dropVersions(next *rules.Head) error {
	var keys []string
	for key := range t.table(ledger.Past).Ascend("", "") {
		keys = append(keys, key)
	}
	for _, key := range slices.Backward(keys) {
		t.set(ledger.Past, key, nil)
	}
	next.Past, next.Newest = nil, rules.Version{}
	var err error
	t.doc.Lease, err = json.Marshal(next)
	return err
}

// absorb takes into the segment what the head need not keep.
func (t *tx) absorb(next *rules.Head) {
	for _, b := range t.doc.Batches {
		t.set(ledger.Batches, string(number(next.Epoch))+string(number(b.Seq)), b.Digest)
	}
	t.doc.Batches = nil
	for len(t.doc.Runs) > inlineRuns && t.doc.Runs[0].Epoch < next.Epoch {
		r := t.doc.Runs[0]
		key := number(r.Epoch)
		t.set(ledger.Runs, string(key), frameOf(key, r.Run))
		t.set(ends, string(key), number(r.Seq))
		t.doc.Runs = t.doc.Runs[1:]
	}
}

// content are the entries that a segment holds.
func (t *tx) content(seg *segment, next *rules.Head) []entry {
	switch {
	case seg.header.Base:
		return t.everything(next)
	case seg.header.Merged > 0:
		return merged(append(slices.Clone(t.cache.tail[len(t.cache.tail)-seg.header.Merged:]), seg.entries)...)
	}
	return seg.entries
}

// everything is all that the tables hold and somebody may still ask for.
func (t *tx) everything(next *rules.Head) []entry {
	var all []entry
	versions := map[string]bool{}
	for i := range next.Past {
		versions[string(number(next.Past[i].Until))] = true
	}
	for _, name := range kept() {
		for key, value := range t.cache.tables[name].Ascend("", "") {
			switch {
			case name == ledger.Batches && !strings.HasPrefix(key, string(number(next.Epoch))):
			case name == ledger.Past && !versions[key[:8]]:
			case (name == ledger.Runs || name == ends) && binary.BigEndian.Uint64([]byte(key)) < t.doc.Forgotten:
			default:
				all = append(all, entry{name, key, value})
			}
		}
	}
	return all
}

// list makes a segment the newest of the head.
func (t *tx) list(seg *segment) {
	ref := segmentRef{Name: seg.name, Bytes: seg.bytes, Merged: seg.header.Merged}
	if seg.header.Base {
		t.doc.Segments = []segmentRef{ref}
		return
	}
	t.doc.Segments = append(t.doc.Segments[:len(t.doc.Segments)-seg.header.Merged], ref)
}

// writeSegment writes a segment once. One of its name that is there, with the same batch, was written by an attempt whose
// answer was lost: it counts, as it is.
func (s *Store) writeSegment(ctx context.Context, c *cache, t *tx, w *swap, next *rules.Head, seg *segment) error {
	if w.written != nil {
		t.adopt(w.written)
		return nil
	}
	by, err := s.sealer(c, t)
	if err != nil {
		return err
	}
	body, err := encodeSegment(seg.name, seg.header, t.content(seg, next), by)
	if err != nil {
		return err
	}
	seg.bytes = len(body)
	key := s.segmentKey(c.stage, seg.name)
	err = s.patiently(ctx, func() error {
		_, err := s.put(ctx, key, body, Condition{Absent: true})
		return err
	})
	if errors.Is(err, ErrPrecondition) {
		object, err := s.get(ctx, key, "")
		if err != nil {
			return err
		}
		h, entries, err := decodeSegment(seg.name, object.Body, s.keyOf(c))
		switch {
		case err != nil:
			return &statestore.DamagedError{Stage: c.stage, Err: fmt.Errorf("segment %s: %w", seg.name, err)}
		case !bytes.Equal(h.Digest, seg.header.Digest):
			return &statestore.ReplayError{Seq: h.Seq, Next: h.Seq + 1}
		}
		w.written = &segment{name: seg.name, header: h, entries: entries, bytes: len(object.Body)}
		t.adopt(w.written)
		return nil
	}
	if err == nil {
		w.written = seg
	}
	return err
}

// adopt makes what a segment holds what the transaction wrote: another attempt may have had another time.
func (t *tx) adopt(seg *segment) {
	for _, e := range seg.entries {
		table := t.cache.tables[e.table]
		before := table.Get(e.key)
		t.undos = append(t.undos, func() { table.Set(e.key, before) })
		table.Set(e.key, e.value)
	}
}

// sealer is the key that segments are sealed with, nil when names are not sealed.
func (s *Store) sealer(c *cache, t *tx) (Sealer, error) {
	switch {
	case s.set.Key == nil && t.doc.Sealed != "":
		return nil, &SealedError{Stage: c.stage}
	case s.set.Key == nil:
		return nil, nil
	case t.doc.Sealed == "":
		return nil, &statestore.InvalidError{Rule: "names are sealed, and the stage has no key yet"}
	}
	return s.set.Key(c.stage, t.doc.Sealed, t.doc.Ring)
}

// writeEvents writes the events of a batch. They are shown once the head says that the batch was committed.
func (s *Store) writeEvents(ctx context.Context, c *cache, t *tx, w *swap, next *rules.Head) error {
	by, err := s.sealer(c, t)
	if err != nil {
		return err
	}
	var last uint64
	for _, e := range t.events {
		last = max(last, binary.BigEndian.Uint64([]byte(e.key)[8:]))
	}
	name := eventsName(last, next.Tenure.Seq)
	h := segmentHeader{Format: docFormat, Epoch: next.Epoch, Seq: next.Tenure.Seq, Digest: t.batch.Digest, Sealed: t.doc.Sealed}
	body, err := encodeSegment(fmt.Sprintf("%016x-%s", next.Epoch, name), h, t.events, by)
	if err != nil {
		return err
	}
	err = s.patiently(ctx, func() error {
		_, err := s.put(ctx, s.eventsPrefix(c.stage, next.Epoch)+name, body, Condition{Absent: true})
		return err
	})
	if errors.Is(err, ErrPrecondition) {
		err = nil // an attempt whose answer was lost
	}
	w.events = err == nil
	return err
}

// Compact lets the next commits of this process write all of their stage, and their run end with the deletion of
// everything before, earlier versions included: no object holds what was replaced. Who reads by an older head meanwhile reads
// again. It returns a [statestore.RemnantsError]: a bucket may keep what is deleted.
func (s *Store) Compact(context.Context) error {
	s.compacting.Store(true)
	return &statestore.RemnantsError{Where: []string{"older versions and replicas of objects, where the bucket keeps them"}}
}

// sweep deletes, after a run that superseded segments, what no head lists since before it began: segments
// that were merged, those of runs that were fenced, and events of runs that are forgotten. It is best effort, and
// never takes what this run or a later one may still list.
func (s *Store) sweep(ctx context.Context, stage statestore.Stage) {
	c, err := s.enter(ctx, stage)
	if err != nil {
		return
	}
	defer c.leave()
	if !c.merged || c.doc == nil {
		return
	}
	c.merged = false
	h, err := c.doc.tenure()
	if err != nil {
		return
	}
	listed, old, before := map[string]bool{}, s.now().Add(-s.set.Grace), h.Epoch
	names := c.doc.names()
	if s.compacting.Load() {
		old, before = s.now().Add(time.Hour), h.Epoch+1 // whatever the server's clock says
	} else {
		names = append(names, c.begun...)
	}
	for _, name := range names {
		listed[name] = true
	}
	var keys []string
	folder := s.folder(stage) + "seg/"
	err = s.list(ctx, folder, "", func(l Listed) (bool, error) {
		name := strings.TrimPrefix(l.Key, folder)
		epoch, ok := parseEpoch(name)
		if ok && epoch < before && !listed[name] && l.Modified.Before(old) {
			keys = append(keys, l.Key)
		}
		return true, nil
	})
	if err != nil {
		return
	}
	events := s.folder(stage) + "ev/"
	err = s.list(ctx, events, "", func(l Listed) (bool, error) {
		epoch, ok := parseEpoch(strings.TrimPrefix(l.Key, events))
		if !ok || epoch >= c.doc.Forgotten {
			return false, nil
		}
		keys = append(keys, l.Key)
		return true, nil
	})
	if err != nil || len(keys) == 0 {
		return
	}
	for part := range slices.Chunk(keys, 1000) {
		if s.bucket.Delete(ctx, part) != nil {
			return
		}
	}
}
