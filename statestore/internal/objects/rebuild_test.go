package objects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/objects"
	"github.com/athanor-dev/athanor/statestore/internal/objects/objectstest"
)

const headOf = "shop/prod/head"

// waiting is a machine's clock that only waiting moves. Each waiting calls a test first.
type waiting struct {
	at    time.Duration
	while func()
}

func (w *waiting) settings() objects.Settings {
	set := trusted()
	set.MergeAfter = 2
	set.Uptime = func() time.Duration { return w.at }
	set.Wait = func(ctx context.Context, d time.Duration) error {
		if w.while != nil {
			w.while()
		}
		w.at += d
		return ctx.Err()
	}
	return set
}

var asked = objects.Rebuild{Run: "rebuild", User: "ann", KeyOf: func(*statestore.Snapshot) string { return "the key" }}

func rowsOf(t *testing.T, s *objects.Store) map[string]uint64 {
	t.Helper()
	snap, err := s.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	if broken := snap.Check(); len(broken) > 0 {
		t.Error(broken)
	}
	versions := map[string]uint64{}
	for address, row := range snap.Rows {
		versions[address] = row.Version
	}
	return versions
}

// writeRuns leaves a stage of several runs: merged segments, a base, one run that was unlocked with a segment that no head
// lists, and a holder who has written.
func writeRuns(t *testing.T, bucket objects.Bucket, set objects.Settings) (*objects.Store, statestore.Lease) {
	t.Helper()
	s, ctx := newStore(bucket, set), t.Context()
	put := func(lease statestore.Lease, seq uint64, address string, version uint64, finish statestore.RunState) {
		t.Helper()
		unlocked := lease.Run == "lost"
		_, err := s.Commit(ctx, lease, statestore.Batch{
			Seq: seq, Finish: finish, KeyID: "the key", Outputs: []byte(address), Put: []statestore.Row{{
				Address: address, Version: version, Body: make([]byte, 20<<10), Generations: []statestore.Generation{{
					Number: 1, State: statestore.Live, Kind: "k", Identity: "of " + address,
				}},
			}},
		})
		if unlocked && errors.Is(err, statestore.ErrFenced) {
			return
		}
		if err != nil || unlocked {
			t.Fatal(err)
		}
	}
	first := acquired(t, s, "first")
	put(first, 1, "a", 0, "")
	put(first, 2, "b", 0, "")
	put(first, 3, "c", 0, "")
	put(first, 4, "d", 0, "")
	put(first, 5, "a", 1, statestore.Succeeded)
	lost := acquired(t, s, "lost")
	if done, err := newStore(bucket, set).Interrupt(ctx, stage, statestore.Order{Unlock: true, Why: "test"}); err != nil || !done {
		t.Fatal(done, err)
	}
	put(lost, 1, "b", 1, "")
	if left, _, err := bucket.List(ctx, fmt.Sprintf("shop/prod/seg/%016x-", lost.Epoch), ""); err != nil || len(left) != 1 {
		t.Fatal("the run that was unlocked left no segment", left, err)
	}
	holder := acquired(t, s, "holder")
	put(holder, 1, "e", 0, "")
	return s, holder
}

// A head that is lost or damaged is made again from the segments: the state is what it was, the holder of the stage has
// lost it, and runs go on.
func TestRebuildHead(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(m *objectstest.Memory) error{
		"missing": func(m *objectstest.Memory) error { return m.Delete(context.Background(), []string{headOf}) },
		"damaged": func(m *objectstest.Memory) error {
			_, err := m.Put(context.Background(), headOf, []byte("{"), objects.Condition{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket, clock := objectstest.NewMemory(t, time.Now), new(waiting)
			s, holder := writeRuns(t, bucket, clock.settings())
			before, err := s.Load(t.Context(), stage)
			if err != nil {
				t.Fatal(err)
			}
			want := rowsOf(t, s)
			if err := harm(bucket); err != nil {
				t.Fatal(err)
			}
			began := clock.at
			var told time.Duration
			how := asked
			how.Waits = func(d time.Duration) { told = d }
			made, err := newStore(bucket, clock.settings()).RebuildHead(t.Context(), stage, how)
			if err != nil || !made.Done || made.Segments == 0 || made.Serial != before.Serial {
				t.Fatalf("%+v, %v", made, err)
			}
			if waited := clock.at - began; waited < statestore.DefaultTTL || told < statestore.DefaultTTL {
				t.Errorf("it waited %s and told %s; a lease may last %s", waited, told, statestore.DefaultTTL)
			}
			fresh := newStore(bucket, clock.settings())
			if got := rowsOf(t, fresh); !reflect.DeepEqual(got, want) {
				t.Errorf("rows %v, want %v", got, want)
			}
			after, err := fresh.Load(t.Context(), stage)
			if err != nil || after.Serial != before.Serial || after.KeyID != "the key" || string(after.Outputs) != "e" || after.Epoch <= before.Epoch ||
				after.Holder != nil || after.LastRun == nil || after.LastRun.ID != "rebuild" || after.LastRun.User != "ann" ||
				!strings.Contains(after.LastRun.Note, made.Newest) {
				t.Errorf("%+v, last run %+v, %v", after, after.LastRun, err)
			}
			if broken, err := fresh.Check(t.Context()); err != nil || len(broken) > 0 {
				t.Errorf("%v, %v", broken, err)
			}
			if _, err := s.Commit(t.Context(), holder, batchOf(2, want["a"], "")); !errors.Is(err, statestore.ErrFenced) {
				t.Errorf("the holder of the lost head: %v", err)
			}
			next := acquired(t, fresh, "next")
			if _, err := fresh.Commit(t.Context(), next, batchOf(1, want["a"], statestore.Succeeded)); err != nil || next.Epoch <= after.Epoch {
				t.Errorf("the next run: %+v, %v", next, err)
			}
			if got := rowsOf(t, newStore(bucket, clock.settings())); got["a"] != want["a"]+1 || len(got) != len(want) {
				t.Errorf("afterwards: %v", got)
			}
		})
	}
}

// A head that can be read is left alone, and one that is written again while a rebuild waits counts.
func TestRebuildLeavesAHead(t *testing.T) {
	t.Parallel()
	bucket, clock := objectstest.NewMemory(t, time.Now), new(waiting)
	s, holder := writeRuns(t, bucket, clock.settings())
	head, err := bucket.Get(t.Context(), headOf, "")
	if err != nil {
		t.Fatal(err)
	}
	unchanged := func(what string) {
		t.Helper()
		now, err := bucket.Get(t.Context(), headOf, "")
		if err != nil || !bytes.Equal(now.Body, head.Body) {
			t.Errorf("%s: another head: %s, %v", what, now.Body, err)
		}
	}
	made, err := newStore(bucket, clock.settings()).RebuildHead(t.Context(), stage, asked)
	if err != nil || made.Done {
		t.Errorf("with a head: %+v, %v", made, err)
	}
	unchanged("with a head")

	hidden := &altered{Bucket: bucket}
	missing := true
	hidden.get = func(key string) error {
		if key == headOf && missing {
			return objects.ErrMissing
		}
		return nil
	}
	clock.while = func() { missing = false } // a bucket that shows it again, as one that was restored does
	made, err = newStore(hidden, clock.settings()).RebuildHead(t.Context(), stage, asked)
	if err != nil || made.Done {
		t.Errorf("while waiting: %+v, %v", made, err)
	}
	unchanged("while waiting")

	missing = true
	clock.while = nil // never seen, and there: the condition of the write keeps it
	hidden.put = func([]byte, *objects.Condition) { missing = false }
	if made, err = newStore(hidden, clock.settings()).RebuildHead(t.Context(), stage, asked); err == nil || made.Done {
		t.Errorf("written meanwhile: %+v, %v", made, err)
	}
	unchanged("written meanwhile")
	if _, err := s.Commit(t.Context(), holder, batchOf(2, 2, "")); err != nil {
		t.Errorf("the holder: %v", err)
	}
}

// The wait begins again when somebody writes at the head, although it cannot be read.
func TestRebuildWaitsForSilence(t *testing.T) {
	t.Parallel()
	bucket, clock := objectstest.NewMemory(t, time.Now), new(waiting)
	writeRuns(t, bucket, clock.settings())
	write := func(text string) {
		if _, err := bucket.Put(context.Background(), headOf, []byte(text), objects.Condition{}); err != nil {
			t.Error(err)
		}
	}
	write("{")
	times := 0
	clock.while = func() {
		if times++; times == 2 {
			write("{{")
		}
	}
	began := clock.at
	made, err := newStore(bucket, clock.settings()).RebuildHead(t.Context(), stage, asked)
	if err != nil || !made.Done || clock.at-began < statestore.DefaultTTL*4/3 {
		t.Fatalf("%+v after %s, %v", made, clock.at-began, err)
	}
}

// No head is made of less than the whole: a segment that is listed and missing or spoiled is named, and so is a folder without any.
func TestRebuildRefusesLess(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(m *objectstest.Memory, listed []string) error{
		"missing": func(m *objectstest.Memory, listed []string) error { return m.Delete(context.Background(), listed[:1]) },
		"spoiled": func(m *objectstest.Memory, listed []string) error {
			_, err := m.Put(context.Background(), listed[0], []byte("no segment"), objects.Condition{})
			return err
		},
		"spoiled newest": func(m *objectstest.Memory, listed []string) error {
			_, err := m.Put(context.Background(), listed[len(listed)-1], []byte("no segment"), objects.Condition{})
			return err
		},
		"none": func(m *objectstest.Memory, _ []string) error {
			m.Page = 1000
			all, _, err := m.List(context.Background(), "shop/prod/", "")
			for _, l := range all {
				err = errors.Join(err, m.Delete(context.Background(), []string{l.Key}))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket, clock := objectstest.NewMemory(t, time.Now), new(waiting)
			s := newStore(bucket, clock.settings())
			lease := acquired(t, s, "r")
			for seq := uint64(1); seq <= 2; seq++ {
				if _, err := s.Commit(t.Context(), lease, batchOf(seq, seq-1, "")); err != nil {
					t.Fatal(err)
				}
			}
			segments, _, err := bucket.List(t.Context(), "shop/prod/seg/", "")
			if err != nil || len(segments) != 2 {
				t.Fatal(segments, err)
			}
			if err := errors.Join(bucket.Delete(t.Context(), []string{headOf}), harm(bucket, []string{segments[0].Key, segments[1].Key})); err != nil {
				t.Fatal(err)
			}
			made, err := newStore(bucket, clock.settings()).RebuildHead(t.Context(), stage, asked)
			if !errors.Is(err, statestore.ErrDamaged) || made.Done {
				t.Errorf("%+v, %v", made, err)
			}
			if _, err := bucket.Get(t.Context(), headOf, ""); !errors.Is(err, objects.ErrMissing) {
				t.Errorf("a head was written: %v", err)
			}
		})
	}
}

// The list of the new head is that of the lost one, whichever segment was the newest: a batch, several merged ones, a base.
func TestRebuildFindsTheList(t *testing.T) {
	t.Parallel()
	bucket, clock := objectstest.NewMemory(t, time.Now), new(waiting)
	type head struct {
		Segments []struct {
			Name   string `json:"name"`
			Bytes  int    `json:"bytes"`
			Merged int    `json:"merged"`
		} `json:"segments"`
	}
	read := func() (h head) {
		object, err := bucket.Get(t.Context(), headOf, "")
		if err = errors.Join(err, json.Unmarshal(object.Body, &h)); err != nil {
			t.Fatal(err)
		}
		return h
	}
	merged, bases := 0, 0
	for round := range uint64(24) {
		s := newStore(bucket, clock.settings())
		lease := acquired(t, s, fmt.Sprintf("run %d", round))
		batch := batchOf(1, round, "")
		batch.Put[0].Body = make([]byte, 10<<10)
		if _, err := s.Commit(t.Context(), lease, batch); err != nil {
			t.Fatal(err)
		}
		want := read()
		if newest := want.Segments[len(want.Segments)-1]; newest.Merged > 0 {
			merged++
		}
		if len(want.Segments) == 1 {
			bases++
		}
		if err := bucket.Delete(t.Context(), []string{headOf}); err != nil {
			t.Fatal(err)
		}
		how := asked
		how.Run = fmt.Sprintf("rebuild %d", round)
		if made, err := newStore(bucket, clock.settings()).RebuildHead(t.Context(), stage, how); err != nil || !made.Done {
			t.Fatalf("round %d: %+v, %v", round, made, err)
		}
		if got := read(); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: the head lists %+v, the lost one %+v", round, got, want)
		}
	}
	if merged == 0 || bases < 2 {
		t.Errorf("%d times a merged segment was the newest, and %d times a base: the test shows less than it says", merged, bases)
	}
}
