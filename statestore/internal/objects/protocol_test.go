package objects_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/objects"
	"github.com/athanor-dev/athanor/statestore/internal/objects/objectstest"
)

// altered is a bucket that a test has its way with.
type altered struct {
	objects.Bucket
	get func(key string) error
	put func(body []byte, when *objects.Condition)
}

func (a *altered) Get(ctx context.Context, key, etag string) (objects.Object, error) {
	if a.get != nil {
		if err := a.get(key); err != nil {
			return objects.Object{}, err
		}
	}
	return a.Bucket.Get(ctx, key, etag)
}

func (a *altered) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	if a.put != nil {
		a.put(body, &when)
	}
	return a.Bucket.Put(ctx, key, body, when)
}

func newStore(bucket objects.Bucket, set objects.Settings) *objects.Store {
	world := host.World{Now: time.Now, Uptime: func() (time.Duration, bool) { return 0, false }, Dead: func(host.Process) bool { return false }}
	return objects.New(bucket, world, set)
}

func trusted() objects.Settings { return objects.Settings{Probed: func() bool { return true }} }

func acquired(t *testing.T, s *objects.Store, run string) statestore.Lease {
	t.Helper()
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func batchOf(seq, version uint64, finish statestore.RunState) statestore.Batch {
	return statestore.Batch{Seq: seq, Finish: finish, Put: []statestore.Row{{Address: "a", Version: version, Generations: []statestore.Generation{
		{Number: 1, State: statestore.Live, Kind: "k", Identity: "i"},
	}}}}
}

// A head that vanishes is an error for who knew it, and for who comes anew to a folder that holds segments.
func TestTheHeadVanishes(t *testing.T) {
	bucket := objectstest.NewMemory(t, time.Now)
	s := newStore(bucket, trusted())
	lease := acquired(t, s, "r1")
	if _, err := s.Commit(t.Context(), lease, batchOf(1, 0, "")); err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(t.Context(), []string{"shop/prod/head"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), lease, batchOf(2, 1, "")); !errors.Is(err, statestore.ErrDamaged) {
		t.Errorf("the holder: %v", err)
	}
	if _, err := s.Load(t.Context(), stage); !errors.Is(err, statestore.ErrDamaged) {
		t.Errorf("who knew it: %v", err)
	}
	_, err := newStore(bucket, trusted()).Acquire(t.Context(), stage, statestore.Claim{Run: "r2"})
	if _, ok := errors.AsType[*objects.HeadlessError](err); !ok || !errors.Is(err, statestore.ErrDamaged) {
		t.Errorf("who comes anew: %v", err)
	}
	_, err = newStore(bucket, trusted()).Load(t.Context(), stage)
	if _, ok := errors.AsType[*objects.HeadlessError](err); !ok || !errors.Is(err, statestore.ErrDamaged) {
		t.Errorf("who comes anew and reads: %v", err)
	}
}

// A server that looks at all conditions before it writes anything is found by the races of the probe.
func TestProbeFindsARace(t *testing.T) {
	bucket := &altered{Bucket: objectstest.NewMemory(t, time.Now)}
	var mu sync.Mutex
	came, all := 0, make(chan struct{})
	bucket.put = func(body []byte, when *objects.Condition) {
		if len(body) < 1000 {
			return
		}
		mu.Lock()
		if came++; came == 20 {
			close(all)
		}
		mu.Unlock()
		<-all // each has looked
		*when = objects.Condition{}
	}
	_, err := newStore(bucket, objects.Settings{}).Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if !errors.Is(err, objects.ErrUnsafe) {
		t.Fatalf("a race: %v", err)
	}
}

// A server that forgets conditions after it was probed is found in every run.
func TestCanary(t *testing.T) {
	bucket := &altered{Bucket: objectstest.NewMemory(t, time.Now)}
	s := newStore(bucket, objects.Settings{})
	lease := acquired(t, s, "r")
	bucket.put = func(_ []byte, when *objects.Condition) { *when = objects.Condition{} }
	if _, err := s.Commit(t.Context(), lease, batchOf(1, 0, "")); !errors.Is(err, objects.ErrUnsafe) {
		t.Fatalf("without conditions: %v", err)
	}
}

// A reader whose segment was deleted meanwhile reads the newer head.
func TestSupersededWhileReading(t *testing.T) {
	memory := objectstest.NewMemory(t, time.Now)
	set := trusted()
	set.MergeAfter = 1
	s := newStore(memory, set)
	lease := acquired(t, s, "r1")
	commit := func(seq uint64, finish statestore.RunState) {
		t.Helper()
		if _, err := s.Commit(t.Context(), lease, batchOf(seq, seq-1, finish)); err != nil {
			t.Fatal(err)
		}
	}
	commit(1, "")
	commit(2, "")
	bucket, gone := &altered{Bucket: memory}, ""
	bucket.get = func(key string) error {
		if strings.Contains(key, "/seg/") && strings.HasSuffix(key, "2") && gone == "" {
			gone = key
			commit(3, "") // takes the place of the second
			if err := memory.Delete(t.Context(), []string{key}); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	snap, err := newStore(bucket, trusted()).Load(t.Context(), stage)
	if err != nil || gone == "" || snap.Rows["a"].Version != 3 {
		t.Fatalf("%v, %q, %+v", err, gone, snap)
	}
}

// change commits one row in a run of its own.
func change(t *testing.T, s *objects.Store, run string, version uint64, body string) {
	t.Helper()
	lease, batch := acquired(t, s, run), batchOf(1, version, statestore.Succeeded)
	batch.Put[0].Body = []byte(body)
	if _, err := s.Commit(t.Context(), lease, batch); err != nil {
		t.Fatal(err)
	}
}

func serialsOf(t *testing.T, s *objects.Store) (serials []uint64) {
	t.Helper()
	versions, err := s.Versions(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		serials = append(serials, v.Serial)
	}
	return serials
}

// A store that is made to hold the current state alone has no version before it, and no object holds what was replaced. The next
// run keeps one again.
func TestCompactGivesUpVersions(t *testing.T) {
	t.Parallel()
	bucket := objectstest.NewMemory(t, time.Now)
	holds := func(text string) bool {
		t.Helper()
		listed, more, err := bucket.List(t.Context(), "", "")
		if err != nil || more {
			t.Fatal(more, err)
		}
		return slices.ContainsFunc(listed, func(l objects.Listed) bool {
			object, err := bucket.Get(t.Context(), l.Key, "")
			return err == nil && bytes.Contains(object.Body, []byte(text))
		})
	}
	s := newStore(bucket, trusted())
	change(t, s, "r1", 0, "the first body")
	change(t, s, "r2", 1, "the second body")
	if got := serialsOf(t, s); !slices.Equal(got, []uint64{2, 1}) || !holds("the first body") {
		t.Fatalf("versions %v", got)
	}
	compacting := newStore(bucket, trusted())
	if err := compacting.Compact(t.Context()); !errors.Is(err, errors.ErrUnsupported) { // a server may keep what is deleted
		t.Fatal(err)
	}
	change(t, compacting, "r3", 2, "the third body")
	if got := serialsOf(t, newStore(bucket, trusted())); !slices.Equal(got, []uint64{3}) || holds("the first body") || holds("the second body") {
		t.Errorf("versions %v; the first body is there: %t, the second: %t", got, holds("the first body"), holds("the second body"))
	}
	after := newStore(bucket, trusted())
	change(t, after, "r4", 3, "the fourth body")
	snap, err := newStore(bucket, trusted()).LoadVersion(t.Context(), stage, 3)
	if err != nil || string(snap.Rows["a"].Body) != "the third body" {
		t.Errorf("the version after it: %+v, %v", snap, err)
	}
}

// A head of an older program is read, and lifted by the next run; one of a newer program is refused by name.
func TestFormatsOfHeads(t *testing.T) {
	t.Parallel()
	bucket := objectstest.NewMemory(t, time.Now)
	change(t, newStore(bucket, trusted()), "r1", 0, "x")
	const newest, older, later = `{"athanorStage":2,`, `{"athanorStage":1,`, `{"athanorStage":3,`
	replace := func(from, to string) {
		t.Helper()
		object, err := bucket.Get(t.Context(), headOf, "")
		if err != nil || !bytes.HasPrefix(object.Body, []byte(from)) {
			t.Fatalf("%.30s, %v", object.Body, err)
		}
		if _, err := bucket.Put(t.Context(), headOf, append([]byte(to), object.Body[len(from):]...), objects.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	replace(newest, older)
	change(t, newStore(bucket, trusted()), "r2", 1, "y")
	replace(newest, later)
	_, err := newStore(bucket, trusted()).Load(t.Context(), stage)
	if e, ok := errors.AsType[*statestore.NewerError](err); !ok || e.Have != 3 || e.Known != 2 {
		t.Errorf("a newer head: %v", err)
	}
}

// limited is a bucket that takes one write of an object a second, as R2 documents it (429 beyond).
type limited struct {
	objects.Bucket
	clock *waiting

	// strict: a write that is refused for its condition counts as one too.
	strict bool

	mu      sync.Mutex // of the next two: several objects are written at once
	last    map[string]time.Duration
	refused int
}

func (l *limited) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, written := l.last[key]; written && l.clock.at < last+time.Second {
		l.refused++
		return objects.Object{}, objects.ErrBusy
	}
	object, err := l.Bucket.Put(ctx, key, body, when)
	if err == nil || l.strict {
		l.last[key] = l.clock.at
	}
	return object, err
}

// A bucket that takes one write of an object a second passes the probe, delays commits, and refuses none.
func TestOneWriteASecond(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		oneWriteASecond(t, strict)
	}
}

func oneWriteASecond(t *testing.T, strict bool) {
	t.Helper()
	clock := new(waiting)
	bucket := &limited{Bucket: objectstest.NewMemory(t, time.Now), clock: clock, strict: strict, last: map[string]time.Duration{}}
	set := clock.settings()
	set.Patience = 10 * time.Second
	probed := 0
	set.Probed, set.Remember = func() bool { return false }, func() { probed++ }
	s := newStore(bucket, set)
	lease := acquired(t, s, "r1")
	if probed != 1 || bucket.refused == 0 || clock.at > 20*time.Second {
		t.Errorf("strict %v: the probe passed %d times, after %s with %d refusals", strict, probed, clock.at, bucket.refused)
	}
	clock.at, bucket.refused = 0, 0
	clear(bucket.last)
	const batches = 6
	for seq := range uint64(batches) {
		var err error
		if lease, err = s.Commit(t.Context(), lease, batchOf(seq+1, seq, "")); err != nil {
			t.Fatalf("batch %d: %v", seq+1, err)
		}
	}
	const least = (batches - 1) * time.Second // the first need not wait
	if clock.at < least || clock.at > 3*batches*time.Second || bucket.refused == 0 {
		t.Errorf("%d batches took %s, with %d refusals", batches, clock.at, bucket.refused)
	}
	if got := rowsOf(t, s); got["a"] != batches {
		t.Errorf("rows %v", got)
	}
}
