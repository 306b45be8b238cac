package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// sum is that of the table, which task cloudflare:table makes anew.
const sum = "380556087dcd2507a2335615dc960a3a5396870149b03387f5f3cd3579ca6324"

func TestTable(t *testing.T) {
	have := sha256.Sum256(table)
	if hex.EncodeToString(have[:]) != sum {
		t.Errorf("the table is %x: review what changed, and write the sum down here", have)
	}
	if len(table) > 100_000 {
		t.Errorf("the table has %d bytes", len(table))
	}
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[Shape]int{}
	for _, name := range names {
		typ := lookup(t, name)
		shapes[typ.Shape]++
		if typ.Read == nil || typ.Shape != Setting && (typ.Create == nil || typ.Delete == nil || typ.ID == "") || typ.Shape == Setting && !typ.Changes() {
			t.Errorf("%s cannot be served", name)
		}
		for _, p := range typ.Parents() {
			if typ.Root.Properties[p] != nil {
				t.Errorf("%s: %s is a part of the path and a property", name, p)
			}
		}
	}
	// The numbers are documented in docs/cloudflare-types.md.
	if shapes[Collection] != 174 || shapes[Named] != 3 || shapes[Setting] != 75 {
		t.Errorf("%v", shapes)
	}
	unserved, err := Unserved()
	if err != nil || len(unserved) != 64 {
		t.Errorf("%d types are not served, %v", len(unserved), err)
	}
}

func lookup(t *testing.T, name string) *Type {
	t.Helper()
	typ, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestOverlays holds every path of the overlay against the description.
func TestOverlays(t *testing.T) {
	for name, o := range overlays {
		typ := lookup(t, name)
		for _, all := range [][]tree.Path{o.Immutable, o.Hidden, o.Unordered} {
			for _, p := range all {
				if !has(typ.Root, p) {
					t.Errorf("%s has no property %s", name, p)
				}
			}
		}
		for p, why := range o.Refused {
			if !has(typ.Root, p) || why == "" {
				t.Errorf("%s refuses %s: %q", name, p, why)
			}
		}
		for _, p := range o.Secret {
			if !has(typ.Root, p) && !has(typ.Answer, p) && !strings.Contains(strings.Join(typ.OnceShown, " "), string(p)) {
				t.Errorf("%s has no secret %s", name, p)
			}
		}
		if o.NameShown != "" && typ.Answer.Properties[o.NameShown] == nil {
			t.Errorf("%s shows no %s", name, o.NameShown)
		}
		if r := o.Ready; r != nil && !has(typ.Answer, tree.Path(r.Property)) {
			t.Errorf("%s shows no %s", name, r.Property)
		}
	}
}

func has(n *Node, p tree.Path) bool {
	for _, s := range p.Steps() {
		if s.Any {
			n = n.Element()
			continue
		}
		if n.Properties[s.Key] == nil {
			return false
		}
		n = n.Properties[s.Key]
	}
	return true
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]error{
		"cloudflare.turnstile.Wigdet": ErrUnknown, "cloudflare.kv.Namespace": ErrUnserved, "cloudflare.stream.Video": ErrUnserved, "Widget": ErrUnknown,
	} {
		if _, err := Lookup(name); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, err := Lookup("cloudflare.kv.Namespace"); err == nil || !strings.Contains(err.Error(), "use cloudflare.KVNamespace") {
		t.Errorf("%v", err)
	}
	app := lookup(t, "cloudflare.zerotrust.AccessApplication")
	if !app.ZoneOptional() || app.ID != "id" || app.NameProp != "name" {
		t.Errorf("%s %q %q", app.Path, app.ID, app.NameProp)
	}
	if token := lookup(t, "cloudflare.zerotrust.AccessServiceToken"); len(token.OnceShown) != 1 || token.OnceShown[0] != "client_secret" || !token.SecretAt("client_secret") {
		t.Errorf("shown once: %v", token.OnceShown)
	}
	if route := lookup(t, "cloudflare.zerotrust.TunnelRoute"); route.Tag != "comment" {
		t.Errorf("the owner tag stands in %q", route.Tag)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, typ string
		declared  obj
		want      []string
	}{
		{"right", "turnstile.Widget", obj{"mode": "managed", "domains": list{"example.com"}}, nil},
		{"a word that is none", "turnstile.Widget", obj{"mode": "manged", "domains": list{}}, []string{"mode: want one of non-interactive, invisible, managed; did you mean managed?"}},
		{"a name that is none", "turnstile.Widget", obj{"mode": "managed", "domains": list{}, "bot_fight": true}, []string{"bot_fight: is not a property"}},
		{"missing", "turnstile.Widget", obj{"mode": "managed"}, []string{"domains: is required"}},
		{"a wrong type", "turnstile.Widget", obj{"mode": "managed", "domains": "example.com"}, []string{"domains: want a list, have text"}},
		{"deep", "loadbalancers.Pool", obj{"origins": list{obj{"name": "a", "address": "192.0.2.1", "wheight": int64(1)}}}, []string{"origins[0].wheight: is not a property; did you mean weight?"}},
		{"no zone", "waitingrooms.Event", obj{"waiting_room_id": "x", "event_start_time": "a", "event_end_time": "b"}, []string{"zone: is required"}},
		{"no parent", "secretsstore.Secret", obj{"scopes": list{"workers"}, "value": "x"}, []string{"store_id: is required"}},
		{"a secret is not repeated", "secretsstore.Secret", obj{"store_id": "x", "scopes": list{"workers"}, "value": list{"hush"}}, []string{"value: want text, have a list"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := lookup(t, Prefix+c.typ).Check(c.declared)
			var have []string
			for _, e := range errs {
				text := string(e.Path) + ": " + e.Problem
				if e.Hint != "" {
					text += "; " + e.Hint
				}
				have = append(have, text)
			}
			if strings.Join(have, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("have %q, want %q", have, c.want)
			}
		})
	}
}
