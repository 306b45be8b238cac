package routes

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

// prepare gives a world two zones and two Workers.
func prepare(_ kindtest.T, s *cloudflaretest.Server) {
	s.AddZone(s.Account, "shop.example")
	s.AddZone(s.Account, "other.example")
	s.AddScript("shop")
	s.AddScript("orders")
}

// routeObjects are the routes of all zones, without what differs between two makings.
func routeObjects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	zones, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range zones {
		all, _ := s.Do(t, http.MethodGet, "/zones/"+z.(obj)["id"].(string)+"/workers/routes", nil).([]any)
		for _, r := range all {
			out = append(out, obj{"zone": z.(obj)["name"], "pattern": r.(obj)["pattern"], "script": r.(obj)["script"]})
		}
	}
	return out
}

func TestRoute(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	at := func(to kindtest.Edited) string {
		return "/zones/" + to.Attrs["zoneId"].(string) + "/workers/routes/" + to.Attrs["id"].(string)
	}
	set := func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		body := obj{"pattern": to.Props["pattern"]}
		if to.Props["script"] != nil {
			body["script"] = to.Props["script"]
		}
		ws.Of(w).Do(t, http.MethodPut, at(to), body)
	}
	kindtest.Run(t, kindtest.Suite{
		Kind:  routeKind.Erase(),
		World: ws.Make(prepare, routeObjects),
		Base:  obj{"zone": "shop.example", "pattern": "shop.example/api/*", "script": "shop"},
		Fault: cloudflaretest.FaultOf("Workers"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"zone": "shop.example", "pattern": "*.shop.example/*", "script": "orders"}},
			{Name: "none", Props: obj{"zone": "shop.example", "pattern": "shop.example/static/*"}},
			{Name: "elsewhere", Props: obj{"zone": "other.example", "pattern": "other.example/*", "script": "shop"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"pattern": set, "script": set,
			"": ws.Deletes(at),
		},
		Others: map[tree.Path][]any{"script": {"orders"}},
		Steady: map[tree.Path]string{"zone": "a route keeps its zone for life"},
	})
}

// TestOtherRoute: a pattern that leads to somebody else's Worker is refused at once, and named.
func TestOtherRoute(t *testing.T) {
	s, kind := cloudflaretest.Start(t), routeKind.Erase()
	zone := s.AddZone(s.Account, "shop.example")
	s.AddScript("shop")
	s.AddScript("theirs")
	s.Do(t, http.MethodPost, "/zones/"+zone+"/workers/routes", obj{"pattern": "shop.example/*", "script": "theirs"})
	want := obj{"zone": "shop.example", "pattern": "shop.example/*", "script": "shop"}
	_, err := kind.Settle(t.Context(), s.Job(t, kind, want, nil), reconcile.Hooks{})
	if !errors.Is(err, errElsewhere) || len(reconcile.Hints(err)) == 0 || s.Count("Workers.CreateRoute") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("Workers.CreateRoute"))
	}
	want["pattern"] = "shop.example/a/*"
	out := s.Settled(t, kind, want, nil)
	want["pattern"] = "shop.example/*"
	job := s.Job(t, kind, want, &out)
	if _, err = kind.Settle(t.Context(), job, reconcile.Hooks{}); job.Cloud.Classify(err) != reconcile.Invalid || s.Count("Workers.UpdateRoute") != 1 {
		t.Errorf("changed to it: %v after %d calls", err, s.Count("Workers.UpdateRoute"))
	}
}

// TestNoWorker: a Worker that is not there is told at once, in Cloudflare's own words.
func TestNoWorker(t *testing.T) {
	s, kind := cloudflaretest.Start(t), routeKind.Erase()
	s.AddZone(s.Account, "shop.example")
	_, err := kind.Settle(t.Context(), s.Job(t, kind, obj{"zone": "shop.example", "pattern": "shop.example/*", "script": "nobody"}, nil), reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || !refused.Has(10019) || s.Count("Workers.CreateRoute") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("Workers.CreateRoute"))
	}
}

func TestRouteCalls(t *testing.T) {
	s, kind := cloudflaretest.Start(t), routeKind.Erase()
	prepare(t, s)
	out := s.Settled(t, kind, obj{"zone": "shop.example", "pattern": "shop.example/*", "script": "shop"}, nil)
	s.Settled(t, kind, obj{"zone": "shop.example", "pattern": "shop.example/a/*", "script": "orders"}, &out)
	if have := s.Wrote(); !slices.Equal(have, []string{"Workers.CreateRoute", "Workers.UpdateRoute"}) {
		t.Errorf("both changed makes %v", have)
	}
}

func TestCheck(t *testing.T) {
	for kind, all := range map[reconcile.Any]map[string]bool{
		routeKind.Erase():  {"shop.example/*": true, "shop": false, "shop.example/?a=b": false},
		domainKind.Erase(): {"www.shop.example": true, "shop": false, "shop.example/": false, "WWW.shop.example": false, "*.shop.example": false},
	} {
		for text, ok := range all {
			p := obj{"zone": "shop.example", "pattern": text, "script": "shop"}
			if kind.Spec().Type == domainType {
				p = obj{"hostname": text, "script": "shop"}
			}
			if err := kind.Decode(&reconcile.Job{Props: p}); (err == nil) != ok {
				t.Errorf("%s %s: %v", kind.Spec().Type, text, err)
			}
		}
	}
}
