package zones

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// before are the values of the settings in the tests, as a new zone has them.
var before = map[string]any{
	"always_use_https": "off", "min_tls_version": "1.0", "browser_cache_ttl": 14400.0, "ciphers": list{}, recommender: false,
	"security_header": obj{"strict_transport_security": obj{"enabled": false, "include_subdomains": false, "max_age": 0.0, "nosniff": false, "preload": false}},
}

func shownSetting(t kindtest.T, s *cloudflaretest.Server, zone, id string) any {
	t.Helper()
	shown := s.Do(t, http.MethodGet, "/zones/"+zone+"/settings/"+id, nil).(obj)
	if id == recommender {
		return shown["enabled"]
	}
	return shown["value"]
}

// settingObjects are the settings of all zones that are not as they were.
func settingObjects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	zones, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range zones {
		for id, was := range before {
			if value := shownSetting(t, s, z.(obj)["id"].(string), id); !tree.Equal(value, was) {
				out = append(out, obj{"zone": z.(obj)["name"], "setting": id, "value": value})
			}
		}
	}
	return out
}

func setByHand(t kindtest.T, s *cloudflaretest.Server, zone, id string, value any) {
	t.Helper()
	s.Do(t, http.MethodPatch, "/zones/"+zone+"/settings/"+id, settingBody(id, value))
}

func TestSetting(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	kindtest.Run(t, kindtest.Suite{
		Kind: settingKind.Erase(),
		World: ws.Make(func(_ kindtest.T, s *cloudflaretest.Server) {
			s.AddZone(s.Account, "shop.example")
			s.AddZone(s.Account, "other.example")
		}, settingObjects),
		Base:  obj{"zone": "shop.example", "setting": "min_tls_version", "value": "1.2"},
		Fault: cloudflaretest.FaultOf("Zones"),
		Variants: []kindtest.Variant{
			{Name: "newer", Props: obj{"zone": "shop.example", "setting": "min_tls_version", "value": "1.3"}},
			{Name: "elsewhere", Props: obj{"zone": "other.example", "setting": "always_use_https", "value": "on"}},
			{Name: "number", Props: obj{"zone": "shop.example", "setting": "browser_cache_ttl", "value": int64(3600)}},
			{Name: "list", Props: obj{"zone": "shop.example", "setting": "ciphers", "value": list{"AES128-GCM-SHA256"}}},
			{Name: "truth", Props: obj{"zone": "shop.example", "setting": recommender, "value": true}},
			{Name: "object", Props: obj{"zone": "shop.example", "setting": "security_header", "value": obj{
				"strict_transport_security": obj{"enabled": true, "max_age": int64(86400)},
			}}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"value": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				t.Helper()
				setByHand(t, ws.Of(w), to.Attrs["zoneId"].(string), to.Attrs["setting"].(string), to.Value)
			},
			"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				t.Helper()
				id := to.Attrs["setting"].(string)
				setByHand(t, ws.Of(w), to.Attrs["zoneId"].(string), id, before[id])
			},
		},
		Others:    map[tree.Path][]any{"value": {"1.1"}},
		Forgotten: map[string]string{"before": "what a setting was is nowhere but on record; TestNobodyKnows tells what becomes of it then"},
		Steady:    map[tree.Path]string{"zone": "a setting is its zone's for life", "setting": "a setting keeps its id for life"},
	})
}

// life is a setting in a zone.
type life struct {
	*cloudflaretest.Server
	t    *testing.T
	zone string
	kind reconcile.Any
}

func newLife(t *testing.T) life {
	s := cloudflaretest.Start(t)
	return life{s, t, s.AddZone(s.Account, "shop.example"), settingKind.Erase()}
}

func (l life) declared(setting string, value any) obj {
	return obj{"zone": "shop.example", "setting": setting, "value": value}
}

func (l life) delete(out reconcile.Outcome) {
	l.t.Helper()
	if err := l.kind.Delete(l.t.Context(), l.Job(l.t, l.kind, nil, &out)); err != nil {
		l.t.Fatal(err)
	}
}

// TestPutBack: deletion puts back what was there before the declaration, however often that has changed since, and what
// was not declared stays as somebody has made it meanwhile.
func TestPutBack(t *testing.T) {
	l := newLife(t)
	setByHand(t, l.Server, l.zone, "min_tls_version", "1.1")
	out := l.Settled(t, l.kind, l.declared("min_tls_version", "1.2"), nil)
	out = l.Settled(t, l.kind, l.declared("min_tls_version", "1.3"), &out)
	l.delete(out)
	if have := shownSetting(t, l.Server, l.zone, "min_tls_version"); have != "1.1" {
		t.Errorf("put back: %v", have)
	}
	l.Reset()
	l.delete(out)
	if wrote := l.Wrote(); len(wrote) > 0 {
		t.Errorf("deleted again, and wrote %v", wrote)
	}

	header := func(more obj) obj {
		all := obj{"enabled": false, "include_subdomains": false, "max_age": 0.0, "nosniff": false, "preload": false}
		maps.Copy(all, more)
		return obj{"strict_transport_security": all}
	}
	out = l.Settled(t, l.kind, l.declared("security_header", obj{"strict_transport_security": obj{"enabled": true}}), nil)
	setByHand(t, l.Server, l.zone, "security_header", header(obj{"enabled": true, "nosniff": true}))
	l.Reset()
	out = l.Settled(t, l.kind, l.declared("security_header", obj{"strict_transport_security": obj{"enabled": true}}), &out)
	if wrote := l.Wrote(); len(wrote) > 0 {
		t.Errorf("a field that is not declared changed, and wrote %v", wrote)
	}
	l.delete(out)
	if have := shownSetting(t, l.Server, l.zone, "security_header"); !tree.Equal(have, header(obj{"nosniff": true})) {
		t.Errorf("put back: %v", have)
	}
}

// TestKeptFirst checks that what was there is in state before it is changed, so that a crash in between loses nothing.
func TestKeptFirst(t *testing.T) {
	l := newLife(t)
	var kept map[string]any
	crash := errors.New("crash")
	hooks := reconcile.Hooks{Born: func(_ context.Context, _ string, attrs map[string]any) error {
		kept = attrs
		if wrote := l.Wrote(); len(wrote) > 0 {
			t.Errorf("wrote %v before", wrote)
		}
		return crash
	}}
	_, err := l.kind.Settle(t.Context(), l.Job(t, l.kind, l.declared("min_tls_version", "1.2"), nil), hooks)
	if !errors.Is(err, crash) || kept["before"] != `"1.0"` {
		t.Fatalf("%v, kept %v", err, kept)
	}
	out := l.Settled(t, l.kind, l.declared("min_tls_version", "1.2"), &reconcile.Outcome{Identity: l.zone + "/min_tls_version", Attrs: kept})
	if out.Attrs["before"] != `"1.0"` || !slices.Equal(l.Wrote(), []string{"Zones.PatchSetting"}) {
		t.Errorf("%v, wrote %v", out.Attrs, l.Wrote())
	}
}

// TestNobodyKnows: after a record is lost a setting that says what is declared is taken, and left as it is in the end.
func TestNobodyKnows(t *testing.T) {
	l := newLife(t)
	l.Settled(t, l.kind, l.declared("min_tls_version", "1.2"), nil)
	l.Reset()
	out := l.Settled(t, l.kind, l.declared("min_tls_version", "1.2"), nil)
	l.delete(out)
	if wrote := l.Wrote(); len(wrote) > 0 || out.Attrs["before"] != "" {
		t.Errorf("wrote %v, before %v", wrote, out.Attrs["before"])
	}
}

// TestAllSettings: the settings are those that Cloudflare describes, and each can be read.
func TestAllSettings(t *testing.T) {
	l := newLife(t)
	fields, err := l.kind.Spec().Props()
	if err != nil {
		t.Fatal(err)
	}
	offered := fields[slices.IndexFunc(fields, func(f props.Field) bool { return f.Path == "setting" })].Enum
	if described := cloudflaretest.Settings(t); !slices.Equal(offered, described) {
		t.Errorf("offered %v\nand described %v", offered, described)
	}
	for _, setting := range offered {
		job := l.Job(t, l.kind, nil, nil)
		job.ID = l.zone + "/" + setting
		if look, err := l.kind.Look(t.Context(), job); err != nil || look.Identity != job.ID {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

// TestBadSettings are refused without a call.
func TestBadSettings(t *testing.T) {
	kind := settingKind.Erase()
	for _, c := range []struct {
		setting string
		value   any
		want    string
	}{
		{"ssl", "strict", ""},
		{"ssl", true, `"on" or "off"`},
		{"ssl", nil, "value"},
		{recommender, true, ""},
		{recommender, "on", "true or false"},
		{"sls", "on", "want one of"},
	} {
		err := kind.Decode(&reconcile.Job{Props: obj{"zone": "shop.example", "setting": c.setting, "value": c.value}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.setting, c.value, err, c.want)
		}
	}
}

// TestNotOffered: a setting that the plan of the zone does not offer is refused when it is read, before anything is changed. One that is as
// declared is let be, and with a larger plan the setting is set.
func TestNotOffered(t *testing.T) {
	l := newLife(t)
	_, err := l.kind.Look(t.Context(), l.Job(t, l.kind, l.declared("polish", "lossy"), nil))
	if !errors.Is(err, errNotOffered) || len(reconcile.Hints(err)) != 1 {
		t.Errorf("in the free plan: %v", err)
	}
	if status, refusal := l.TryWith(t, http.MethodPatch, "/zones/"+l.zone+"/settings/polish", nil, obj{"value": "lossy"}); status != http.StatusBadRequest {
		t.Errorf("the server answers %d %v", status, refusal)
	}
	if l.Settled(t, l.kind, l.declared("polish", "off"), nil); len(l.Wrote()) > 0 {
		t.Errorf("it is as declared, and %v is made", l.Wrote())
	}
	l.SetPlan(l.zone, "pro")
	l.Settled(t, l.kind, l.declared("polish", "lossy"), nil)
	if value := shownSetting(t, l.Server, l.zone, "polish"); value != "lossy" {
		t.Errorf("in a larger plan it is %v", value)
	}
}
