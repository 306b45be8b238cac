package cloudflare_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/dns"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/rulesets"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestPagesEnd: a server that answers every page alike, or the same pages in turns, ends a listing with an error. Before, the
// client asked for further pages without end.
func TestPagesEnd(t *testing.T) {
	account := strings.Repeat("a", 32)
	for _, turns := range []int{1, 3} {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n := int(calls.Add(1))
			if n > 20 {
				t.Errorf("%d pages in turns: call %d", turns, n)
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"success":true,"errors":[],"messages":[],"result":[{"id":"%032d","name":"Example"}],`+
				`"result_info":{"page":1,"per_page":1,"count":1,"total_count":1}}`, n%turns)
		}))
		cloud := cloudflare.FromToken(server.URL, "token", account)
		_, err := cloud.Place(t.Context())
		server.Close()
		if err == nil || !strings.Contains(err.Error(), "came before") || int(calls.Load()) != turns+1 {
			t.Errorf("%d pages in turns: %v after %d calls", turns, err, calls.Load())
		}
		if cloud.Classify(err).Retries() {
			t.Errorf("%d pages in turns: it is asked for again: %v", turns, err)
		}
	}
}

// TestListingsEnd: every kind that lists pages ends before a server that does not know of pages.
func TestListingsEnd(t *testing.T) {
	s := cloudflaretest.Start(t)
	var zone string
	for n := range 7 {
		name := fmt.Sprintf("many-%d", n)
		s.AddNamespace(fmt.Sprintf("%032d", n), name)
		s.AddQueue(fmt.Sprintf("%032d", n), name)
		s.AddDatabase(fmt.Sprintf("00000000-0000-4000-8000-%012d", n), name)
		s.Do(t, "POST", "/accounts/ACCOUNT/r2/buckets", map[string]any{"name": name})
		zone = s.AddZone(s.Account, name+".example")
	}
	for n := range 7 {
		s.Do(t, "POST", "/zones/"+zone+"/dns_records", map[string]any{"type": "TXT", "name": "many-6.example", "content": fmt.Sprint(n), "ttl": 1})
	}
	for _, phase := range []string{"http_request_dynamic_redirect", "http_request_transform", "http_request_origin"} {
		s.Do(t, "POST", "/zones/"+zone+"/rulesets", map[string]any{"name": "default", "kind": "zone", "phase": phase, "rules": []any{}})
	}
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	pageless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 300 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		query := r.URL.Query()
		for _, name := range []string{"page", "cursor", "start_after"} {
			query.Del(name)
		}
		if query.Has("per_page") && r.URL.Path != "/accounts" && r.URL.Path != "/zones" {
			query.Set("per_page", "5")
		}
		r.URL.RawQuery = query.Encode()
		proxy := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
		proxy.ServeHTTP(w, r)
	}))
	defer pageless.Close()
	for _, service := range []cloudflare.Service{
		kv.Service(), queues.Service(), d1.Service(), r2.Service(), dns.Service(), rulesets.Service(), zones.Service(),
	} {
		for _, kind := range service.Kinds {
			spec := kind.Spec()
			if !spec.Lists {
				continue
			}
			calls.Store(0)
			cloud := cloudflare.FromToken(pageless.URL, s.Token, s.Account)
			place, err := cloud.Place(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found, err := kind.List(t.Context(), reconcile.Scope{Cloud: cloud, Place: place})
			if calls.Load() > 100 || err != nil && !strings.Contains(err.Error(), "came before") {
				t.Errorf("%s: %d calls, %d found, %v", spec.Type, calls.Load(), len(found), err)
			}
		}
	}
}
