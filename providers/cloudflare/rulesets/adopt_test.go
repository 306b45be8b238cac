package rulesets

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestAdoptedRules: rules that somebody else has made become ours by their references, each by one call, and keep their ids and places. What
// differs besides goes with the same call. A rule that another resource declares is refused.
func TestAdoptedRules(t *testing.T) {
	s := cloudflaretest.Start(t)
	zone := s.AddZone(s.Account, "shop.example")
	kind := rulesetKind.Erase()
	theirs := func(path, to string) obj {
		return obj{
			"expression": `http.request.uri.path eq "` + path + `"`, "action": "redirect", "enabled": true,
			"action_parameters": obj{"from_value": obj{"target_url": obj{"value": to}, "status_code": 301}},
		}
	}
	made, _ := s.Do(t, http.MethodPost, "/zones/"+zone+"/rulesets", obj{
		"name": "default", "kind": "zone", "phase": redirects,
		"rules": list{theirs("/a", "https://a.example"), theirs("/kept", "https://kept.example"), theirs("/b", "https://b.example")},
	}).(obj)
	id := func(n int) string { return made["rules"].(list)[n].(obj)["id"].(string) }
	rule := func(ref, path, to, adopt string) obj {
		return obj{
			"ref": ref, "expression": `http.request.uri.path eq "` + path + `"`, "action": "redirect", "adopt": adopt,
			"parameters": obj{"from_value": obj{"target_url": obj{"value": to}}},
		}
	}
	p := obj{"zone": "shop.example", "phase": redirects, "name": "shop", "rules": list{
		rule("a", "/a", "https://a.example", id(0)), rule("b", "/b", "https://else.example", id(2)),
	}}
	job := s.Job(t, kind, p, nil)
	look, err := kind.Look(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, step := range look.Steps {
		paths = append(paths, string(step.Path))
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"mark", "rules[1].parameters"}) {
		t.Errorf("the plan shows %v", paths)
	}
	s.Reset()
	out := s.Settled(t, kind, p, nil)
	if have := s.Wrote(); out.Created || !slices.Equal(have, []string{"Rulesets.PatchRuleForZone", "Rulesets.PatchRuleForZone"}) {
		t.Errorf("taking over makes %v, created %t", have, out.Created)
	}
	if have := s.Rules(zone, redirects); have != "shop__a ? shop__b" {
		t.Errorf("rules: %s", have)
	}
	now := mine(t, s, out.Attrs)
	if now["a"]["id"] != id(0) || now["b"]["id"] != id(2) {
		t.Errorf("other rules: %v", now)
	}
	s.Reset()
	s.Settled(t, kind, p, &out)
	without := maps.Clone(p)
	without["rules"] = list{rule("a", "/a", "https://a.example", ""), rule("b", "/b", "https://else.example", "")}
	s.Settled(t, kind, without, &out)
	if have := s.Wrote(); len(have) != 0 {
		t.Errorf("the same again writes %v", have)
	}
	with := maps.Clone(p)
	with["rules"] = list{rule("a", "/a", "https://a.example", id(0)), rule("new", "/new", "https://new.example", ""), rule("kept", "/kept", "https://kept.example", id(1)), rule("b", "/b", "https://else.example", id(2))}
	s.Reset()
	s.Settled(t, kind, with, &out)
	if have := s.Rules(zone, redirects); have != "shop__a shop__new shop__kept shop__b" {
		t.Errorf("a rule more, and one taken over: %s after %v", have, s.Wrote())
	}
	other := obj{"zone": "shop.example", "phase": redirects, "name": "blog", "rules": list{rule("a", "/a", "https://a.example", id(0))}}
	if _, err := kind.Look(t.Context(), s.Job(t, kind, other, nil)); !errors.Is(err, errDeclared) || s.Cloud().Classify(err) != reconcile.Invalid {
		t.Errorf("a rule of another resource: %v", err)
	}
}
