package objects_test

import (
	"context"
	"errors"
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
