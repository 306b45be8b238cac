//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/remote"
)

var (
	replicasFor     = flag.Duration("replicas.for", 0, "how long TestReplicasAreKilled kills; default: a short form")
	replicasClients = flag.Int("replicas.clients", 12, "how many clients it has")
)

// balancer sends each request to one of the replicas.
type balancer struct {
	to http.RoundTripper

	mu       sync.Mutex
	replicas []string
}

func (b *balancer) set(i int, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[i] = url
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	to, err := url.Parse(b.replicas[rand.IntN(len(b.replicas))])
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.URL.Host = to.Host
	return b.to.RoundTrip(again)
}

// TestReplicasAreKilled: three processes serve one database, and are killed one after the other while many clients commit
// through all of them. Each commit that was acknowledged is found, once, and no other.
func TestReplicasAreKilled(t *testing.T) {
	server := pgtest.Launch(t)
	var replicas [3]*serving
	all := &balancer{to: &http.Transport{MaxIdleConnsPerHost: 64}, replicas: make([]string, len(replicas))}
	for i := range replicas {
		replicas[i] = newServing(t, server.URL("postgres"), "--connections", "8")
		all.set(i, replicas[i].url)
	}
	token := replicas[0].token("--name", "ci", "--role", "deployer")
	var acknowledged, kills atomic.Int64
	committed := make(chan struct{})       // what is committed while somebody waits for it
	var deadline atomic.Pointer[time.Time] // from when all are at work
	least := int64(6)                      // kills
	done, begun := make(chan struct{}), make(chan struct{}, *replicasClients)
	var clients sync.WaitGroup
	for n := range *replicasClients {
		clients.Go(func() {
			count, err := client(t.Context(), all, token, n, func(count int) {
				if count == 1 {
					begun <- struct{}{}
				}
				select {
				case committed <- struct{}{}:
				default:
				}
			}, func() bool {
				end := deadline.Load()
				wanted := *replicasFor > 0 && (end == nil || time.Now().Before(*end)) || *replicasFor == 0 && kills.Load() < least
				return wanted && !t.Failed() // one that fails ends all: nothing is killed any more
			})
			acknowledged.Add(int64(count))
			if err != nil {
				t.Errorf("client %d after %d commits: %v", n, count, err)
			}
		})
	}
	go func() {
		clients.Wait()
		close(done)
	}()
	for range *replicasClients { // all are at work: who has never met a service gives up sooner
		select {
		case <-begun:
		case <-done:
		}
	}
	deadline.Store(new(time.Now().Add(*replicasFor)))
	// Between two kills there is a commit for each client: what kills faster than anybody is answered shows only that a client gives up
	// after its minute.
	for i, since := 0, 0; ; i, since = i+1, 0 {
		for over := false; since < *replicasClients && !over; since++ {
			select {
			case <-committed:
			case <-done:
				over = true
			}
		}
		select {
		case <-done:
			t.Logf("%d commits were acknowledged, %d replicas were killed", acknowledged.Load(), kills.Load())
			if kills.Load() < least || acknowledged.Load() < 10*int64(*replicasClients) {
				t.Errorf("too little happened")
			}
			return
		default:
		}
		if t.Failed() {
			<-done
			return
		}
		r := replicas[i%len(replicas)]
		r.process.signal(syscall.SIGKILL)
		<-r.process.ended
		kills.Add(1)
		r.begin("127.0.0.1:0")
		all.set(i%len(replicas), r.url)
	}
}

// client commits to a stage of its own as long as it shall, run after run, and compares what it finds with what was
// acknowledged. Each commit is told with its number.
func client(ctx context.Context, all *balancer, token string, n int, told func(int), more func() bool) (int, error) {
	store, err := remote.Open("http://127.0.0.1:1", func(string) (string, error) { return token, nil },
		remote.WithTransport(all), remote.WithPatience(time.Minute))
	if err != nil {
		return 0, err
	}
	defer store.Close()
	stage := statestore.Stage{Stack: "shop", Name: fmt.Sprint(n)}
	count, events := 0, 0
	for run := 0; run == 0 || more(); run++ {
		id := fmt.Sprintf("r%d", run)
		journal, err := statestore.Begin(ctx, store, stage, statestore.Claim{Run: id, TTL: 2 * time.Minute})
		if err != nil {
			return count, fmt.Errorf("begin %s: %w", id, err)
		}
		defer journal.Close()
		for i := 0; i < 10 || i < 200 && more(); i++ {
			journal.Emit([]byte("e"))
			address := fmt.Sprint(count % 7)
			change := statestore.Change{Put: []statestore.Row{{Address: address, Version: uint64(count / 7), Birth: address, Generations: []statestore.Generation{
				{Number: 1, State: statestore.Live, Kind: "k", Place: statestore.Place{Provider: "p"}, Identity: address},
			}}}}
			if err := journal.Commit(ctx, change); err != nil {
				return count, fmt.Errorf("commit in %s: %w", id, err)
			}
			count, events = count+1, i+1
			told(count)
		}
		if err := journal.Finish(ctx, statestore.Succeeded, nil); err != nil {
			return count, fmt.Errorf("finish %s: %w", id, err)
		}
		found, err := store.Events(ctx, stage, id, 0, 0)
		if err != nil || len(found) != events {
			return count, fmt.Errorf("run %s has %d events of %d: %w", id, len(found), events, err)
		}
	}
	snap, err := store.Load(ctx, stage)
	if err != nil {
		return count, err
	}
	sum := uint64(0)
	for _, row := range snap.Rows {
		sum += row.Version
	}
	if sum != uint64(count) || snap.Serial != sum || snap.LastRun == nil || snap.LastRun.State != statestore.Succeeded {
		return count, fmt.Errorf("%d commits were acknowledged, %d are found, serial %d, last run %+v", count, sum, snap.Serial, snap.LastRun)
	}
	return count, nil
}
