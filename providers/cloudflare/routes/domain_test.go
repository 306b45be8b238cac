package routes

import (
	"errors"
	"net/http"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const hostnames = "/accounts/ACCOUNT/workers/domains"

// domainObjects are the domains of the account, without what differs between two makings.
func domainObjects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	all, _ := s.Do(t, http.MethodGet, hostnames, nil).([]any)
	for _, d := range all {
		out = append(out, obj{"hostname": d.(obj)["hostname"], "zone": d.(obj)["zone_name"], "script": d.(obj)["service"]})
	}
	return out
}

func TestDomain(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	kindtest.Run(t, kindtest.Suite{
		Kind:  domainKind.Erase(),
		World: ws.Make(prepare, domainObjects),
		Base:  obj{"hostname": "www.shop.example", "script": "shop"},
		Fault: cloudflaretest.FaultOf("Workers"),
		Variants: []kindtest.Variant{
			{Name: "other", Props: obj{"hostname": "www.other.example", "script": "orders", "zone": "other.example"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"": ws.Deletes(func(to kindtest.Edited) string { return hostnames + "/" + to.Attrs["id"].(string) }),
		},
		Steady: map[tree.Path]string{
			"hostname": "a domain keeps its name for life", "zone": "a name keeps its zone for life",
			"script": "whoever gives the name to another Worker makes another domain; TestTakenDomain tells of it",
		},
	})
}

// TestTakenDomain: a name that leads to somebody else's Worker, or that has records, is refused at once.
func TestTakenDomain(t *testing.T) {
	s, kind := cloudflaretest.Start(t), domainKind.Erase()
	zone := s.AddZone(s.Account, "shop.example")
	s.AddScript("shop")
	s.AddScript("theirs")
	s.Do(t, http.MethodPut, hostnames, obj{"hostname": "www.shop.example", "service": "theirs"})
	_, err := kind.Settle(t.Context(), s.Job(t, kind, obj{"hostname": "www.shop.example", "script": "shop"}, nil), reconcile.Hooks{})
	if !errors.Is(err, errElsewhere) || len(reconcile.Hints(err)) == 0 || s.Count("Workers.PutDomain") != 1 {
		t.Errorf("another Worker's: %v after %d calls", err, s.Count("Workers.PutDomain"))
	}
	s.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", obj{"type": "A", "name": "a.shop.example", "content": "192.0.2.1", "ttl": 1})
	s.Reset()
	_, err = kind.Settle(t.Context(), s.Job(t, kind, obj{"hostname": "a.shop.example", "script": "shop"}, nil), reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || !refused.Has(100117) || s.Count("Workers.PutDomain") != 1 {
		t.Errorf("with records: %v after %d calls", err, s.Count("Workers.PutDomain"))
	}
}

// TestNamedDomain takes a domain over by its id or its name, whichever Worker it leads to.
func TestNamedDomain(t *testing.T) {
	s, kind := cloudflaretest.Start(t), domainKind.Erase()
	prepare(t, s)
	id := s.Do(t, http.MethodPut, hostnames, obj{"hostname": "www.shop.example", "service": "orders"}).(obj)["id"].(string)
	for _, by := range []string{id, "www.shop.example"} {
		job := s.Job(t, kind, obj{"hostname": "www.shop.example", "script": "shop"}, nil)
		job.ID = by
		look, err := kind.Look(t.Context(), job)
		if err != nil || look.Identity != id || len(look.Steps) != 1 || look.Steps[0].Path != "script" || !look.Steps[0].Replaces {
			t.Errorf("%s: %+v, %v", by, look, err)
		}
	}
}
