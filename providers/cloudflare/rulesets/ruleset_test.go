package rulesets

import (
	"maps"
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

const (
	redirects = "http_request_dynamic_redirect"
	firewall  = "http_request_firewall_custom"
	limits    = "http_ratelimit"
)

// prepare gives a world two zones, and rules of somebody else in one of them.
func prepare(t kindtest.T, s *cloudflaretest.Server) {
	t.Helper()
	s.AddZone(s.Account, "other.example")
	zone := s.AddZone(s.Account, "shop.example")
	foreign(t, s, zone, redirects)
}

// foreign makes two rules that are somebody else's: one that has a reference, and one that has none.
func foreign(t kindtest.T, s *cloudflaretest.Server, zone, phase string) {
	t.Helper()
	rule := func(ref, path string) obj {
		r := obj{
			"expression": `http.request.uri.path eq "` + path + `"`, "action": "redirect",
			"action_parameters": obj{"from_value": obj{"target_url": obj{"value": "https://theirs.example"}}},
		}
		if ref != "" {
			r["ref"] = ref
		}
		return r
	}
	s.Do(t, http.MethodPost, "/zones/"+zone+"/rulesets", obj{
		"name": "default", "kind": "zone", "phase": phase, "rules": list{rule("theirs", "/a"), rule("", "/b")},
	})
}

// scopes are the paths of rulesets of all zones and of the account, by name.
func scopes(t kindtest.T, s *cloudflaretest.Server) map[string]string {
	t.Helper()
	all := map[string]string{"the account": "/accounts/ACCOUNT"}
	zones, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range zones {
		all[z.(obj)["name"].(string)] = "/zones/" + z.(obj)["id"].(string)
	}
	return all
}

// objects are our rules in their order, without what differs between two makings, together by the declaration that they
// are of.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	for label, scope := range scopes(t, s) {
		for _, phase := range []string{redirects, firewall, limits} {
			status, answer := s.TryWith(t, http.MethodGet, scope+"/rulesets/phases/"+phase+"/entrypoint", nil, nil)
			if status != http.StatusOK {
				continue
			}
			rules, _ := answer["result"].(obj)["rules"].([]any)
			byName := map[string]list{}
			for _, r := range rules {
				r := maps.Clone(r.(obj))
				name, ref, ours := strings.Cut(r["ref"].(string), between)
				if !ours {
					continue
				}
				r["ref"] = ref
				for _, key := range []string{"id", "version", "last_updated"} {
					delete(r, key)
				}
				byName[name] = append(byName[name], r)
			}
			for _, rules := range byName {
				out = append(out, obj{"scope": label, "phase": phase, "rules": rules})
			}
		}
	}
	return out
}

// where returns the path of the rules of an object.
func where(attrs obj) string {
	scope := "/accounts/ACCOUNT"
	if zone, _ := attrs["zoneId"].(string); zone != "" {
		scope = "/zones/" + zone
	}
	return scope + "/rulesets/" + attrs["id"].(string) + "/rules"
}

// mine are the rules of an object by the author's references, as others see them.
func mine(t kindtest.T, s *cloudflaretest.Server, attrs obj) map[string]obj {
	t.Helper()
	path := strings.TrimSuffix(where(attrs), attrs["id"].(string)+"/rules") + "phases/" + attrs["phase"].(string) + "/entrypoint"
	all := map[string]obj{}
	rules, _ := s.Do(t, http.MethodGet, path, nil).(obj)["rules"].([]any)
	for _, r := range rules {
		if ref := own(attrs["name"].(string), r.(obj)["ref"].(string)); ref != "" {
			all[ref] = r.(obj)
		}
	}
	return all
}

// rewrite makes the rules of an object what props declare, as somebody else would.
func rewrite(ws cloudflaretest.Worlds) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		s, there := ws.Of(w), mine(t, ws.Of(w), to.Attrs)
		p := cloudflaretest.Declared[RulesetProps](t, to)
		for ref, r := range there {
			if !p.has(ref) {
				s.Do(t, http.MethodDelete, where(to.Attrs)+"/"+r["id"].(string), nil)
			}
		}
		for _, r := range p.Rules {
			if _, redirects := r.Parameters["from_value"]; redirects && r.Action != "redirect" {
				r.Parameters = nil // no other action takes them
			}
			if _, added := r.Parameters["by-hand"]; added { // the one further parameter that a redirect has
				delete(r.Parameters, "by-hand")
				r.Parameters["from_list"] = obj{"name": "theirs", "key": "http.host"}
			}
			ruleTable.Default(&r)
			b, err := body(to.Attrs["name"].(string), completed(r))
			if err != nil {
				t.Fatalf("%v", err)
			}
			b["position"] = obj{"after": ""} // behind all others, so that they are in order in the end
			if have, ok := there[r.Ref]; ok {
				s.Do(t, http.MethodPatch, where(to.Attrs)+"/"+have["id"].(string), b)
			} else {
				s.Do(t, http.MethodPost, where(to.Attrs), b)
			}
		}
	}
}

func redirect(ref, from, to string) obj {
	return obj{
		"ref": ref, "expression": `http.host eq "` + from + `"`, "action": "redirect",
		"parameters": obj{"from_value": obj{"target_url": obj{"value": to}}},
	}
}

func rulesetSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	www, old := redirect("www", "www.shop.example", "https://shop.example"), redirect("old", "old.shop.example", "https://shop.example/old")
	tuned := maps.Clone(www)
	maps.Copy(tuned, obj{
		"description": "to the shop", "enabled": false, "expression": "true",
		"parameters": obj{"from_value": obj{"target_url": obj{"expression": `concat("https://shop.example", http.request.uri.path)`}, "status_code": int64(308), "preserve_query_string": true}},
	})
	return kindtest.Suite{
		Kind:  rulesetKind.Erase(),
		World: ws.Make(prepare, objects),
		Base:  obj{"zone": "shop.example", "phase": redirects, "rules": list{www}},
		Fault: cloudflaretest.FaultOf("Rulesets"),
		Variants: []kindtest.Variant{
			{Name: "two", Props: obj{"zone": "shop.example", "phase": redirects, "rules": list{old, www}, "before": "theirs"}},
			{Name: "tuned", Props: obj{"zone": "shop.example", "phase": redirects, "rules": list{tuned, old}, "after": "theirs"}},
			{Name: "elsewhere", Props: obj{"zone": "other.example", "phase": redirects, "rules": list{www}, "index": int64(1)}},
			{Name: "account", Props: obj{"phase": redirects, "rules": list{www}}},
			{Name: "named", Props: obj{"zone": "shop.example", "phase": redirects, "name": "shop", "rules": list{www}}},
			{Name: "firewall", Props: obj{"zone": "shop.example", "phase": firewall, "rules": list{
				obj{"ref": "office", "expression": "ip.src eq 192.0.2.1", "action": "skip", "logging": false, "parameters": obj{"phases": list{"http_ratelimit"}}},
				obj{"ref": "leaked", "expression": "true", "action": "block", "exposedCredentialCheck": obj{
					"username": `url_decode(http.request.body.form["user"][0])`, "password": `url_decode(http.request.body.form["pass"][0])`,
				}},
			}}},
			{Name: "limits", Props: obj{"zone": "shop.example", "phase": limits, "rules": list{
				obj{"ref": "login", "expression": `http.request.uri.path eq "/login"`, "action": "block", "rateLimit": obj{
					"characteristics": list{"ip.src", "cf.colo.id"}, "period": "1m", "requests": int64(10), "mitigation": "10m",
					"counting": "http.response.code eq 403", "originOnly": true,
				}},
				obj{"ref": "score", "expression": "true", "action": "block", "rateLimit": obj{
					"characteristics": list{"ip.src"}, "period": "1m", "score": int64(100), "scoreHeader": "x-score",
				}},
			}}},
		},
		Ordered: map[tree.Path]string{
			"rules": "the first rule that matches may end the others",
		},
		Hands: map[tree.Path]kindtest.Hand{
			"rules": rewrite(ws),
			"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				t.Helper()
				for _, r := range mine(t, ws.Of(w), to.Attrs) {
					ws.Of(w).Do(t, http.MethodDelete, where(to.Attrs)+"/"+r["id"].(string), nil)
				}
			},
		},
		Others: map[tree.Path][]any{
			tree.Path("rules").Any().Key("parameters").Any(): {obj{"target_url": obj{"value": "https://else.example"}}},
		},
		Steady: map[tree.Path]string{
			"zone": "rules keep their zone for life", "phase": "rules keep their phase for life", "name": "rules keep their references for life",
			tree.Path("rules").Any().Key("adopt"): "it names the rule of others that one becomes; TestAdoptedRules takes some over",

			"before": "it tells a place among others; TestPlace moves rules by hand",
			"after":  "it tells a place among others; TestPlace moves rules by hand",
			"index":  "it tells a place among others; TestPlace moves rules by hand",
		},
		Silent: map[tree.Path]string{
			"after": "rules are made behind all others, and so come after them already; TestPlace tells of it",
		},
	}
}

func TestRuleset(t *testing.T) { kindtest.Run(t, rulesetSuite()) }

func TestCheck(t *testing.T) {
	kind := rulesetKind.Erase()
	rule := func(more obj) list {
		r := redirect("www", "a.example", "https://b.example")
		maps.Copy(r, more)
		return list{r}
	}
	for name, c := range map[string]struct {
		more obj
		want string
	}{
		"good":             {obj{"rules": rule(nil)}, ""},
		"no rules":         {obj{"rules": list{}}, "want one at least"},
		"a ref in capital": {obj{"rules": rule(obj{"ref": "WWW"})}, "want up to 32"},
		"a ref with __":    {obj{"rules": rule(obj{"ref": "a__b"})}, "want up to 32"},
		"twice":            {obj{"rules": append(rule(nil), rule(nil)...)}, "two rules www"},
		"a name with -":    {obj{"rules": rule(nil), "name": "a-b"}, "want up to 64"},
		"two places":       {obj{"rules": rule(nil), "before": "a", "after": "b"}, "want one of before"},
		"no limit":         {obj{"rules": rule(obj{"rateLimit": obj{"characteristics": list{"ip.src"}, "period": "1m"}})}, "one of requests and score"},
		"half a second":    {obj{"rules": rule(obj{"rateLimit": obj{"characteristics": list{"ip.src"}, "period": "10500ms", "requests": int64(1)}})}, "whole seconds"},
		"another phase":    {obj{"rules": rule(nil), "phase": "http_request"}, "want one of"},
	} {
		p := obj{"zone": "shop.example", "phase": redirects}
		maps.Copy(p, c.more)
		err := kind.Decode(&reconcile.Job{Props: p})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestList finds names past the first page of rulesets, of the stage alone when it is named.
func TestList(t *testing.T) {
	s := cloudflaretest.Start(t)
	kind := rulesetKind.Erase()
	for _, zone := range []string{"a.example", "b.example"} {
		foreign(t, s, s.AddZone(s.Account, zone), limits)
		for _, phase := range []string{redirects, firewall, "http_request_origin"} {
			s.Settled(t, kind, obj{"zone": zone, "phase": phase, "rules": list{redirect("www", "a", "https://b.example")}}, nil)
		}
	}
	s.Settled(t, kind, obj{"phase": redirects, "name": "blog", "rules": list{redirect("www", "a", "https://b.example")}}, nil)
	job := s.Job(t, kind, nil, nil)
	for prefix, want := range map[string]int{"": 7, "shop-test-": 6, "blog-": 0} {
		found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: prefix})
		if err != nil || len(found) != want {
			t.Errorf("%q: %d found, want %d: %v", prefix, len(found), want, err)
		}
		ids := map[string]bool{}
		for _, f := range found {
			ids[f.Identity] = true
		}
		if len(ids) != want {
			t.Errorf("%q: told twice: %v", prefix, found)
		}
	}
}

// TestCalls: each change is one call on one rule, and what is unchanged is read once.
func TestCalls(t *testing.T) {
	s := cloudflaretest.Start(t)
	zone := s.AddZone(s.Account, "shop.example")
	foreign(t, s, zone, redirects)
	kind := rulesetKind.Erase()
	a, b, c := redirect("a", "a.example", "https://x.example"), redirect("b", "b.example", "https://x.example"), redirect("c", "c.example", "https://x.example")
	p := obj{"zone": "shop.example", "phase": redirects, "rules": list{a, b}}
	out := s.Settled(t, kind, p, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"Rulesets.CreateRuleForZone", "Rulesets.CreateRuleForZone"}) {
		t.Errorf("a creation beside others makes %v", have)
	}
	job := s.Job(t, kind, p, &out)
	if _, err := kind.Look(t.Context(), job); err != nil { // the zone is looked up once for each handle
		t.Fatal(err)
	}
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil || len(s.Calls()) != 1 {
		t.Errorf("unchanged: %v, %d calls, want 1", err, len(s.Calls()))
	}
	s.Reset()
	changed := maps.Clone(b)
	changed["expression"], changed["description"] = "true", "all"
	s.Settled(t, kind, obj{"zone": "shop.example", "phase": redirects, "rules": list{c, changed}}, &out)
	want := []string{"Rulesets.CreateRuleForZone", "Rulesets.PatchRuleForZone", "Rulesets.DeleteRuleForZone"}
	if have := s.Wrote(); !slices.Equal(have, want) {
		t.Errorf("one more, one changed, one less: %v", have)
	}
	if have := s.Rules(zone, redirects); have != "theirs ? shop_test_orders__c shop_test_orders__b" {
		t.Errorf("rules: %s", have)
	}
}
