package rulesets

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// shop is a zone with two rules of somebody else's.
func shop(t *testing.T) (s *cloudflaretest.Server, zone string) {
	t.Helper()
	s = cloudflaretest.Start(t)
	zone = s.AddZone(s.Account, "shop.example")
	foreign(t, s, zone, redirects)
	return s, zone
}

func declared(more obj, refs ...string) obj {
	p := obj{"zone": "shop.example", "phase": redirects}
	rules := list{}
	for _, ref := range refs {
		rules = append(rules, redirect(ref, ref+".example", "https://x.example"))
	}
	p["rules"] = rules
	maps.Copy(p, more)
	return p
}

// short are the rules of the phase, with our own by the author's references.
func short(s *cloudflaretest.Server, zone string) string {
	return strings.ReplaceAll(s.Rules(zone, redirects), "shop_test_orders__", "")
}

// move puts a rule of ours elsewhere, as somebody else would.
func move(t *testing.T, s *cloudflaretest.Server, out reconcile.Outcome, ref string, position obj) {
	t.Helper()
	id := mine(t, s, out.Attrs)[ref]["id"].(string)
	s.Do(t, http.MethodPatch, where(out.Attrs)+"/"+id, obj{"position": position})
}

// TestPlace: rules are made where they are declared to be, and moved there when they are not; those of others are never
// moved.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to obj
		made     string // as they are made from nothing
		moved    string // after they were made as from says
		wrote    int    // for that
	}{
		{"anywhere", declared(nil, "a"), declared(nil, "a"), "theirs ? a", "theirs ? a", 0},
		{"before", declared(nil, "a", "b"), declared(obj{"before": "theirs"}, "a", "b"), "a b theirs ?", "a b theirs ?", 2},
		{"after", declared(obj{"index": int64(1)}, "a", "b"), declared(obj{"after": "theirs"}, "a", "b"), "theirs a b ?", "theirs a b ?", 2},
		{"first", declared(nil, "a", "b"), declared(obj{"index": int64(1)}, "a", "b"), "a b theirs ?", "a theirs ? b", 1},
		{"second", declared(nil, "a", "b"), declared(obj{"index": int64(2)}, "a", "b"), "theirs a b ?", "theirs a ? b", 1},
		{"past the end", declared(obj{"index": int64(1)}, "a", "b"), declared(obj{"index": int64(99)}, "a", "b"), "theirs ? a b", "theirs ? a b", 2},
		{"another order", declared(nil, "a", "b", "c"), declared(nil, "c", "a", "b"), "theirs ? c a b", "theirs ? c a b", 2},
		{"one between", declared(nil, "a", "c"), declared(nil, "a", "b", "c"), "theirs ? a b c", "theirs ? a b c", 1},
		{"one in front", declared(nil, "b"), declared(nil, "a", "b"), "theirs ? a b", "theirs ? a b", 1},
		{"before, one more in front", declared(obj{"before": "theirs"}, "b"), declared(obj{"before": "theirs"}, "a", "b"), "a b theirs ?", "a b theirs ?", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := rulesetKind.Erase()
			s, zone := shop(t)
			s.Settled(t, kind, c.to, nil)
			if have := short(s, zone); have != c.made {
				t.Errorf("made: %s, want %s", have, c.made)
			}
			s, zone = shop(t)
			out := s.Settled(t, kind, c.from, nil)
			s.Reset()
			s.Settled(t, kind, c.to, &out)
			if have := short(s, zone); have != c.moved || len(s.Wrote()) != c.wrote {
				t.Errorf("moved: %s by %v, want %s by %d", have, s.Wrote(), c.moved, c.wrote)
			}
		})
	}
}

// TestMoved: what somebody moves is seen where it is declared, and moved back.
func TestMoved(t *testing.T) {
	for _, c := range []struct {
		name string
		want obj
		ref  string
		to   obj
		path string
		back string
	}{
		{"order", declared(nil, "a", "b"), "b", obj{"before": ""}, "rules.order", "theirs ? a b"},
		{"before", declared(obj{"before": "theirs"}, "a", "b"), "b", obj{"after": ""}, "before", "a b theirs ?"},
		{"after", declared(obj{"after": "theirs"}, "a", "b"), "a", obj{"before": ""}, "after", "theirs a b ?"},
		{"index", declared(obj{"index": int64(2)}, "a"), "a", obj{"after": ""}, "index", "theirs a ?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := rulesetKind.Erase()
			s, zone := shop(t)
			out := s.Settled(t, kind, c.want, nil)
			move(t, s, out, c.ref, c.to)
			look, err := kind.Look(t.Context(), s.Job(t, kind, c.want, &out))
			if err != nil || len(look.Steps) != 1 || string(look.Steps[0].Path) != c.path {
				t.Errorf("seen: %v, %v", look.Steps, err)
			}
			s.Settled(t, kind, c.want, &out)
			if have := short(s, zone); have != c.back {
				t.Errorf("moved back: %s, want %s", have, c.back)
			}
		})
	}
}

// TestCopied: a copy of a rule of ours is seen and taken away, and the one that was there first stays.
func TestCopied(t *testing.T) {
	s, zone := shop(t)
	kind := rulesetKind.Erase()
	out := s.Settled(t, kind, declared(nil, "a", "b"), nil)
	first := mine(t, s, out.Attrs)["a"]["id"]
	s.Do(t, http.MethodPost, where(out.Attrs), obj{"ref": "shop_test_orders__a", "action": "block", "expression": "true"})
	look, err := kind.Look(t.Context(), s.Job(t, kind, declared(nil, "a", "b"), &out))
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "rules[2]" || look.Steps[0].Want != nil {
		t.Errorf("seen: %v, %v", look.Steps, err)
	}
	s.Settled(t, kind, declared(nil, "a", "b"), &out)
	if have := short(s, zone); have != "theirs ? a b" || mine(t, s, out.Attrs)["a"]["id"] != first {
		t.Errorf("rules: %s", have)
	}
}

// TestNoSuchRule: a place beside a rule that is not there is refused before anything is made.
func TestNoSuchRule(t *testing.T) {
	kind := rulesetKind.Erase()
	for _, phase := range []string{redirects, firewall} { // with and without a ruleset
		s, _ := shop(t)
		p := declared(obj{"before": "nobody", "phase": phase}, "a")
		job := s.Job(t, kind, p, nil)
		_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if !errors.Is(err, errNoRule) || len(reconcile.Hints(err)) == 0 || len(s.Wrote()) > 0 {
			t.Errorf("%v, wrote %v", err, s.Wrote())
		}
	}
}

// TestSideBySide: two declarations in one phase do not see each other's rules, and one that goes takes its own.
func TestSideBySide(t *testing.T) {
	s, zone := shop(t)
	kind := rulesetKind.Erase()
	out := s.Settled(t, kind, declared(nil, "a"), nil)
	other := s.Job(t, kind, declared(obj{"name": "blog", "before": "theirs"}, "a", "b"), nil)
	if _, err := kind.Settle(t.Context(), other, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	const both = "blog__a blog__b theirs ? a"
	if have := short(s, zone); have != both {
		t.Errorf("rules: %s, want %s", have, both)
	}
	s.Reset()
	s.Settled(t, kind, declared(nil, "a"), &out)
	s.Settled(t, kind, declared(nil, "a"), nil) // without state
	if wrote := s.Wrote(); len(wrote) > 0 {
		t.Errorf("unchanged, and wrote %v", wrote)
	}
	job := s.Job(t, kind, nil, &out)
	for range 2 {
		if err := kind.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	if have := short(s, zone); have != "blog__a blog__b theirs ?" {
		t.Errorf("one deleted: %s", have)
	}
}

// TestRaces: what others do to the phase between a look and a change is not lost.
func TestRaces(t *testing.T) {
	kind := rulesetKind.Erase()
	for name, c := range map[string]struct {
		hold string                                                        // the call of ours that waits
		from obj                                                           // what was there of ours, nil for nothing
		to   obj                                                           // what is declared
		do   func(t *testing.T, s *cloudflaretest.Server, zone, id string) // what others do meanwhile
		want string
	}{
		"a rule is added while one of ours changes": {
			"Rulesets.PatchRuleForZone", declared(nil, "a"), declared(obj{"rules": list{redirect("a", "z.example", "https://z.example")}}),
			func(t *testing.T, s *cloudflaretest.Server, zone, id string) {
				s.Do(t, http.MethodPost, "/zones/"+zone+"/rulesets/"+id+"/rules", obj{"ref": "late", "action": "block", "expression": "true", "position": obj{"before": ""}})
			}, "late theirs ? a",
		},
		"a rule is added while ours are made": {
			"Rulesets.CreateRuleForZone", nil, declared(nil, "a", "b"),
			func(t *testing.T, s *cloudflaretest.Server, zone, id string) {
				s.Do(t, http.MethodPost, "/zones/"+zone+"/rulesets/"+id+"/rules", obj{"ref": "late", "action": "block", "expression": "true"})
			}, "theirs ? late a b",
		},
		"the phase is begun by another at the same time": {
			"Rulesets.CreateRulesetForZone", nil, declared(obj{"phase": firewall}, "a", "b"),
			func(t *testing.T, s *cloudflaretest.Server, zone, _ string) { foreign(t, s, zone, firewall) }, "theirs ? a b",
		},
		"a rule is taken away while it changes": {
			"Rulesets.PatchRuleForZone", declared(nil, "a", "b"), declared(obj{"rules": list{redirect("a", "z.example", "https://z.example")}}),
			func(t *testing.T, s *cloudflaretest.Server, zone, id string) {
				rules, _ := s.Do(t, http.MethodGet, "/zones/"+zone+"/rulesets/phases/"+redirects+"/entrypoint", nil).(obj)["rules"].([]any)
				s.Do(t, http.MethodDelete, "/zones/"+zone+"/rulesets/"+id+"/rules/"+rules[2].(obj)["id"].(string), nil)
			}, "theirs ? a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, zone := shop(t)
			id := s.Do(t, http.MethodGet, "/zones/"+zone+"/rulesets/phases/"+redirects+"/entrypoint", nil).(obj)["id"].(string)
			var last *reconcile.Outcome
			if c.from != nil {
				out := s.Settled(t, kind, c.from, nil)
				last = &out
			}
			held := s.Inject(cloudflaretest.Fault{Op: c.hold, Kind: cloudflaretest.Hold})
			job := s.Job(t, kind, c.to, last)
			done := make(chan error, 1)
			go func() {
				_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
				done <- err
			}()
			<-held.Reached()
			c.do(t, s, zone, id)
			held.Release()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			phase, _ := c.to["phase"].(string)
			if have := strings.ReplaceAll(s.Rules(zone, phase), "shop_test_orders__", ""); have != c.want {
				t.Errorf("rules: %s, want %s", have, c.want)
			}
		})
	}
}

// TestFaults breaks one call of a creation at a time. In the end each rule is there once, made by as few calls as can be.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase string
		fault cloudflaretest.Fault
		wrote int
	}{
		{"the answer to the first rule is lost", redirects, cloudflaretest.Fault{Op: "Rulesets.CreateRuleForZone", Kind: cloudflaretest.DropAnswer}, 2},
		{"the answer to the second rule is lost", redirects, cloudflaretest.Fault{Op: "Rulesets.CreateRuleForZone", Nth: 2, Kind: cloudflaretest.DropAnswer}, 2},
		{"a rule never arrives", redirects, cloudflaretest.Fault{Op: "Rulesets.CreateRuleForZone", Kind: cloudflaretest.CutBefore}, 3},
		{"a rule is throttled twice", redirects, cloudflaretest.Fault{Op: "Rulesets.CreateRuleForZone", Kind: cloudflaretest.Throttle, Times: 2}, 4},
		{"the answer to the ruleset is lost", firewall, cloudflaretest.Fault{Op: "Rulesets.CreateRulesetForZone", Kind: cloudflaretest.DropAnswer}, 1},
		{"the phase is not told at first", firewall, cloudflaretest.Fault{Op: "Rulesets.GetPhasForZone", Kind: cloudflaretest.ServerError, Times: 2}, 1},
		{"the ruleset is gone before its first rule", redirects, cloudflaretest.Fault{Op: "Rulesets.CreateRuleForZone", Kind: cloudflaretest.Refuse, Code: "10003", Status: 404}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, zone := shop(t)
			armed := s.Inject(c.fault)
			s.Settled(t, rulesetKind.Erase(), declared(obj{"phase": c.phase}, "a", "b"), nil)
			want := map[string]string{redirects: "theirs ? a b", firewall: "a b"}[c.phase]
			if have := strings.ReplaceAll(s.Rules(zone, c.phase), "shop_test_orders__", ""); have != want || armed.Fired() == 0 || len(s.Wrote()) != c.wrote {
				t.Errorf("rules %s, want %s; fired %d; wrote %v, want %d calls", have, want, armed.Fired(), s.Wrote(), c.wrote)
			}
		})
	}
}
