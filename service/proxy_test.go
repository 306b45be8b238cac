package service_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/statestore/storetest"
)

// spiteful is a proxy that cuts, repeats and reorders requests.
type spiteful struct {
	to http.Handler

	mu     sync.Mutex
	random *rand.Rand
	old    []*http.Request // copies that come late

	cutBefore, cutAfter, repeated, late atomic.Int64
}

func newSpiteful(to http.Handler, seed uint64) *spiteful {
	return &spiteful{to: to, random: rand.New(rand.NewPCG(seed, 1))}
}

// dice is a number below n.
func (p *spiteful) dice(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

// remember keeps a copy of a request, and returns one of another that is to come again now, or nil.
func (p *spiteful) remember(r *http.Request) *http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.old) < 30 {
		p.old = append(p.old, r)
		return nil
	}
	at := p.random.IntN(len(p.old))
	again := p.old[at]
	p.old[at] = r
	return again
}

// send passes a request on and takes the answer.
func (p *spiteful) send(r *http.Request, body []byte) *httptest.ResponseRecorder {
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.to.ServeHTTP(answer, again)
	return answer
}

func (p *spiteful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodPost && p.dice(4) == 0 {
		kept := r.Clone(context.WithoutCancel(r.Context()))
		kept.Body = io.NopCloser(bytes.NewReader(body))
		if again := p.remember(kept); again != nil {
			p.late.Add(1)
			p.to.ServeHTTP(httptest.NewRecorder(), again)
		}
	}
	if p.dice(8) == 0 {
		p.cutBefore.Add(1)
		panic(http.ErrAbortHandler)
	}
	answer := p.send(r, body)
	if p.dice(6) == 0 {
		p.repeated.Add(1)
		var group sync.WaitGroup
		group.Go(func() { p.send(r, body) })
		answer = p.send(r, body)
		group.Wait()
	}
	maps.Copy(w.Header(), answer.Header())
	text := answer.Body.Bytes()
	if p.dice(8) == 0 {
		p.cutAfter.Add(1)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(text[:len(text)/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(text)
}

// between counts what proxies have done.
func between(t *testing.T) func(http.Handler) http.Handler {
	var mu sync.Mutex
	var all []*spiteful
	t.Cleanup(func() {
		var n [4]int64
		for _, p := range all {
			n[0], n[1], n[2], n[3] = n[0]+p.cutBefore.Load(), n[1]+p.cutAfter.Load(), n[2]+p.repeated.Load(), n[3]+p.late.Load()
		}
		for i, what := range []string{"was cut before", "was cut after", "was repeated", "came late"} {
			if n[i] == 0 && whole() { // a few cases make too few requests
				t.Errorf("no request %s", what)
			}
		}
		t.Logf("%d cut before, %d after, %d repeated, %d late", n[0], n[1], n[2], n[3])
	})
	return func(to http.Handler) http.Handler {
		mu.Lock()
		defer mu.Unlock()
		p := newSpiteful(to, uint64(len(all)))
		all = append(all, p)
		return p
	}
}

// TestStoreThroughAProxy: a client passes what every store passes, also when its requests are cut, repeated and reordered,
// in front of a file, every third case of each group, and every night all; in front of a database with -long.
func TestStoreThroughAProxy(t *testing.T) {
	t.Parallel()
	proxy := between(t)
	lossy := func(of func(t *testing.T) storetest.Subject) func(t *testing.T) storetest.Subject {
		return func(t *testing.T) storetest.Subject {
			s := of(t)
			s.LosesAnswers = true
			return s
		}
	}
	t.Run("bolt", func(t *testing.T) { storetest.RunSample(t, lossy(overBolt(proxy))) })
	if *long {
		t.Run("postgres", func(t *testing.T) { storetest.Run(t, lossy(overPostgres(proxy))) })
	}
}
