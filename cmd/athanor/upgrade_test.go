//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

var olderBinary = flag.String("older", "", "the command of an older version, for TestReplicasAreUpgraded")

// TestReplicasAreUpgraded replaces the replicas of a service one by one, of an older version by this one, and back, while
// clients of both versions deploy through all of them and this version's commit without a pause. What was acknowledged is
// found, and either version goes on with what the other one deployed. Needs an older command: task upgrade.
func TestReplicasAreUpgraded(t *testing.T) {
	if *olderBinary == "" {
		return
	}
	older, newer := *olderBinary, built(t, false)
	server := pgtest.Launch(t)
	var replicas [3]*serving
	all := &balancer{to: &http.Transport{MaxIdleConnsPerHost: 64}, replicas: make([]string, len(replicas))}
	start := func(i int, binary string) {
		if old := replicas[i]; old != nil {
			old.process.signal(syscall.SIGTERM) // its requests end, and its clients go on elsewhere
			all.set(i, replicas[(i+1)%len(replicas)].url)
			old.process.end(0)
		}
		s := &serving{world: newWorld(t, "stack: none\n"), store: server.URL("postgres")}
		s.binary = binary
		s.begin("127.0.0.1:0")
		replicas[i] = s
		all.set(i, s.url)
	}
	for i := range replicas {
		start(i, older)
	}
	token := replicas[0].token("--name", "ci", "--role", "deployer")
	front := httptest.NewServer(&httputil.ReverseProxy{
		Transport: all, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "replica"}) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	defer front.Close()

	var steps, commits, deploys atomic.Int64
	more := func() bool { return steps.Load() < 2*int64(len(replicas)) && !t.Failed() }
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() {
			count, err := client(t.Context(), all, token, n, func(int) {}, more)
			if commits.Add(int64(count)); err != nil {
				t.Errorf("client %d after %d commits: %v", n, count, err)
			}
		})
	}
	seen := map[string]*atomic.Int64{older: {}, newer: {}}
	for name, binaries := range map[string][2]string{"old": {older, older}, "new": {newer, newer}, "mixed": {older, newer}} {
		w := newWorld(t, "")
		w.env = append(w.env, "ATHANOR_STORE="+front.URL, "ATHANOR_TOKEN="+token)
		clients.Go(func() {
			for i := 0; i < 2 || more(); i++ {
				w.binary = binaries[i%2]
				if err := w.deployed(name, i); err != nil {
					t.Error(err)
					return
				}
				deploys.Add(1)
				seen[w.binary].Add(1)
			}
		})
	}
	for _, binary := range []string{newer, older} {
		for i := range replicas {
			had := map[string]int64{older: seen[older].Load(), newer: seen[newer].Load()}
			for limit := time.Now().Add(patience); !t.Failed(); time.Sleep(10 * time.Millisecond) {
				if seen[older].Load() >= had[older]+2 && seen[newer].Load() >= had[newer]+2 {
					break
				}
				if time.Now().After(limit) {
					t.Error("nobody deploys any more")
				}
			}
			start(i, binary)
			steps.Add(1)
		}
	}
	clients.Wait()
	t.Logf("%d commits and %d deploys (%d by the older version) while %d replicas were replaced", commits.Load(), deploys.Load(), seen[older].Load(), steps.Load())
}

// deployed deploys version i of a stack and finds that there is nothing more to do. It is called by a goroutine of its own.
func (w *world) deployed(name string, i int) error {
	stack := fmt.Sprintf("stack: %s\nresources:\n  a: {kind: local.File, props: {path: a.txt, content: \"%d\"}}\n  b: {kind: local.Value, props: {input: %d}}\noutputs: {b: \"${b.output}\"}\n", name, i, rand.IntN(100))
	if err := os.WriteFile(w.dir+"/athanor.yaml", []byte(stack), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"deploy", "--yes"}, {"plan"}, {"output", "b"}, {"history"}, {"state", "check"}} {
		cmd := w.command(args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v of version %d of %s: %w: %s", w.binary, args, i, name, err, out)
		} else if args[0] == "history" && !strings.Contains(string(out), "succeeded") {
			return fmt.Errorf("history of %s: %s", name, out)
		}
	}
	return nil
}
