package hyperdrive

import (
	"cmp"
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
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const all = "/accounts/ACCOUNT/hyperdrive/configs"

// objects are the configurations that others see, without what differs between two makings.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	list, _ := s.Do(t, http.MethodGet, all+"?per_page=100", nil).([]any)
	for _, c := range list {
		c := maps.Clone(c.(obj))
		c["password"] = s.Password(c["name"].(string))
		delete(c, "name") // a generated one differs, and one that was given stays when it is no longer declared
		delete(c, "id")
		out = append(out, c)
	}
	return out
}

// rewrite makes a configuration what props declare, as somebody else would who knows its password.
func rewrite(ws cloudflaretest.Worlds) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		p := cloudflaretest.Declared[ConfigProps](t, to)
		b, err := body(to.Attrs["name"].(string), configKind.WithDefaults(p))
		if err != nil {
			t.Fatalf("%v", err)
		}
		ws.Of(w).Do(t, http.MethodPut, all+"/"+to.Attrs["id"].(string), b)
	}
}

func origin(more obj) obj {
	o := obj{"host": "db.example", "database": "shop", "user": "app", "password": "hunter2"}
	maps.Copy(o, more)
	return o
}

func without(o obj, keys ...string) obj {
	for _, key := range keys {
		delete(o, key)
	}
	return o
}

func TestConfig(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	set := rewrite(ws)
	kindtest.Run(t, kindtest.Suite{
		Kind:  configKind.Erase(),
		World: ws.Make(nil, objects),
		Base:  obj{"name": "shop", "origin": origin(nil)},
		Fault: cloudflaretest.FaultOf("Hyperdrive"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "orders", "origin": origin(obj{"scheme": "mysql", "host": "other.example", "port": int64(3307), "database": "orders", "user": "reader", "password": "hunter3"}),
				"caching": obj{"maxAge": "2m", "staleWhileRevalidate": "30s"}, "originConnectionLimit": int64(20),
				"mtls": obj{"caCertificateId": "ca", "certificateId": "cert", "sslMode": "verify-full"},
			}},
			{Name: "uncached", Props: obj{"name": "shop", "origin": origin(nil), "caching": obj{"disabled": true}}},
			{Name: "access", Props: obj{"name": "shop", "origin": origin(obj{"accessClientId": "id.access", "accessClientSecret": "sesame"})}},
			{Name: "service", Props: obj{"name": "shop", "origin": without(origin(obj{"service": "0190a2f0"}), "host")}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"name":   ws.Sends(http.MethodPatch, func(to kindtest.Edited) string { return all + "/" + to.Attrs["id"].(string) }, func(to kindtest.Edited) any { return obj{"name": cmp.Or(to.Text(), "by-hand")} }),
			"origin": set, "caching": set, "mtls": set, "originConnectionLimit": set,
			"": ws.Deletes(func(to kindtest.Edited) string { return all + "/" + to.Attrs["id"].(string) }),
		},
		Rewritten:  "nobody can read the password back",
		Unreadable: map[tree.Path]string{"originConnectionLimit": "whether it was declared or is the plan's own nothing tells"},
		Open:       map[tree.Path]string{"originConnectionLimit": "what it is by itself is a matter of the plan"},
	})
}

// TestGenerated is about configurations whose names are made up.
func TestGenerated(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	s := kindtest.Suite{
		Kind: configKind.Erase(), World: ws.Make(nil, objects), Base: obj{"origin": origin(nil)},
		Fault: cloudflaretest.FaultOf("Hyperdrive"), Rewritten: "nobody can read the password back",
	}
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case "three starts end equal", "a crash at any call heals", "deleting twice", "a failed read is never absent",
			"bulk reads and listings agree with single looks":
			t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
		}
	}
}

// made is a configuration in an account.
func made(t *testing.T) (*cloudflaretest.Server, reconcile.Any, reconcile.Outcome) {
	t.Helper()
	s, kind := cloudflaretest.Start(t), configKind.Erase()
	return s, kind, s.Settled(t, kind, obj{"origin": origin(nil)}, nil)
}

// TestSecrets: a changed password is one call, and nothing of it is shown.
func TestSecrets(t *testing.T) {
	s, kind, out := made(t)
	if s.Password("shop-test-orders") != "hunter2" || !slices.Equal(s.Wrote(), []string{"Hyperdrive.CreateConfig"}) {
		t.Errorf("password %s, wrote %v", s.Password("shop-test-orders"), s.Wrote())
	}
	digest := func(_ string, data []byte) string { return "digest of " + string(data[1:3]) }
	job := s.Job(t, kind, obj{"origin": origin(obj{"password": "secret!"})}, &out)
	job.Digest, job.Had, job.Written = digest, obj{}, map[tree.Path]string{"origin.password": "digest of hu"}
	look, err := kind.Look(t.Context(), job)
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "origin.password" || look.Steps[0].Have != reconcile.Mask || look.Steps[0].Want != reconcile.Mask {
		t.Errorf("%v, %v", look.Steps, err)
	}
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil || s.Password("shop-test-orders") != "secret!" || len(s.Wrote()) != 1 {
		t.Errorf("%v, password %s, wrote %v", err, s.Password("shop-test-orders"), s.Wrote())
	}
}

// TestLimitStays: a change of something else leaves a limit that nobody declares as it is.
func TestLimitStays(t *testing.T) {
	s, kind, out := made(t)
	id := out.Attrs["id"].(string)
	body := s.Do(t, http.MethodGet, all+"/"+id, nil).(obj)
	o := body["origin"].(obj)
	o["password"] = "hunter2"
	s.Do(t, http.MethodPut, all+"/"+id, obj{"name": body["name"], "origin": o, "origin_connection_limit": 42})
	s.Settled(t, kind, obj{"origin": origin(obj{"user": "reader"})}, &out)
	if have := s.Do(t, http.MethodGet, all+"/"+id, nil).(obj); have["origin_connection_limit"] != 42.0 || have["origin"].(obj)["user"] != "reader" {
		t.Errorf("%v", have)
	}
}

// TestList goes past the first page, and so does the look for a name.
func TestList(t *testing.T) {
	s, kind, _ := made(t)
	o := obj{"scheme": "postgres", "host": "x.example", "port": 5432, "database": "x", "user": "x", "password": "x"}
	for i := range 45 {
		s.Do(t, http.MethodPost, all, obj{"name": fmt.Sprintf("shop-prod-%02d", i), "origin": o})
	}
	job := s.Job(t, kind, nil, nil)
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: "shop-prod-"})
	if err != nil || len(found) != 45 {
		t.Errorf("%d found, %v", len(found), err)
	}
	look, err := kind.Look(t.Context(), s.Job(t, kind, obj{"name": "shop-prod-44", "origin": origin(nil)}, nil))
	if err != nil || look.Absent {
		t.Errorf("not found on a later page: %v", err)
	}
}

// TestNamesakes: of two configurations of one name nothing tells which is meant.
func TestNamesakes(t *testing.T) {
	s, kind, _ := made(t)
	o := obj{"scheme": "postgres", "host": "x.example", "port": 5432, "database": "x", "user": "x", "password": "x"}
	s.Do(t, http.MethodPost, all, obj{"name": "shop-test-orders", "origin": o})
	_, err := kind.Look(t.Context(), s.Job(t, kind, obj{"origin": origin(nil)}, nil))
	if !errors.Is(err, reconcile.ErrAmbiguous) || len(reconcile.Hints(err)) == 0 {
		t.Errorf("%v", err)
	}
}

// TestUnreachable: an origin that Cloudflare does not reach is refused at once, with its own words and without the password.
func TestUnreachable(t *testing.T) {
	s, kind := cloudflaretest.Start(t), configKind.Erase()
	_, err := kind.Settle(t.Context(), s.Job(t, kind, obj{"origin": origin(obj{"host": "10.0.0.1"})}, nil), reconcile.Hooks{})
	refused, ok := errors.AsType[*cloudflare.Error](err)
	if !ok || !refused.Has(2009) || s.Count("Hyperdrive.CreateConfig") != 1 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v after %d calls", err, s.Count("Hyperdrive.CreateConfig"))
	}
}

func TestCheck(t *testing.T) {
	kind := configKind.Erase()
	for want, p := range map[string]obj{
		"":                               {"origin": origin(nil)},
		"want it, or a service":          {"origin": without(origin(nil), "host")},
		"a service has no host":          {"origin": origin(obj{"service": "x"})},
		"a service has none, and Access": {"origin": origin(obj{"port": int64(1), "accessClientId": "a", "accessClientSecret": "b"})},
		"want both":                      {"origin": origin(obj{"accessClientId": "a"})},
		"want either maxAge or disabled": {"origin": origin(nil), "caching": obj{"disabled": true, "maxAge": "1s"}},
		"whole seconds":                  {"origin": origin(nil), "caching": obj{"maxAge": "1500ms"}},
	} {
		err := kind.Decode(&reconcile.Job{Props: p})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
