package objects

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// Clock is the server's, which is the clock of whichever machine asked last.
type Clock struct {
	mu  sync.Mutex
	now func() time.Time
}

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	return now()
}

// own is a machine's own clock, which waiting moves.
type own struct {
	mu sync.Mutex
	at time.Duration
}

func (o *own) uptime() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

func (o *own) wait(ctx context.Context, d time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at += d
	return ctx.Err()
}

// records reads what a bucket holds of a stage, and setRecords replaces it.
func records(t *testing.T, s *Store, stage statestore.Stage) storetest.Records {
	t.Helper()
	all := storetest.Records{}
	err := s.ops.Backend.View(t.Context(), stage, nil, func(x ledger.Tx) error {
		for _, name := range []ledger.Table{ledger.Rows, ledger.Owners, ledger.Needed, ledger.Facts, ledger.Runs, ledger.Past} {
			table := map[string][]byte{}
			for key, value := range x.Ascend(name, nil, nil) {
				table[string(key)] = slices.Clone(value)
			}
			all[string(name)] = table
		}
		head := []byte(ledger.HeadKey)
		all[string(ledger.Heads)] = map[string][]byte{ledger.HeadKey: x.Get(ledger.Heads, head)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func setRecords(t *testing.T, s *Store, stage statestore.Stage, set storetest.Records) {
	t.Helper()
	ctx := t.Context()
	object, err := s.bucket.Get(ctx, s.headKey(stage), "")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parse(stage, "", object.Body)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, name := range []ledger.Table{ledger.Rows, ledger.Owners, ledger.Needed, ledger.Facts, ledger.Past} {
		for _, key := range slices.Sorted(maps.Keys(set[string(name)])) {
			entries = append(entries, entry{name, key, set[string(name)][key]})
		}
	}
	key := []byte(ledger.HeadKey)
	if doc.Lease, err = payloadOf(key, set[string(ledger.Heads)][ledger.HeadKey]); err != nil {
		t.Fatal(err)
	}
	h, err := doc.tenure()
	if err != nil {
		t.Fatal(err)
	}
	name := "set-" + s.set.Random()
	body, err := encodeSegment(name, segmentHeader{Format: docFormat, Epoch: h.Epoch, Base: true}, entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.bucket.Put(ctx, s.segmentKey(stage, name), body, Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	doc.Segments = []segmentRef{{Name: name, Bytes: len(body)}}
	doc.Revision++
	doc.Nonce = s.set.Random()
	if body, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	if _, err := s.bucket.Put(ctx, s.headKey(stage), body, Condition{}); err != nil {
		t.Fatal(err)
	}
}

// damage changes one bit of a row.
func damage(t *testing.T, s *Store, stage statestore.Stage, address string) {
	t.Helper()
	set := records(t, s, stage)
	value := set[string(ledger.Rows)][address]
	value[len(value)/2] ^= 1
	setRecords(t, s, stage, set)
}

// NewClock returns a server's clock that is the real one until a machine asks.
func NewClock() *Clock { return &Clock{now: time.Now} }

// Subject is a store in a bucket whose server has this clock.
func Subject(bucket Bucket, server *Clock, set Settings) storetest.Subject {
	set.Probed = func() bool { return true }
	set.Patience = 10 * time.Second
	var handles sync.Mutex
	open := func(world storetest.World) *Store {
		handles.Lock()
		defer handles.Unlock()
		machine, set := new(own), set
		server.mu.Lock()
		server.now = world.Now
		server.mu.Unlock()
		set.Uptime, set.Wait = machine.uptime, machine.wait
		return New(bucket, world, set)
	}
	tool := func() *Store {
		return New(bucket, storetest.World{Now: server.Now, Dead: func(p host.Process) bool { return false }}, set)
	}
	return storetest.Subject{
		Open: func(world storetest.World) statestore.Store { return open(world) },
		Damage: func(t *testing.T, stage statestore.Stage, address string) {
			damage(t, tool(), stage, address)
		},
		Records: func(t *testing.T, stage statestore.Stage) storetest.Records { return records(t, tool(), stage) },
		SetRecords: func(t *testing.T, stage statestore.Stage, all storetest.Records) {
			setRecords(t, tool(), stage, all)
		},
	}
}
