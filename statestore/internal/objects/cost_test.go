package objects_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/objects"
	"github.com/athanor-dev/athanor/statestore/internal/objects/objectstest"
)

// slow is a bucket that answers after a while.
type slow struct {
	objects.Bucket
	after time.Duration
}

func (s slow) Get(ctx context.Context, key, etag string) (objects.Object, error) {
	time.Sleep(s.after)
	return s.Bucket.Get(ctx, key, etag)
}

func (s slow) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	time.Sleep(s.after)
	return s.Bucket.Put(ctx, key, body, when)
}

func (s slow) List(ctx context.Context, prefix, after string) ([]objects.Listed, bool, error) {
	time.Sleep(s.after)
	return s.Bucket.List(ctx, prefix, after)
}

// deploy creates so many resources as the engine does: it loads, takes the lease, records an intent, asks whether the
// lease is still its own, calls the cloud for half a second, sixteen calls at once, and records the result.
func deploy(t *testing.T, store statestore.Store, n int, latency time.Duration) time.Duration {
	began := time.Now()
	if _, err := store.Load(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	j, err := statestore.Begin(t.Context(), store, stage, statestore.Claim{Run: "r", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			row := statestore.Row{Address: fmt.Sprintf("net/row-%05d", i), Body: make([]byte, 400), Generations: []statestore.Generation{{
				Number: 1, State: statestore.Candidate, Kind: "aws.sqs.Queue", Intent: true, Body: make([]byte, 100),
			}}}
			if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil {
				t.Error(err)
			}
			slots <- struct{}{}
			if err := j.Confirm(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(latency)
			<-slots
			row.Generations = []statestore.Generation{{
				Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Identity: fmt.Sprintf("id-%d", i), Body: make([]byte, 400),
			}}
			j.Emit(make([]byte, 200))
			if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

var stage = statestore.Stage{Stack: "shop", Name: "prod"}

// A deploy costs few requests, and waits for few of them. docs/stores.md has the table.
func TestCost(t *testing.T) {
	t.Parallel()
	const call, request = 500 * time.Millisecond, 50 * time.Millisecond
	table := map[int]string{}
	for n, most := range map[int]int{10: 40, 100: 90, 1000: 620} {
		synctest.Test(t, func(t *testing.T) {
			memory := objectstest.NewMemory(t, time.Now)
			memory.Page = 1000
			world := host.World{Now: time.Now, Uptime: func() (time.Duration, bool) { return 0, false }, Dead: func(host.Process) bool { return false }}
			store := func(after time.Duration) statestore.Store {
				return objects.New(slow{memory, after}, world, objects.Settings{Probed: func() bool { return true }, Random: objectstest.Texts()})
			}
			took := deploy(t, store(request), n, call)
			calls := time.Duration((n+15)/16) * call
			requests := memory.Counts["GET"] + memory.Counts["PUT"] + memory.Counts["LIST"] + memory.Counts["DELETE"]
			if requests > most {
				t.Errorf("%d resources: %d requests %v, want %d at most", n, requests, memory.Counts, most)
			}
			if n <= 100 && took-calls > time.Second {
				t.Errorf("%d resources take %s beside %s of calls", n, took-calls, calls)
			}
			table[n] = fmt.Sprintf("| %d | %d | %d | %d | %d kB | %s |", n, memory.Counts["PUT"], memory.Counts["GET"], memory.Counts["LIST"],
				memory.Sent>>10, (took - calls).Round(10*time.Millisecond))
		})
	}
	for _, n := range []int{10, 100, 1000} {
		t.Log(table[n])
	}
}
