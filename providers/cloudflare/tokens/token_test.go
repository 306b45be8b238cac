package tokens

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const all = "/accounts/ACCOUNT/tokens"

// objectsAt are the tokens that others see, without their names and what differs between two makings.
func objectsAt(path string) func(t kindtest.T, s *cloudflaretest.Server) []any {
	return func(t kindtest.T, s *cloudflaretest.Server) []any { t.Helper(); return objects(t, s, path) }
}

func objects(t kindtest.T, s *cloudflaretest.Server, path string) []any {
	t.Helper()
	out := []any{}
	listed, _ := s.Do(t, http.MethodGet, path+"?per_page=50", nil).([]any)
	for _, token := range listed {
		token := maps.Clone(token.(obj))
		delete(token, "id")
		delete(token, "name")
		token["policies"] = strings.ReplaceAll(fmt.Sprint(meaning(token)), s.Account, "ACCOUNT")
		out = append(out, token)
	}
	return out
}

// meaning are the policies of a token, in order, without their ids.
func meaning(token obj) []string {
	var out []string
	policies, _ := token["policies"].([]any)
	for _, p := range policies {
		var groups []string
		for _, g := range p.(obj)["permission_groups"].([]any) {
			groups = append(groups, g.(obj)["id"].(string))
		}
		kinds := []string{}
		for key, v := range p.(obj)["resources"].(obj) {
			if strings.HasPrefix(key, ofZone+".") {
				key = ofZone // its id differs
			}
			kinds = append(kinds, fmt.Sprint(key, v))
		}
		out = append(out, fmt.Sprint(p.(obj)["effect"], sorted(groups), sorted(kinds)))
	}
	return sorted(out)
}

func prepare(t kindtest.T, s *cloudflaretest.Server) {
	t.Helper()
	s.AddZone(s.Account, "shop.example")
	s.AddZone(s.Account, "other.example")
}

// rewrite makes a token what props declare, as somebody else would.
func rewrite(ws cloudflaretest.Worlds, path string) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		p := cloudflaretest.Declared[TokenProps](t, to)
		s := ws.Of(w)
		words, err := accounts.wordsOf(t.Context(), w.Cloud, kind.Location{Account: s.Account}, p.Policies, nil)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i, policy := range p.Policies { // what others have is of no use for something else
			if words.unknown([]Policy{policy}) != nil {
				p.Policies[i].Permissions = []string{"Logs Read"}
			}
		}
		b, err := body(to.Attrs["name"].(string), p, words)
		if err != nil {
			t.Fatalf("%v", err)
		}
		b["status"] = active
		if p.Disabled {
			b["status"] = disabled
		}
		s.Do(t, http.MethodPut, path+"/"+to.Attrs["id"].(string), b)
	}
}

func TestToken(t *testing.T) { kindtest.Run(t, suiteOf(tokenKind.Erase(), all, "Accounts")) }

func TestUserToken(t *testing.T) {
	kindtest.Run(t, suiteOf(userTokenKind.Erase(), "/user/tokens", "User"))
}

func suiteOf(whole reconcile.Any, path, service string) kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	set := rewrite(ws, path)
	return kindtest.Suite{
		Kind:  whole,
		World: ws.Make(prepare, objectsAt(path)),
		Base:  obj{"policies": list{obj{"permissions": list{"Workers Scripts Write"}}}},
		Fault: cloudflaretest.FaultOf(service),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "reader", "disabled": true, "value": "of no use to one that is made", "notBefore": "2026-01-01T00:00:00Z", "expiresOn": "2027-01-01T00:00:00Z",
				"allowFrom": list{"192.0.2.0/24", "2001:db8::1"}, "denyFrom": list{"192.0.2.7", "192.0.2.3"},
				"policies": list{
					obj{"permissions": list{"Workers KV Storage Read", "Workers Scripts Write"}},
					obj{"permissions": list{"DNS Write", "Logs Read"}, "zones": list{"shop.example", "other.example"}, "effect": "deny"},
					obj{"permissions": list{"Workers R2 Storage Bucket Item Read"}, "resources": obj{ofBucket + ".x_default_y": "*"}},
				},
			}},
			{Name: "all", Props: obj{"policies": list{obj{"permissions": list{"DNS Write"}, "zones": list{"*"}}}}},
			{Name: "rolled", Props: obj{"version": int64(1), "policies": list{obj{"permissions": list{"Workers Scripts Write"}}}}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"policies": set, "allowFrom": set, "denyFrom": set, "notBefore": set, "expiresOn": set, "disabled": set,
			"name": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				t.Helper()
				name := to.Text()
				if name == "" {
					name = "by-hand"
				}
				now := maps.Clone(to.Attrs)
				now["name"] = name
				set(t, w, kindtest.Edited{Attrs: now, Props: to.Props})
			},
			"": ws.Deletes(func(to kindtest.Edited) string { return path + "/" + to.Attrs["id"].(string) }),
		},
		Others: map[tree.Path][]any{
			tree.Path("policies").Any().Key("permissions").Any(): {"Workers KV Storage Read", "DNS Write"},
			tree.Path("policies").Any().Key("zones").Any():       {"other.example"},
			tree.Path("policies").Any().Key("resources").Any():   {obj{"x": "*"}},
			"notBefore": {"2026-02-01T00:00:00Z"},
			"expiresOn": {"2028-02-01T00:00:00Z"},
			"allowFrom": {list{"198.51.100.1"}},
			"denyFrom":  {list{"198.51.100.2"}},
		},
		Steady:     map[tree.Path]string{"value": "nothing changes the value of a token"},
		Silent:     map[tree.Path]string{"value": "it is that of a token which is taken over by its id; TestAdoptedValue does so"},
		Unreadable: map[tree.Path]string{"value": "it is told once", "version": "which value it is nothing tells but the record"},
	}
}

func declared(more obj) obj {
	p := obj{"policies": list{obj{"permissions": list{"Workers Scripts Write"}}}}
	maps.Copy(p, more)
	return p
}

// TestValue: the value is told once, and stays what it is whatever changes.
func TestValue(t *testing.T) {
	s, kind := cloudflaretest.Start(t), tokenKind.Erase()
	out := s.Settled(t, kind, declared(nil), nil)
	value := s.TokenValues()[0]
	if out.Attrs["value"] != value || !slices.Equal(s.Wrote(), []string{"Accounts.CreateToken"}) {
		t.Errorf("%v, wrote %v", out.Attrs, s.Wrote())
	}
	out = s.Settled(t, kind, declared(obj{"allowFrom": list{"192.0.2.1"}}), &out)
	if out.Attrs["value"] != value {
		t.Errorf("changed: %v", out.Attrs)
	}
	if !slices.Contains(kind.Spec().SecretAttrs, tree.Path("value")) {
		t.Error("the value is no secret")
	}
}

// TestLost: a token whose value nobody has is shown as such, and replaced.
func TestLost(t *testing.T) {
	s, kind := cloudflaretest.Start(t), tokenKind.Erase()
	s.Settled(t, kind, declared(nil), nil)
	look, err := kind.Look(t.Context(), s.Job(t, kind, declared(nil), nil))
	if err != nil || look.Absent || len(look.Steps) != 1 || !look.Steps[0].Lost || !look.Steps[0].Replaces {
		t.Errorf("%+v, %v", look.Steps, err)
	}
}

// TestAdoptedValue: a token of either owner that is taken over by its id has the value that is declared, as long as nothing is in state.
func TestAdoptedValue(t *testing.T) {
	for path, whole := range map[string]reconcile.Any{all: tokenKind.Erase(), "/user/tokens": userTokenKind.Erase()} {
		s := cloudflaretest.Start(t)
		made, _ := s.Do(t, http.MethodPost, path, obj{"name": "ci", "policies": list{obj{
			"effect": "allow", "permission_groups": list{obj{"id": "00000000000000000000000000000001"}}, "resources": obj{ofAccount + "." + s.Account: "*"},
		}}}).(obj)
		job := s.Job(t, whole, declared(obj{"name": "ci", "value": made["value"]}), nil)
		job.ID = made["id"].(string)
		look, err := whole.Look(t.Context(), job)
		if err != nil || look.Absent || len(look.Steps) > 0 || look.Attrs["value"] != made["value"] {
			t.Errorf("%s: %+v, %v", path, look.Steps, err)
		}
		job = s.Job(t, whole, declared(obj{"name": "ci", "value": "another"}), &reconcile.Outcome{Identity: look.Identity, Attrs: look.Attrs})
		if look, err = whole.Look(t.Context(), job); err != nil || len(look.Steps) > 0 || look.Attrs["value"] != nil && look.Attrs["value"] != made["value"] {
			t.Errorf("%s, with the value in state: %+v, %v", path, look, err)
		}
		job = s.Job(t, whole, declared(obj{"name": "ci"}), nil)
		job.ID = made["id"].(string)
		if look, err = whole.Look(t.Context(), job); err != nil || len(look.Steps) != 1 || !look.Steps[0].Lost {
			t.Errorf("%s, without a value: %+v, %v", path, look.Steps, err)
		}
		if !slices.Contains(whole.Spec().SecretProps, tree.Path("value")) {
			t.Errorf("%s: the value is no secret", path)
		}
	}
}

// TestUserTokensMayBeHidden: who may not list the tokens of the user, as a token of an account, has none there.
func TestUserTokensMayBeHidden(t *testing.T) {
	s, kind := cloudflaretest.Start(t), userTokenKind.Erase()
	job := s.Job(t, kind, nil, nil)
	s.Inject(cloudflaretest.Fault{Op: "User.ListTokens", Kind: cloudflaretest.Deny, Times: -1})
	if found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place}); err != nil || len(found) > 0 {
		t.Errorf("%d found, %v", len(found), err)
	}
}

// TestMeaning: other names and another order of the same are no difference.
func TestMeaning(t *testing.T) {
	s, kind := cloudflaretest.Start(t), tokenKind.Erase()
	zone := s.AddZone(s.Account, "shop.example")
	out := s.Settled(t, kind, declared(obj{"expiresOn": "2027-01-01T01:00:00+01:00", "policies": list{
		obj{"permissions": list{"DNS Write", "Logs Read"}, "zones": list{"shop.example"}},
		obj{"permissions": list{"Logs Read"}},
	}}), nil)
	s.Reset()
	s.Settled(t, kind, declared(obj{"expiresOn": "2027-01-01T00:00:00Z", "policies": list{
		obj{"permissions": list{"00000000000000000000000000000004"}, "resources": obj{ofAccount + "." + s.Account: "*"}},
		obj{"permissions": list{"Logs Read", "00000000000000000000000000000003"}, "zones": list{zone}, "effect": "allow"},
	}}), &out)
	if wrote := s.Wrote(); len(wrote) > 0 || s.Count("Accounts.GetTokenPermissionGroup") > 0 {
		t.Errorf("said otherwise, and wrote %v, asked for all names %d times", wrote, s.Count("Accounts.GetTokenPermissionGroup"))
	}
}

// TestNoSuchPermission is refused before anything is made, with what there is.
func TestNoSuchPermission(t *testing.T) {
	s, kind := cloudflaretest.Start(t), tokenKind.Erase()
	s.AddZone(s.Account, "shop.example")
	for name, policy := range map[string]obj{
		"nobody's":     {"permissions": list{"Dance"}},
		"a zone's":     {"permissions": list{"DNS Write"}},
		"an account's": {"permissions": list{"Workers Scripts Write"}, "zones": list{"shop.example"}},
	} {
		job := s.Job(t, kind, declared(obj{"policies": list{policy}}), nil)
		_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if job.Cloud.Classify(err) != reconcile.Invalid || len(reconcile.Hints(err)) == 0 || len(s.Wrote()) > 0 {
			t.Errorf("%s: %v, wrote %v", name, err, s.Wrote())
		}
	}
	job := s.Job(t, kind, declared(obj{"policies": list{obj{"permissions": list{strings.Repeat("0", 32)}}}}), nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || !refused.Has(1001) || s.Count("Accounts.CreateToken") != 1 {
		t.Errorf("an id that is nobody's: %v after %d calls", err, s.Count("Accounts.CreateToken"))
	}
}

// TestNamesakes: of several tokens of one name nothing tells which is meant, past the first page too.
func TestNamesakes(t *testing.T) {
	s, kind := cloudflaretest.Start(t), tokenKind.Erase()
	make := func(name string) {
		s.Do(t, http.MethodPost, all, obj{"name": name, "policies": list{obj{
			"effect": "allow", "permission_groups": list{obj{"id": "00000000000000000000000000000001"}}, "resources": obj{ofAccount + "." + s.Account: "*"},
		}}})
	}
	make("shop-test-orders")
	for range 60 {
		make("theirs")
	}
	look, err := kind.Look(t.Context(), s.Job(t, kind, declared(nil), nil))
	if err != nil || look.Absent {
		t.Errorf("one of the name: %v, absent %v", err, look.Absent)
	}
	make("shop-test-orders")
	if _, err = kind.Look(t.Context(), s.Job(t, kind, declared(nil), nil)); !errors.Is(err, reconcile.ErrAmbiguous) || len(reconcile.Hints(err)) == 0 {
		t.Errorf("two of the name: %v", err)
	}
	job := s.Job(t, kind, nil, nil)
	for prefix, want := range map[string]int{"": 62, "shop-test-": 2} {
		found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: prefix})
		if err != nil || len(found) != want {
			t.Errorf("%q: %d found, %v", prefix, len(found), err)
		}
	}
}

func TestCheck(t *testing.T) {
	kind := tokenKind.Erase()
	for _, c := range []struct {
		more obj
		want string
	}{
		{nil, ""},
		{obj{"policies": list{}}, "want one at least"},
		{obj{"policies": list{obj{"permissions": list{}}}}, "want one at least"},
		{obj{"policies": list{obj{"permissions": list{"a"}, "zones": list{"*"}, "resources": obj{"x": "*"}}}}, "one of zones and resources"},
		{obj{"expiresOn": "tomorrow"}, "want a time"},
		{obj{"allowFrom": list{"192.0.2.0/33"}}, "is no address"},
		{obj{"name": strings.Repeat("n", 121)}, "up to 120"},
	} {
		err := kind.Decode(&reconcile.Job{Props: declared(c.more)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.more, err, c.want)
		}
	}
}
