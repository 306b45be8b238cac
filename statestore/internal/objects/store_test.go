package objects_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/objects"
	"github.com/athanor-dev/athanor/statestore/internal/objects/objectstest"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// dated is a bucket whose server has the clock of a simulated machine. ETags of heads never repeat, so that they tell
// when a head was written.
type dated struct {
	objects.Bucket
	now func() time.Time

	mu      sync.Mutex
	written map[string]time.Time
}

func (d *dated) Get(ctx context.Context, key, etag string) (objects.Object, error) {
	o, err := d.Bucket.Get(ctx, key, etag)
	d.mu.Lock()
	defer d.mu.Unlock()
	o.Modified, o.Date = d.written[o.ETag], d.now()
	return o, err
}

func (d *dated) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	d.mu.Lock()
	now := d.now()
	d.mu.Unlock()
	o, err := d.Bucket.Put(ctx, key, body, when)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.written[o.ETag] = now
	}
	o.Date = now
	return o, err
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		server := objects.NewClock()
		return objects.Subject(objectstest.NewMemory(t, server.Now), server, objects.Settings{Place: "memory", Prefix: "team/state"})
	})
}

// TestStoreOnServers runs the conformance suite on real servers: every third case of each group, and every night all.
func TestStoreOnServers(t *testing.T) {
	t.Parallel()
	for _, kind := range []s3test.Kind{s3test.Versitygw, s3test.Ministack} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			server := s3test.Start(t, kind)
			storetest.RunSample(t, func(t *testing.T) storetest.Subject {
				address, err := s3.Parse(server.URL(t, "infra/state"))
				if err != nil {
					t.Fatal(err)
				}
				clock := objects.NewClock()
				bucket := &dated{Bucket: s3.Bucket(address, server.Config), now: clock.Now, written: map[string]time.Time{}}
				return objects.Subject(bucket, clock, objects.Settings{Place: address.String(), Prefix: address.Prefix})
			})
		})
	}
}
