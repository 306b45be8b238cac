package workers

import (
	"reflect"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// TestCheck: what Cloudflare would refuse, or take without doing it, is an error of the declaration, at its path.
func TestCheck(t *testing.T) {
	t.Parallel()
	assets := obj{"assets": obj{"directory": "public"}}
	for want, props := range map[string]obj{
		"code: is required without assets":                                   {},
		"code: want exactly one of bundle, build, directory and script":      with(plain(), obj{"code": obj{"bundle": "a", "script": "b"}}),
		"code.bundle: external, define, alias, minify and sourceMap are":     with(plain(), obj{"code": obj{"script": "b", "minify": true}}),
		"code.bundle: external, define, alias":                               with(plain(), obj{"code": obj{"directory": "b", "define": obj{"A": "1"}}}),
		"code.rules: they are for bundle, build and directory alone":         with(plain(), obj{"code": obj{"script": "b", "rules": obj{".a": "text"}}}),
		`there is ".a": "esm"`:                                               with(plain(), obj{"code": obj{"bundle": "b", "rules": obj{".a": "esm"}}}),
		`there is "a": "text"`:                                               with(plain(), obj{"code": obj{"bundle": "b", "rules": obj{"a": "text"}}}),
		`there is "./a": "b"`:                                                with(plain(), obj{"code": obj{"bundle": "b", "alias": obj{"./a": "b"}}}),
		"code.main: it is for directory alone":                               with(plain(), obj{"code": obj{"script": "b", "main": "b.js"}}),
		"code: is required with env":                                         with(assets, obj{"env": obj{"A": "b"}}),
		"assets.runWorkerFirst: there is no code to run":                     {"assets": obj{"directory": "public", "runWorkerFirst": true}},
		"assets: is required: a binding is to them":                          with(plain(), obj{"env": obj{"A": obj{"assets": true}}}),
		"assets.runWorkerFirstAt: runWorkerFirst is everywhere":              with(plain(), obj{"assets": obj{"directory": "a", "runWorkerFirst": true, "runWorkerFirstAt": list{"/"}}}),
		"name: want up to 63":                                                with(plain(), obj{"name": "Shop"}),
		"compatibilityDate: is required with code":                           {"code": obj{"script": "a"}},
		"compatibilityDate: want a date":                                     with(plain(), obj{"compatibilityDate": "today"}),
		"limits.cpu: want whole milliseconds":                                with(plain(), obj{"limits": obj{"cpu": "1500us"}}),
		"placement: want one of":                                             with(plain(), obj{"placement": obj{"mode": "smart", "region": "aws:eu-west-1"}}),
		"crons[1]: want five fields":                                         with(plain(), obj{"crons": list{"* * * * *", "hourly"}}),
		"domains[0]: want a host name in lower case":                         with(plain(), obj{"domains": list{"Shop.example"}}),
		"domains[1]: is named twice":                                         with(plain(), obj{"domains": list{"shop.example", "shop.example"}}),
		"tags[1]: is named twice":                                            with(plain(), obj{"tags": list{"a", "a"}}),
		"compatibilityFlags[1]: is named twice":                              with(plain(), obj{"compatibilityFlags": list{"a", "a"}}),
		"tags: want at most four":                                            with(plain(), obj{"tags": list{"a", "b", "c", "d", "e"}}),
		"tags[0]: this is how an owner tag":                                  with(plain(), obj{"tags": list{"athanor:stack=other"}}),
		"tags[0]: want text without":                                         with(plain(), obj{"tags": list{"a,b"}}),
		"env.A: want a value":                                                with(plain(), obj{"env": obj{"A": nil}}),
		"env.A: want what it is bound to":                                    with(plain(), obj{"env": obj{"A": obj{}}}),
		"env.A: want what it is bound to, one of text, json, secret, kv, r2": with(plain(), obj{"env": obj{"A": obj{"kv": cache, "d1": orders}}}),
		"have kv and d1":                                                     with(plain(), obj{"bindings": obj{"A": obj{"kv": cache, "d1": orders}}}),
		"env.A.kvv: is not a prop":                                           with(plain(), obj{"env": obj{"A": obj{"kvv": cache}}}),
		"env.A.jurisdiction: does not belong to kv":                          with(plain(), obj{"env": obj{"A": obj{"kv": cache, "jurisdiction": "eu"}}}),
		"bindings.A: env has an entry of this name":                          with(plain(), obj{"env": obj{"A": "b"}, "bindings": obj{"A": obj{"kv": cache}}}),
		"bindings.A.class: is required with workflow":                        with(plain(), obj{"bindings": obj{"A": obj{"workflow": "flow"}}}),
		"bindings.A.rateLimit.period: want 10s or 60s":                       with(plain(), obj{"bindings": obj{"A": obj{"rateLimit": obj{"namespace": "1", "limit": int64(1), "period": "1s"}}}}),
		"bindings.A.secretKey: want jwk for the format jwk":                  with(plain(), obj{"bindings": obj{"A": obj{"secretKey": obj{"algorithm": "HMAC", "format": "jwk", "usages": list{"sign"}, "base64": "a"}}}}),
		"env.A: durableObjects does not declare the class":                   with(plain(), obj{"env": obj{"A": obj{"durableObject": "Room"}}}),
		"durableObjects.Room.renamedFrom: it has this name":                  with(plain(), obj{"durableObjects": obj{"Room": obj{"renamedFrom": "Room"}}}),
		"durableObjects.Room.renamedFrom: this class is declared too":        with(plain(), obj{"durableObjects": obj{"Room": obj{"renamedFrom": "Desk"}, "Desk": obj{}}}),
		"durableObjects.Room.renamedFrom: durableObjects.Hall was it too":    with(plain(), obj{"durableObjects": obj{"Hall": obj{"renamedFrom": "Old"}, "Room": obj{"renamedFrom": "Old"}}}),
	} {
		err := workerKind.Erase().Decode(&reconcile.Job{Props: props})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := workerKind.Erase().Decode(&reconcile.Job{Props: assets}); err != nil {
		t.Errorf("assets alone: %v", err)
	}
}

// TestEnv: what constructors return means the same as what a program in YAML writes.
func TestEnv(t *testing.T) {
	t.Parallel()
	have := Env{
		"CACHE": kv.Namespace{ID: "c"}, "DB": d1.Database{ID: "d"}, "JOBS": queues.Queue{ID: "i", Name: "jobs"}, "FILES": r2.Bucket{Name: "files", Jurisdiction: "eu"},
		"SQL": hyperdrive.Config{ID: "h"}, "PAY": workflows.Workflow{Name: "pay", Class: "Checkout", Script: "shop"},
		"AUTH": Worker{Name: "auth"}, "AI": Binding{AI: true}, "STAGE": "prod", "TURNS": 3, "KEY": token.Secret("key"), "OTHER": struct{}{},
	}.declared()
	want := Env{
		"CACHE": obj{"kv": "c"}, "DB": obj{"d1": "d"}, "JOBS": obj{"queue": "jobs"}, "FILES": obj{"r2": "files", "jurisdiction": "eu"},
		"SQL": obj{"hyperdrive": "h"}, "PAY": obj{"workflow": "pay", "class": "Checkout", "script": "shop"},
		"AUTH": obj{"service": "auth"}, "AI": obj{"ai": true}, "STAGE": "prod", "TURNS": 3, "KEY": token.Secret("key"), "OTHER": struct{}{},
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
}

// TestBindingsBothWays: what is written of every type is what is read.
func TestBindingsBothWays(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, entry := range bound() {
		row := rowOf(entry, false)
		kind, ok := typeOf(row)
		if !ok {
			t.Fatalf("%s: no type", name)
		}
		seen[kind.prop] = true
		wire := kind.onWire(name, row)
		if wire["name"] != name || wire["type"] != kind.wire {
			t.Errorf("%s is written as %v", name, wire)
		}
		want, hidden := apart(row)
		if hidden != nil {
			continue // it is not told
		}
		if have := offWire(wire); !reflect.DeepEqual(have, want) {
			t.Errorf("%s: written as %v it is read as %v, want %v", name, wire, have, want)
		}
	}
	for _, kind := range bindingTypes {
		if !seen[kind.prop] && kind.prop != "assets" {
			t.Errorf("%s is not tried", kind.prop)
		}
	}
	if have := offWire(obj{"type": "new", "name": "A"}); !reflect.DeepEqual(have, obj{"type": "new"}) {
		t.Errorf("a type of tomorrow is read as %v", have)
	}
}
