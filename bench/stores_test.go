package bench_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/bench/opentofu"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// traffic counts what passes a listener, from the clients' side, with everything that the network's protocol adds.
type traffic struct {
	sent, received atomic.Int64 // bytes
	writes         atomic.Int64 // requests that write a state of OpenTofu
}

func (c *traffic) reset() { c.sent.Store(0); c.received.Store(0); c.writes.Store(0) }

// listen opens a counting listener on the loopback.
func (c *traffic) listen(b *testing.B) net.Listener {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return countedListener{l, c}
}

type countedListener struct {
	net.Listener
	count *traffic
}

func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, l.count}, nil
}

type countedConn struct {
	net.Conn
	count *traffic
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.count.sent.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.count.received.Add(int64(n))
	return n, err
}

// serve answers HTTP at a counting listener, and returns its origin.
func (c *traffic) serve(b *testing.B, handler http.Handler) string {
	b.Helper()
	server := &httptest.Server{Listener: c.listen(b), Config: &http.Server{Handler: handler}}
	server.Start()
	b.Cleanup(server.Close)
	return server.URL
}

// passHTTP passes requests on to an origin as they are, and returns the origin that clients then use. The host that they name
// stays, since they have signed it.
func (c *traffic) passHTTP(b *testing.B, origin string) string {
	b.Helper()
	to, err := url.Parse(origin)
	if err != nil {
		b.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	return c.serve(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, tofuKey) {
			c.writes.Add(1)
		}
		pass.ServeHTTP(w, r)
	}))
}

// passSocket passes connections on to a socket of PostgreSQL, and returns the address that clients then use.
func (c *traffic) passSocket(b *testing.B, socket string) string {
	b.Helper()
	l := c.listen(b)
	var open sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	b.Cleanup(func() { stop(); l.Close(); open.Wait() })
	open.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { splice(ctx, from, socket) })
		}
	})
	return l.Addr().String()
}

// splice copies both ways until either side or the context ends.
func splice(ctx context.Context, from net.Conn, socket string) {
	to, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		from.Close()
		return
	}
	end := func() { from.Close(); to.Close() }
	defer context.AfterFunc(ctx, end)()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(to, from); end() })
	both.Go(func() { _, _ = io.Copy(from, to); end() })
	both.Wait()
}

// place is one store to be measured: where clients find it, what passed on the way, and how large it is.
type place struct {
	traffic

	url  string
	env  []string // what a process needs to use it
	open func() (statestore.Store, error)
	size func() int64
}

// places are the stores of athanor, each new and empty.
func places() map[string]func(b *testing.B) *place {
	return map[string]func(b *testing.B) *place{"file": inFile, "postgres": inPostgres, "s3": inBucket, "service": inService}
}

var placeOrder = []string{"file", "postgres", "s3", "service"}

func inFile(b *testing.B) *place {
	path := filepath.Join(b.TempDir(), "state.db")
	return &place{
		url: "bolt:" + path, open: func() (statestore.Store, error) { return bolt.Open(path) },
		size: func() int64 { return sizeBelow(b, path) },
	}
}

func inPostgres(b *testing.B) *place {
	p := &place{}
	direct := pgtest.Start(b).Schema(b)
	u, err := url.Parse(direct)
	if err != nil {
		b.Fatal(err)
	}
	query := u.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	query.Del("host")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = p.passSocket(b, socket), query.Encode()
	p.url = u.String()
	p.open = func() (statestore.Store, error) { return postgres.Open(p.url) }
	p.size = func() int64 { return schemaSize(b, direct, query.Get("schema")) }
	return p
}

// schemaSize is what the tables and indexes of a schema take.
func schemaSize(b *testing.B, database, schema string) (size int64) {
	b.Helper()
	conn := pgtest.Connect(b, database)
	defer conn.Close(context.Background())
	err := conn.QueryRow(b.Context(), `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
		join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`, schema).Scan(&size)
	if err != nil {
		b.Fatal(err)
	}
	return size
}

func inBucket(b *testing.B) *place {
	p := &place{}
	server := s3test.Start(b, s3test.Versitygw)
	p.url = strings.ReplaceAll(server.URL(b, "infra"), server.Origin, p.passHTTP(b, server.Origin))
	p.env = server.Environment()
	p.open = func() (statestore.Store, error) { return s3.Open(p.url, server.Config) }
	p.size = func() int64 { return sizeBelow(b, server.Dir()) }
	return p
}

// inService is a service in front of PostgreSQL.
func inService(b *testing.B) *place {
	p := &place{}
	direct := pgtest.Start(b).Schema(b)
	u, err := url.Parse(direct)
	if err != nil {
		b.Fatal(err)
	}
	store, err := postgres.Open(direct)
	if err != nil {
		b.Fatal(err)
	}
	token, err := service.NewTokens(store, time.Now).Create(b.Context(), wire.Author{Account: "bench"}, "bench", []wire.Grant{{Role: "admin", On: "*/*"}}, 0)
	if err != nil {
		b.Fatal(err)
	}
	s := service.New(b.Context(), store, service.Settings{Version: "bench", Rate: 1e6, Burst: 1e6})
	b.Cleanup(func() { s.Stop(); store.Close() })
	p.url = p.serve(b, s)
	p.env = []string{"ATHANOR_STORE=" + p.url, "ATHANOR_TOKEN=" + token.Secret}
	p.open = func() (statestore.Store, error) {
		return remote.Open(p.url, func(string) (string, error) { return token.Secret, nil })
	}
	p.size = func() int64 { return schemaSize(b, direct, u.Query().Get("schema")) }
	return p
}

// sizeBelow is the length of a file, or of all files below a folder.
func sizeBelow(b *testing.B, path string) (size int64) {
	b.Helper()
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// sealedRow is a row like that of a small resource: what is sealed cannot be compressed.
func sealedRow(i int) statestore.Row {
	body := make([]byte, 600)
	_, _ = rand.Read(body) // it never fails
	return statestore.Row{Address: fmt.Sprintf("net/row-%05d", i), Body: body[:400], Generations: []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: "local.Value", Identity: fmt.Sprintf("id-%d", i), Body: body[400:],
	}}}
}

// BenchmarkStoreCommit writes a stage of a store: one row after the other, each durable before the next, and by sixteen at
// once, whose changes share commits.
func BenchmarkStoreCommit(b *testing.B) {
	for _, name := range placeOrder {
		for _, atOnce := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, atOnce), func(b *testing.B) { benchmarkCommits(b, places()[name](b), atOnce) })
		}
	}
}

// commitRounds is how many changes each of those at once makes, whatever -benchtime is.
const commitRounds = 200

func benchmarkCommits(b *testing.B, p *place, atOnce int) {
	store, err := p.open()
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	at := statestore.Stage{Stack: "bench", Name: stageName}
	j, err := statestore.Begin(b.Context(), store, at, statestore.Claim{Run: "r", Command: "deploy"})
	if err != nil {
		b.Fatal(err)
	}
	rounds := sized(commitRounds)
	p.reset()
	began := time.Now()
	for b.Loop() {
		var all sync.WaitGroup
		for who := range atOnce {
			all.Go(func() {
				for i := range rounds {
					if err := j.Commit(b.Context(), statestore.Change{Put: []statestore.Row{sealedRow(who*rounds + i)}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	took, changes := time.Since(began), float64(b.N*rounds*atOnce)
	sent, received := p.sent.Load(), p.received.Load()
	if err := j.Finish(b.Context(), statestore.Succeeded, nil); err != nil {
		b.Fatal(err)
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	snap, err := store.Load(b.Context(), at)
	if err != nil || len(snap.Rows) != rounds*atOnce {
		b.Fatalf("%d rows of %d, %v", len(snap.Rows), rounds*atOnce, err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(changes/took.Seconds(), "changes/s")
	if sent > 0 {
		b.ReportMetric(float64(sent)/changes, "sent-B/change")
		b.ReportMetric(float64(received)/changes, "received-B/change")
	}
}

// BenchmarkStore is a first deploy and one change as whole processes, with the state in each store, and the same of OpenTofu with
// its backends, which write the whole state.
func BenchmarkStore(b *testing.B) {
	n := sized(1000)
	for _, name := range placeOrder {
		b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
			p := places()[name](b)
			s, err := bench.New(built(b), b.TempDir(), opentofu.Flat, n)
			if err != nil {
				b.Fatal(err)
			}
			s.Store, s.Env = p.url, p.env
			benchmarkStore(b, p, &stage{subject: ours{s}, n: n})
		})
	}
	bin, err := opentofu.Find("..")
	if err != nil {
		b.Log("no backends of OpenTofu: ", err)
		return
	}
	for _, backend := range []struct {
		name string
		make func(b *testing.B) (*place, opentofu.Backend)
	}{{"tofu-http", tofuHTTP}, {"tofu-s3", tofuS3}} {
		b.Run(fmt.Sprintf("%s/%d", backend.name, n), func(b *testing.B) {
			p, at := backend.make(b)
			s, err := opentofu.NewAt(b.Context(), bin, b.TempDir(), opentofu.Flat, n, at)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkStore(b, p, &stage{subject: theirs{s, opentofu.Flat, n}, n: n})
		})
	}
}

// storeRounds is how often each store is measured, whatever -benchtime is.
const storeRounds = 3

func benchmarkStore(b *testing.B, p *place, s *stage) {
	phases := phases()
	first, one := phases[0], phases[3]
	var series [2]struct{ ms, writes, sent, received []float64 }
	var stored float64
	for b.Loop() {
		for range storeRounds {
			for i, ph := range []phase{first, one} {
				if err := s.prepare(b.Context(), ph); err != nil {
					b.Fatal(err)
				}
				p.reset()
				r, err := s.run(b.Context(), ph)
				if err != nil {
					b.Fatal(err)
				}
				at := &series[i]
				at.ms = append(at.ms, float64(r.Wall.Microseconds())/1000)
				at.writes = append(at.writes, float64(int64(r.Commits)+p.writes.Load()))
				at.sent = append(at.sent, float64(p.sent.Load())/1000)
				at.received = append(at.received, float64(p.received.Load())/1000)
				if i == 0 {
					stored = float64(p.size()) / 1000
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{first.name, one.name} {
		at := series[i]
		b.ReportMetric(medianOf(at.ms), name+"/ms")
		b.ReportMetric(medianOf(at.writes), name+"/commits")
		b.ReportMetric(medianOf(at.sent), name+"/sent-KB")
		b.ReportMetric(medianOf(at.received), name+"/received-KB")
	}
	b.ReportMetric(stored, "stored-KB")
}

// tofuHTTP is the http backend of OpenTofu, with locking, in front of a file that is synced at each write.
func tofuHTTP(b *testing.B) (*place, opentofu.Backend) {
	p := &place{}
	path := filepath.Join(b.TempDir(), "state")
	var mu sync.Mutex
	origin := p.serve(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodGet:
			http.ServeFile(w, r, path)
		case http.MethodPost:
			p.writes.Add(1)
			if err := writeSynced(path, r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}))
	p.size = func() int64 { return sizeBelow(b, path) }
	quoted := fmt.Sprintf("%q", origin)
	return p, opentofu.Backend{Type: "http", Settings: map[string]string{"address": quoted, "lock_address": quoted, "unlock_address": quoted}}
}

// writeSynced replaces a file as a server of states has to: whole, and on the disk before it answers.
func writeSynced(path string, from io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(path), "state-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// tofuKey is the object that the s3 backend of OpenTofu writes.
const tofuKey = "/bench.tfstate"

// tofuS3 is the s3 backend of OpenTofu with its lock file, on the same server as the store of athanor.
func tofuS3(b *testing.B) (*place, opentofu.Backend) {
	p := &place{}
	server := s3test.Start(b, s3test.Versitygw)
	u, err := url.Parse(server.URL(b, "tofu"))
	if err != nil {
		b.Fatal(err)
	}
	p.size = func() int64 { return sizeBelow(b, server.Dir()) }
	return p, opentofu.Backend{Type: "s3", Env: server.Environment(), Settings: map[string]string{
		"bucket": fmt.Sprintf("%q", u.Host), "key": fmt.Sprintf("%q", strings.TrimPrefix(tofuKey, "/")),
		"region": fmt.Sprintf("%q", u.Query().Get("region")), "endpoints": fmt.Sprintf("{ s3 = %q }", p.passHTTP(b, server.Origin)),
		"use_path_style": "true", "use_lockfile": "true", "skip_credentials_validation": "true", "skip_requesting_account_id": "true",
		"skip_metadata_api_check": "true", "skip_region_validation": "true", "skip_s3_checksum": "true",
	}}
}

// medianOf is the middle one of an odd number of values.
func medianOf(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }
