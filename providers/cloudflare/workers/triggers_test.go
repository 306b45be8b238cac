package workers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestTaken: what another Worker has is not taken from it, and nothing else of the declaration is lost.
func TestTaken(t *testing.T) {
	t.Parallel()
	l := begin(t)
	zone := zoneID(t, l.Server, "shop.example", "")
	l.Do(t, http.MethodPut, account+"/workers/domains", obj{"hostname": "www.shop.example", "service": "auth", "zone_id": zone})
	l.Do(t, http.MethodPost, "/zones/"+zone+"/workers/routes", obj{"pattern": "shop.example/*", "script": "auth"})
	l.Do(t, http.MethodPost, "/zones/"+zone+"/workers/routes", obj{"pattern": "shop.example/static/*"})
	l.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", obj{"type": "A", "name": "old.shop.example", "content": "192.0.2.1", "ttl": 1})
	for want, props := range map[string]obj{
		"Hostname 'old.shop.example' already has externally managed DNS records": {"domains": list{"old.shop.example"}},
		"domain www.shop.example belongs to the Worker auth":                     {"domains": list{"www.shop.example"}},
		"route shop.example/* belongs to the Worker auth":                        {"routes": obj{"shop.example/*": obj{}}},
		"route shop.example/static/* is kept from Workers by somebody":           {"routes": obj{"shop.example/static/*": obj{"zone": "shop.example"}}},
		"route other.example/*: absent":                                          {"routes": obj{"other.example/*": obj{}}},
	} {
		err := l.try(with(plain(), props))
		if !strings.Contains(fmt.Sprint(err), want) && !errors.Is(err, reconcile.ErrAbsent) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if d := l.Do(t, http.MethodGet, account+"/workers/domains?service=auth", nil).([]any); len(d) != 1 {
		t.Errorf("auth has the domains %v", d)
	}
	if l.Server.Do(t, http.MethodGet, "/zones/"+zone+"/workers/routes", nil).([]any)[0].(obj)["script"] != "auth" {
		t.Error("auth has lost its route")
	}
}

// TestReplaced: a Worker under another name takes over what leads to the one before, which then goes without harm.
func TestReplaced(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{"domains": list{"www.shop.example"}, "routes": obj{"shop.example/*": obj{}}})
	l.to(props)
	before := l.out
	l.out, l.edits = nil, func(job *reconcile.Job) { job.Mark.Generation = 2 }
	l.to(with(props, obj{"name": "next"}))
	l.out, before = before, l.out
	l.edits = nil
	if err := l.kind.Delete(t.Context(), l.job(nil)); err != nil {
		t.Fatal(err)
	}
	l.out, l.edits = before, func(job *reconcile.Job) { job.Mark.Generation = 2 }
	l.wrote("after the old one is gone", l.to(with(props, obj{"name": "next"})))
}

// TestDelete: nothing leads to a deleted Worker, also where the program has said nothing of it for long.
func TestDelete(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(with(plain(), obj{"domains": list{"www.shop.example"}, "routes": obj{"cdn.shop.example/*": obj{}}}))
	if err := l.kind.Delete(t.Context(), l.job(nil)); err != nil {
		t.Fatal(err)
	}
	zone := zoneID(t, l.Server, "cdn.shop.example", "")
	hosts, routes := l.Do(t, http.MethodGet, account+"/workers/domains", nil).([]any), l.Do(t, http.MethodGet, "/zones/"+zone+"/workers/routes", nil).([]any)
	if len(hosts)+len(routes)+len(mine(t, l.Server)) != 0 {
		t.Errorf("left: %v %v %v", hosts, routes, mine(t, l.Server))
	}
}
