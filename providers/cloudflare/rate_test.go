package cloudflare_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// inside sends requests to a server without a network, so that the clock of a bubble goes on while somebody waits.
type inside struct{ s *cloudflaretest.Server }

func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RequestURI = r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	t.s.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// TestManyWorkersUnderTheLimit: a stack of 200 Workers makes more calls than the API takes in five minutes. It waits for the next
// windows instead of being refused, and no longer than it must.
func TestManyWorkersUnderTheLimit(t *testing.T) {
	const count = 200
	s := cloudflaretest.Start(t)
	s.Setenv(t)
	// What was started once is not started again: the runtime is no part of the bubble.
	s.Upload(t, "warm", cloudflaretest.Upload{
		Metadata: map[string]any{"main_module": "index.js", "compatibility_date": "2026-01-01"},
		Modules:  []cloudflaretest.Module{{Name: "index.js", Type: "application/javascript+module", Content: []byte(script)}},
	})
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	dir, cache, transport := t.TempDir(), t.TempDir(), http.DefaultTransport
	http.DefaultTransport = inside{s}
	defer func() { http.DefaultTransport = transport }()
	synctest.Test(t, func(t *testing.T) {
		// The clock of a bubble begins in the year 2000, when no Worker's compatibility date has come.
		time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)))
		s.LimitRate(time.Now)
		catalog, err := reconcile.NewCatalog(cloudflare.Provider(workers.Service()))
		if err != nil {
			t.Fatal(err)
		}
		e := &engine.Engine{Catalog: catalog, Store: mem.New(), Key: key, Cache: cache}
		g, err := athanor.Evaluate(func(st *athanor.Stack) error {
			for n := range count {
				workers.NewWorker(st, fmt.Sprintf("w%d", n), workers.WorkerProps{Code: workers.Script(script), CompatibilityDate: "2026-01-01"})
			}
			return nil
		}, athanor.Input{Stack: "shop", Stage: "test", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.Reset()
		p, err := e.Plan(t.Context(), g, engine.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
		if err != nil || r.Summary.Created != count {
			t.Fatalf("%+v, %v, %v", r.Summary, err, r.Failures[0])
		}
		calls, took := s.Count("*"), time.Since(began)
		windows := time.Duration((calls - 1) / 1200)
		t.Logf("%d calls, %d of them throttled, in %s", calls, s.Throttled(), took)
		if windows == 0 || took < windows*5*time.Minute || took > (windows+1)*5*time.Minute {
			t.Errorf("%d calls took %s", calls, took)
		}
		if s.Throttled() > calls/100 {
			t.Errorf("%d of %d calls were throttled", s.Throttled(), calls)
		}
	})
}
