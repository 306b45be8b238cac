package service_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// receiver is an address that takes deliveries, unless it is told to answer something else.
type receiver struct {
	*testing.T
	url    string
	answer atomic.Int64

	mu     sync.Mutex
	bodies []string
	ids    []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{T: t}
	r.answer.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		stamp, signature, _ := strings.Cut(strings.TrimPrefix(req.Header.Get("Athanor-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte("hush"))
		mac.Write([]byte(stamp + "." + string(body)))
		if hex.EncodeToString(mac.Sum(nil)) != signature || req.URL.Path != "/hook" {
			t.Errorf("%s: %q is signed %q", req.URL, body, req.Header.Get("Athanor-Signature"))
		}
		if code := int(r.answer.Load()); code != http.StatusOK {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies, r.ids = append(r.bodies, string(body)), append(r.ids, req.Header.Get("Athanor-Delivery"))
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

// took are the actions that were delivered since it was asked last.
func (r *receiver) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var actions []string
	for _, body := range r.bodies {
		var e wire.AuditEntry
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			r.Error(err)
		}
		actions = append(actions, e.Action)
	}
	r.bodies = nil
	return strings.Join(actions, " ")
}

// TestWebhooks: what the audit log gets is told in order, by one replica, signed, and again until it is taken.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	all, slack := newReceiver(t), newReceiver(t)
	var later atomic.Int64
	settings := func(set *service.Settings) {
		set.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		set.Webhooks = []service.Webhook{
			{URL: all.url, Secret: "hush", Private: true},
			{URL: slack.url, Secret: "hush", On: "shop/prod", Actions: []string{"run.complete"}, Format: "slack", Private: true},
		}
	}
	s := serve(t, settings)
	client := s.client() // before the hooks are there
	deliver := func(fails bool) {
		t.Helper()
		if err := s.service.Deliver(t.Context()); (err != nil) != fails {
			t.Errorf("deliver: %v", err)
		}
	}
	deliver(false)
	if got := all.took(); got != "" {
		t.Errorf("what happened before was told: %s", got)
	}
	run := func(stack, id string) {
		t.Helper()
		lease, err := client.Acquire(t.Context(), statestore.Stage{Stack: stack, Name: "prod"}, statestore.Claim{Run: id, Command: "deploy <b>&"})
		if err == nil {
			_, err = client.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run("shop", "r1")
	run("other", "r2")
	set := service.Settings{Log: func(string, string, error) {}}
	settings(&set)
	second := service.New(t.Context(), s.store, set)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { deliver(false) })
		group.Go(func() {
			if err := second.Deliver(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	deliver(false)
	if got := all.took(); got != "run.start run.complete run.start run.complete" {
		t.Errorf("told: %s", got)
	}
	seen := map[string]bool{}
	for _, id := range all.ids {
		if seen[id] {
			t.Errorf("%s was told twice", id)
		}
		seen[id] = true
	}
	if len(slack.bodies) != 1 || !strings.Contains(slack.bodies[0], "run.complete · shop/prod · r1") || strings.Contains(slack.bodies[0], "<") {
		t.Errorf("slack: %q", slack.bodies)
	}

	// What is not taken comes again, later each time, and in order.
	for _, code := range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNotFound} {
		all.answer.Store(int64(code))
		run("shop", fmt.Sprint("c", code))
		later.Add(int64(2 * time.Hour))
		deliver(true)
		deliver(false) // not yet again
	}
	all.answer.Store(http.StatusOK)
	later.Add(int64(2 * time.Hour))
	deliver(false)
	if got := all.took(); got != strings.TrimSpace(strings.Repeat("run.start run.complete ", 3)) {
		t.Errorf("told in the end: %s", got)
	}

	// What is not taken for a day is left out, and the next one is told.
	all.answer.Store(http.StatusGone)
	run("shop", "r8")
	deliver(true)
	later.Add(int64(25 * time.Hour))
	deliver(true)
	all.answer.Store(http.StatusOK)
	later.Add(int64(2 * time.Hour))
	deliver(false)
	if got := all.took(); got != "run.complete" {
		t.Errorf("after a day: %s", got)
	}
}

// TestWebhookAddresses: a webhook reaches no private network unless that is permitted, and nothing but https elsewhere.
func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	s := serve(t, func(set *service.Settings) { set.Webhooks = []service.Webhook{{URL: r.url, Secret: "hush"}} })
	if err := s.service.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.client()
	if err := s.service.Deliver(t.Context()); err == nil || !strings.Contains(err.Error(), "private network") || strings.Contains(err.Error(), "/hook") {
		t.Errorf("to the loopback: %v", err)
	}
	for name, c := range map[string]struct {
		hook service.Webhook
		fits bool
	}{
		"good":             {service.Webhook{URL: "https://hooks.example/x", Secret: "s"}, true},
		"no secret":        {service.Webhook{URL: "https://hooks.example/x"}, false},
		"plain http":       {service.Webhook{URL: "http://hooks.example/x", Secret: "s"}, false},
		"a password":       {service.Webhook{URL: "https://a:b@hooks.example/x", Secret: "s"}, false},
		"an unknown form":  {service.Webhook{URL: "https://hooks.example/x", Secret: "s", Format: "teams"}, false},
		"a broken pattern": {service.Webhook{URL: "https://hooks.example/x", Secret: "s", On: "shop"}, false},
		"another pattern":  {service.Webhook{URL: "https://hooks.example/x", Secret: "s", On: "shop/[a-c]*"}, false},
		"an action":        {service.Webhook{URL: "https://hooks.example/x", Secret: "s", On: "*/prod", Actions: []string{"run.orphaned"}}, true},
		"no action":        {service.Webhook{URL: "https://hooks.example/x", Secret: "s", Actions: []string{"run.ended"}}, false},
	} {
		if err := c.hook.Check(); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
