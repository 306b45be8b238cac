package postgres

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

var clientsFor = flag.Duration("clients.for", 3*time.Second, "how long BenchmarkClients keeps its clients at work")

// client is one of many, with connections and a stage of its own.
type client struct {
	store   *Store
	stage   statestore.Stage
	journal *statestore.Journal
	commits int
}

// clients begin a run each. Their leases are short, so that they renew often.
func clients(tb testing.TB, url string, n int) []*client {
	tb.Helper()
	all := make([]*client, n)
	var group sync.WaitGroup
	for i := range all {
		c := &client{store: opened(tb, url), stage: statestore.Stage{Stack: "shop", Name: strconv.Itoa(i)}}
		all[i] = c
		group.Go(func() {
			j, err := statestore.Begin(tb.Context(), c.store, c.stage, statestore.Claim{Run: "r", TTL: 15 * time.Second})
			if err != nil {
				tb.Error(err)
				return
			}
			c.journal = j
			tb.Cleanup(func() { j.Close() })
		})
	}
	group.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
	return all
}

// commit writes one of ten rows and an event.
func (c *client) commit(tb testing.TB) {
	c.journal.Emit([]byte("e"))
	row := plainRow(c.commits%10, 0)
	row.Needs = nil
	if err := c.journal.Commit(tb.Context(), statestore.Change{Put: []statestore.Row{row}}); err != nil {
		tb.Errorf("%s: %v", c.stage, err)
	}
	c.commits++
}

// complete fails unless everything that a client was told is written is there, and nothing else.
func (c *client) complete(tb testing.TB) {
	if err := c.journal.Finish(tb.Context(), statestore.Succeeded, nil); err != nil {
		tb.Errorf("%s: %v", c.stage, err)
	}
	snap, err := c.store.Load(tb.Context(), c.stage)
	if err != nil {
		tb.Error(err)
		return
	}
	sum := uint64(0)
	for _, row := range snap.Rows {
		sum += row.Version
	}
	events, err := c.store.Events(tb.Context(), c.stage, "r", 0, 0)
	if err != nil || sum != uint64(c.commits) || snap.Serial != sum || len(events) != c.commits || snap.LastRun.State != statestore.Succeeded {
		tb.Errorf("%s: %d commits, versions %d, serial %d, %d events, %v", c.stage, c.commits, sum, snap.Serial, len(events), err)
	}
}

// TestClients: many clients on one server, each on its own stage, lose nothing and do not disturb each other.
func TestClients(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for _, c := range clients(t, pgtest.Start(t).Schema(t), 30) {
		group.Go(func() {
			for range 10 {
				c.commit(t)
			}
			c.complete(t)
		})
	}
	group.Wait()
}

// TestThroughAPooler: a pooler in transaction mode, with fewer connections than clients, is no different: nothing is kept in
// a session.
func TestThroughAPooler(t *testing.T) {
	t.Parallel()
	server := pgtest.Launch(t)
	url := server.Pooler(t, server.URL("postgres"), 3)
	var group sync.WaitGroup
	for _, c := range clients(t, url, 12) {
		group.Go(func() {
			for range 10 {
				c.commit(t)
			}
			c.complete(t)
		})
	}
	group.Wait()
	conn := pgtest.Connect(t, server.URL("postgres"))
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()").Scan(&n); err != nil || n == 0 || n > 3 {
		t.Errorf("%d connections to the server, %v: the pooler was not used", n, err)
	}
}

// BenchmarkClients keeps 200 clients committing twice a second, and looks at the memory of client and server when a
// fifth of the time is over and at the end: go test -run '^$' -bench Clients ./statestore/postgres -clients.for=5m
func BenchmarkClients(b *testing.B) {
	const n, pause = 200, 500 * time.Millisecond
	server := pgtest.Launch(b)
	all := clients(b, server.URL("postgres"), n)
	var group sync.WaitGroup
	var slowest atomic.Int64
	begin := time.Now()
	end := begin.Add(*clientsFor)
	for i, c := range all {
		group.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			time.Sleep(pause * time.Duration(i) / n) // spread over the interval
			for time.Now().Before(end) && !b.Failed() {
				before := time.Now()
				c.commit(b)
				took := int64(time.Since(before))
				for old := slowest.Load(); took > old && !slowest.CompareAndSwap(old, took); old = slowest.Load() {
				}
				<-tick.C
			}
		})
	}
	time.Sleep(*clientsFor / 5)
	clientEarly, serverEarly := memory(b, server)
	group.Wait()
	clientLate, serverLate := memory(b, server)
	total := 0
	for _, c := range all {
		total += c.commits
		c.complete(b)
	}
	const mib = 1 << 20
	b.Logf("client %.1f MiB after %v, %.1f MiB after %v; server %.1f MiB, %.1f MiB", clientEarly/mib, *clientsFor/5, clientLate/mib, *clientsFor, serverEarly/mib, serverLate/mib)
	b.ReportMetric(float64(total)/clientsFor.Seconds(), "commits/s")
	b.ReportMetric(float64(slowest.Load())/1e6, "slowest-ms")
	b.ReportMetric(clientLate/clientEarly, "client-growth")
	b.ReportMetric(serverLate/serverEarly, "server-growth")
	b.ReportMetric(0, "ns/op")
}

// memory is what this process keeps after collecting garbage, and what the processes of the server have for themselves,
// in bytes.
func memory(tb testing.TB, server *pgtest.Server) (client, backends float64) {
	tb.Helper()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	conn := pgtest.Connect(tb, server.URL("postgres"))
	defer conn.Close(tb.Context())
	var dir string
	if err := conn.QueryRow(tb.Context(), "show data_directory").Scan(&dir); err != nil {
		tb.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		tb.Fatal(err)
	}
	postmaster, _, _ := strings.Cut(string(file), "\n")
	processes, err := filepath.Glob("/proc/[0-9]*/smaps_rollup")
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range processes {
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		if err != nil || !bytes.Contains(status, []byte("\nPPid:\t"+postmaster+"\n")) {
			continue
		}
		rollup, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if _, rest, found := strings.Cut(string(rollup), "\nPss_Anon:"); found {
			var kib float64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				backends += kib * 1024
			}
		}
	}
	return float64(stats.HeapInuse + stats.StackInuse), backends
}
