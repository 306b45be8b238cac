package zones

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// zoneObjects are the zones that others see, without what differs between two makings.
func zoneObjects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	all, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range all {
		z := z.(obj)
		out = append(out, obj{"name": z["name"], "type": z["type"], "paused": z["paused"], "vanity": z["vanity_name_servers"]})
	}
	return out
}

func zonePatch(ws cloudflaretest.Worlds, body func(to kindtest.Edited) obj) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		ws.Of(w).Do(t, http.MethodPatch, "/zones/"+to.Attrs["id"].(string), body(to))
	}
}

func TestZone(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	kindtest.Run(t, kindtest.Suite{
		Kind:  zoneKind.Erase(),
		World: ws.Make(nil, zoneObjects),
		Base:  obj{"name": "shop.example"},
		Fault: cloudflaretest.FaultOf("Zones"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"name": "shop.example", "type": "partial", "paused": true, "vanityNameServers": list{"ns2.shop.example", "ns1.shop.example"}}},
			{Name: "other", Props: obj{"name": "other.example"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"type": zonePatch(ws, func(to kindtest.Edited) obj {
				if to.Text() == "" {
					return obj{"type": "full"}
				}
				return obj{"type": to.Text()}
			}),
			"paused": zonePatch(ws, func(to kindtest.Edited) obj { return obj{"paused": to.Value == true} }),
			"vanityNameServers": zonePatch(ws, func(to kindtest.Edited) obj {
				names, _ := to.Value.([]any)
				return obj{"vanity_name_servers": append(list{}, names...)}
			}),
			"": ws.Deletes(func(to kindtest.Edited) string { return "/zones/" + to.Attrs["id"].(string) }),
		},
		Others: map[tree.Path][]any{tree.Path("vanityNameServers").Any(): {"ns9.shop.example"}},
		Steady: map[tree.Path]string{"name": "a zone keeps its name for life"},
	})
}

// TestElsewhere: a domain that is a zone of somebody else is refused at once, and one that is our account's is not ours by
// that.
func TestElsewhere(t *testing.T) {
	s := cloudflaretest.Start(t)
	kind := zoneKind.Erase()
	s.AddZone(s.AddAccount("Other"), "shop.example")
	_, err := kind.Settle(t.Context(), s.Job(t, kind, obj{"name": "shop.example"}, nil), reconcile.Hooks{})
	if !errors.Is(err, errElsewhere) || len(reconcile.Hints(err)) == 0 || s.Count("Zones.CreateZone") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("Zones.CreateZone"))
	}
	s.AddZone(s.Account, "ours.example")
	job := s.Job(t, kind, obj{"name": "ours.example"}, nil)
	if !job.Named {
		t.Error("a domain counts as a name of our own making")
	}
	if look, err := kind.Look(t.Context(), job); err != nil || look.Absent {
		t.Errorf("not found: %v", err)
	}
}

// TestDeleteZone: a zone goes with leave alone.
func TestDeleteZone(t *testing.T) {
	s := cloudflaretest.Start(t)
	kind := zoneKind.Erase()
	out := s.Settled(t, kind, obj{"name": "shop.example"}, nil)
	if !out.Holds || !slices.Equal(s.Wrote(), []string{"Zones.CreateZone"}) {
		t.Errorf("holds %v, wrote %v", out.Holds, s.Wrote())
	}
	job := s.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || len(zoneObjects(t, s)) != 1 {
		t.Fatalf("without leave: %v", err)
	}
	job.MayDelete = true
	for range 2 {
		if err := kind.Delete(t.Context(), job); err != nil || len(zoneObjects(t, s)) != 0 {
			t.Errorf("with leave: %v", err)
		}
	}
}

// TestOtherAccount checks that a zone in state that is in another account now is not read.
func TestOtherAccount(t *testing.T) {
	s := cloudflaretest.Start(t)
	kind := zoneKind.Erase()
	id := s.AddZone(s.AddAccount("Other"), "shop.example")
	job := s.Job(t, kind, obj{"name": "shop.example"}, nil)
	job.ID = id
	if look, err := kind.Look(t.Context(), job); err != nil || !look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestOutOfReach: a zone that the token does not reach is not absent, and what it may be is told.
func TestOutOfReach(t *testing.T) {
	s, kind := cloudflaretest.Start(t), zoneKind.Erase()
	out := s.Settled(t, kind, obj{"name": "shop.example"}, nil)
	s.Inject(cloudflaretest.Fault{Op: "Zones.GetZone", Kind: cloudflaretest.Refuse, Code: "9109", Status: 403})
	job := s.Job(t, kind, obj{"name": "shop.example"}, &out)
	_, err := kind.Look(t.Context(), job)
	told := func(hint string) bool { return strings.Contains(hint, "state rm") }
	if job.Cloud.Classify(err) != reconcile.Denied || !slices.ContainsFunc(reconcile.Hints(err), told) {
		t.Errorf("%v, hints %v", err, reconcile.Hints(err))
	}
}

func TestCheckZone(t *testing.T) {
	kind := zoneKind.Erase()
	for name, ok := range map[string]bool{
		"shop.example": true, "xn--bcher-kva.example": true, "Shop.example": false, "shop": false, "shop.example.": false,
		strings.Repeat("a", 64) + ".example": false,
	} {
		if err := kind.Decode(&reconcile.Job{Props: obj{"name": name}}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := kind.Decode(&reconcile.Job{Props: obj{"name": "shop.example", "vanityNameServers": list{"ns1.other.example"}}}); err == nil {
		t.Error("a name server of another domain is taken")
	}
}
