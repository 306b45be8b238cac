package bolt

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// emitted commits events of the given sequences, one batch for each list.
func emitted(t *testing.T, s *Store, lists ...[]uint64) {
	t.Helper()
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	for i, list := range lists {
		batch := statestore.Batch{Seq: uint64(i) + 1, Renew: true}
		for _, seq := range list {
			batch.Events = append(batch.Events, statestore.Event{Seq: seq, Body: fmt.Appendf(nil, "event %d of batch %d", seq, i)})
		}
		if err == nil {
			lease, err = s.Commit(t.Context(), lease, batch)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read lists the sequences of the events behind a cursor whose bodies can be read.
func read(t *testing.T, s *Store, after uint64, limit int) (seqs []uint64, whole bool) {
	t.Helper()
	events, err := s.Events(t.Context(), stage, "r", after, limit)
	if err != nil {
		t.Fatal(err)
	}
	whole = true
	for _, e := range events {
		seqs = append(seqs, e.Seq)
		whole = whole && bytes.HasPrefix(e.Body, fmt.Appendf(nil, "event %d of", e.Seq))
	}
	return seqs, whole
}

// TestEventsInPacks reads behind every cursor, with every limit.
func TestEventsInPacks(t *testing.T) {
	for name, lists := range map[string][][]uint64{
		"in order":         {{1, 2, 3}, {4}, {5, 6}, {7, 8, 9, 10}},
		"with gaps":        {{2, 5, 9}, {12, 20}},
		"out of order":     {{2, 5, 9}, {3}, {1, 4, 30}, {6, 7}},
		"out of one batch": {{9, 2, 5}, {1, 10}},
		"the same again":   {{1, 2, 3}, {2, 3, 4}, {1, 1, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			emitted(t, p.s, lists...)
			want := slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists...))))
			for after := range uint64(32) {
				from, _ := slices.BinarySearch(want, after+1)
				for limit := range len(want) + 1 {
					expected := want[from:]
					if limit > 0 {
						expected = expected[:min(limit, len(expected))]
					}
					if have, whole := read(t, p.s, after, limit); !slices.Equal(have, expected) || !whole {
						t.Errorf("after %d, at most %d: %v, whole %t; want %v", after, limit, have, whole, expected)
					}
				}
			}
		})
	}
}

// history changes the entries of the table of events as they are in the file.
func history(t *testing.T, s *Store, change func(b *bbolt.Bucket) error) {
	t.Helper()
	err := s.write(t.Context(), apart, func(tx *bbolt.Tx) (bool, error) {
		return true, change(stageBucket(tx, stage).Bucket([]byte(ledger.Events)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEventsOfAnOlderVersion are single entries, before packs and behind them.
func TestEventsOfAnOlderVersion(t *testing.T) {
	p := newProgram(t)
	emitted(t, p.s, []uint64{3, 4, 5})
	history(t, p.s, func(b *bbolt.Bucket) error {
		first, _ := b.Cursor().First()
		first = bytes.Clone(first)
		for _, seq := range []byte{1, 2, 6, 7} {
			key := append(bytes.Clone(first[:15]), seq)
			if err := b.Put(key, ledger.Frame(key, fmt.Appendf(nil, "event %d of an older version", seq))); err != nil {
				return err
			}
		}
		return nil
	})
	if have, whole := read(t, p.s, 0, 0); !whole || !slices.Equal(have, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%v, whole %t", have, whole)
	}
}

// TestADamagedPack changes each byte of a pack in turn: no event has a wrong body, and those of other packs are whole.
func TestADamagedPack(t *testing.T) {
	p := newProgram(t)
	emitted(t, p.s, []uint64{1, 2, 3}, []uint64{4, 5})
	length := 0
	history(t, p.s, func(b *bbolt.Bucket) error {
		_, value := b.Cursor().First()
		length = len(value)
		return nil
	})
	for at := range length {
		turn := func(b *bbolt.Bucket) error {
			key, value := b.Cursor().First()
			value = bytes.Clone(value)
			value[at] ^= 0x55
			return b.Put(bytes.Clone(key), value)
		}
		history(t, p.s, turn)
		events, err := p.s.Events(t.Context(), stage, "r", 0, 0)
		if err != nil || len(events) < 3 || events[0].Body != nil {
			t.Errorf("byte %d: %d events, %v", at, len(events), err)
		}
		if have, whole := read(t, p.s, 3, 0); !whole || !slices.Equal(have, []uint64{4, 5}) {
			t.Errorf("byte %d: behind the damage %v, whole %t", at, have, whole)
		}
		history(t, p.s, turn)
	}
}
