package workers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// row is a binding as a tree, with the names of [Binding].
type row = map[string]any

// bindingType says how one type of binding is written on the wire.
type bindingType struct {
	// prop tells the type: the one of Binding that is set. wire is its name on the wire.
	prop, wire string
	// fields are paths on the wire by those of the row. A flag has none.
	fields map[tree.Path]tree.Path
}

// bindingTypes are all types but those of scripts without modules.
// https://developers.cloudflare.com/api/resources/workers/subresources/scripts/methods/update/
var bindingTypes = []bindingType{
	{"text", "plain_text", map[tree.Path]tree.Path{"text": "text"}},
	{"json", "json", map[tree.Path]tree.Path{"json": "json"}},
	{"secret", "secret_text", map[tree.Path]tree.Path{"secret": "text"}},
	{"kv", "kv_namespace", map[tree.Path]tree.Path{"kv": "namespace_id"}},
	{"r2", "r2_bucket", map[tree.Path]tree.Path{"r2": "bucket_name", "jurisdiction": "jurisdiction"}},
	{"d1", "d1", map[tree.Path]tree.Path{"d1": "database_id"}},
	{"queue", "queue", map[tree.Path]tree.Path{"queue": "queue_name"}},
	{"durableObject", "durable_object_namespace", map[tree.Path]tree.Path{"durableObject": "class_name", "script": "script_name"}},
	{"workflow", "workflow", map[tree.Path]tree.Path{"workflow": "workflow_name", "class": "class_name", "script": "script_name"}},
	{"service", "service", map[tree.Path]tree.Path{"service": "service", "entrypoint": "entrypoint"}},
	{"vectorize", "vectorize", map[tree.Path]tree.Path{"vectorize": "index_name"}},
	{"hyperdrive", "hyperdrive", map[tree.Path]tree.Path{"hyperdrive": "id"}},
	{"ai", "ai", nil},
	{"aiSearch", "ai_search", map[tree.Path]tree.Path{"aiSearch.instance": "instance_name", "aiSearch.namespace": "namespace"}},
	{"aiSearchNamespace", "ai_search_namespace", map[tree.Path]tree.Path{"aiSearchNamespace": "namespace"}},
	{"analyticsEngine", "analytics_engine", map[tree.Path]tree.Path{"analyticsEngine": "dataset"}},
	{"artifacts", "artifacts", map[tree.Path]tree.Path{"artifacts": "namespace"}},
	{"assets", "assets", nil},
	{"browser", "browser", nil},
	{"dispatchNamespace", "dispatch_namespace", map[tree.Path]tree.Path{
		"dispatchNamespace": "namespace", "outbound.worker": "outbound.worker.service", "outbound.entrypoint": "outbound.worker.entrypoint",
		"outbound.params": "outbound.params",
	}},
	{"flagship", "flagship", map[tree.Path]tree.Path{"flagship": "app_id"}},
	{"images", "images", nil},
	{"media", "media", nil},
	{"mtls", "mtls_certificate", map[tree.Path]tree.Path{"mtls": "certificate_id"}},
	{"pipeline", "pipelines", map[tree.Path]tree.Path{"pipeline": "pipeline"}},
	{"rateLimit", "ratelimit", map[tree.Path]tree.Path{
		"rateLimit.namespace": "namespace_id", "rateLimit.limit": "simple.limit", "rateLimit.period": "simple.period",
	}},
	{"secretKey", "secret_key", map[tree.Path]tree.Path{
		"secretKey.algorithm": "algorithm", "secretKey.format": "format", "secretKey.usages": "usages", "secretKey.base64": "key_base64",
		"secretKey.jwk": "key_jwk",
	}},
	{"secretsStore", "secrets_store_secret", map[tree.Path]tree.Path{"secretsStore.store": "store_id", "secretsStore.name": "secret_name"}},
	{"sendEmail", "send_email", map[tree.Path]tree.Path{
		"sendEmail.destination": "destination_address", "sendEmail.destinations": "allowed_destination_addresses",
		"sendEmail.senders": "allowed_sender_addresses",
	}},
	{"versionMetadata", "version_metadata", nil},
	{"vpcService", "vpc_service", map[tree.Path]tree.Path{"vpcService": "service_id"}},
	{"vpcNetwork", "vpc_network", map[tree.Path]tree.Path{"vpcNetwork.network": "network_id", "vpcNetwork.tunnel": "tunnel_id"}},
	{"workerLoader", "worker_loader", nil},
}

// typeOf is the type of a row: of the first prop that tells one.
func typeOf(r row) (bindingType, bool) {
	i := slices.IndexFunc(bindingTypes, func(t bindingType) bool { _, set := r[t.prop]; return set })
	if i < 0 {
		return bindingType{}, false
	}
	return bindingTypes[i], true
}

// conversions are the values that the wire spells in another way.
var conversions = map[tree.Path]struct{ write, read func(any) any }{
	"rateLimit.period": {
		func(v any) any {
			text, _ := v.(string)
			span, _ := token.ParseDuration(text) // it was checked
			return int64(span / time.Second)
		},
		func(v any) any {
			n, _ := v.(int64)
			return token.FormatDuration(time.Duration(n) * time.Second)
		},
	},
	"outbound.params": {
		func(v any) any {
			var all []any
			for _, name := range v.([]any) {
				all = append(all, map[string]any{"name": name})
			}
			return all
		},
		func(v any) any {
			var all []any
			for _, one := range asList(v) {
				name, _ := tree.Get(one, "name")
				all = append(all, name)
			}
			return all
		},
	},
	"secretKey.jwk": {
		func(v any) any {
			text, _ := v.(string)
			key, _ := tree.Decode([]byte(text)) // what is no JSON is refused by Cloudflare
			return key
		},
		nil,
	},
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// onWire is a row as Cloudflare wants it.
func (t bindingType) onWire(name string, r row) map[string]any {
	var wire any = map[string]any{"name": name, "type": t.wire}
	for _, from := range slices.Sorted(maps.Keys(t.fields)) {
		v, set := tree.Get(r, from)
		if !set || v == nil {
			continue
		}
		if c := conversions[from]; c.write != nil {
			v = c.write(v)
		}
		wire = tree.With(wire, t.fields[from], v)
	}
	written := wire.(map[string]any)
	if t.prop == "sendEmail" && len(written) == 2 {
		written["destination_address"] = nil // name and type alone would leave it as it was
	}
	return written
}

// offWire is the row that a binding of Cloudflare is. What is secret is not shown, and stands there as a mask.
func offWire(wire map[string]any) row {
	kind, _ := wire["type"].(string)
	i := slices.IndexFunc(bindingTypes, func(t bindingType) bool { return t.wire == kind })
	if i < 0 { // of a type that no row says: it differs from all of them
		return row{"type": kind}
	}
	t := bindingTypes[i]
	var r any = row{}
	for _, to := range slices.Sorted(maps.Keys(t.fields)) {
		v, set := tree.Get(wire, t.fields[to])
		if !set || v == nil {
			continue
		}
		if c := conversions[to]; c.read != nil {
			v = c.read(v)
		}
		r = tree.With(r, to, v)
	}
	read := r.(row)
	switch {
	case len(t.fields) == 0:
		read[t.prop] = true
	case t.prop == "secret":
		read["secret"] = reconcile.Mask
	case read[t.prop] == nil: // a struct of which nothing is set
		read[t.prop] = map[string]any{}
	}
	return read
}

// rowOf reads an entry of env: text, a number, a truth or a list as it is, or a binding.
func rowOf(entry any, secret bool) row {
	switch at := entry.(type) {
	case row:
		var b Binding
		if props.Decode(at, &b) == nil { // one spelling of each value
			if r, err := props.Encode(b); err == nil {
				return r
			}
		}
		return at
	case string:
		if secret {
			return row{"secret": at}
		}
		return row{"text": at}
	}
	return row{"json": entry}
}

// spelled is the shortest way to declare a row in env.
func spelled(r row) any {
	if text, ok := r["text"]; ok {
		return text
	}
	switch v := r["json"].(type) {
	case nil, map[string]any, string:
		return r
	default:
		return v
	}
}

// holdsHidden reports a row whose value nobody can read back.
func holdsHidden(r row) bool {
	_, text := r["secret"]
	_, key := r["secretKey"]
	return text || key
}

// apart divides a row into what can be read back and what is write-only.
func apart(r row) (shown row, hidden any) {
	if v, ok := r["secret"]; ok {
		return row{"secret": reconcile.Mask}, v
	}
	key, ok := r["secretKey"].(map[string]any)
	if !ok {
		return settled(r), nil
	}
	shownKey := maps.Clone(key)
	delete(shownKey, "base64")
	delete(shownKey, "jwk")
	return row{"secretKey": shownKey}, []any{key["base64"], key["jwk"]}
}

// settled is a row without what says the default.
func settled(r row) row {
	if r["jurisdiction"] == "default" {
		r = maps.Clone(r)
		delete(r, "jurisdiction")
	}
	return r
}

// checkRow finds what is wrong with an entry of env or bindings.
func checkRow(at tree.Path, entry any) props.Errors {
	r, ok := entry.(row)
	if !ok {
		return nil
	}
	var problems props.Errors
	var b Binding
	if err := props.Decode(r, &b); err != nil {
		for _, e := range asErrors(err) {
			problems = append(problems, &props.FieldError{Path: at.Join(e.Path), Problem: e.Problem, Hint: e.Hint})
		}
		return problems
	}
	var set []string
	for _, t := range bindingTypes {
		if _, ok := r[t.prop]; ok {
			set = append(set, t.prop)
		}
	}
	if len(set) != 1 {
		problems.Wrong(at, "want what it is bound to, one of text, json, secret, kv, r2, d1, queue, service and the like"+have(set))
		return problems
	}
	t, _ := typeOf(r)
	for name := range r {
		if name != t.prop && !slices.ContainsFunc(slices.Collect(maps.Keys(t.fields)), func(p tree.Path) bool { return p.Within(tree.Path(name)) }) {
			problems.Wrong(at.Key(name), "does not belong to "+t.prop)
		}
	}
	if b.RateLimit != nil && b.RateLimit.Period != 10*time.Second && b.RateLimit.Period != time.Minute {
		problems.Wrong(at.Key("rateLimit").Key("period"), "want 10s or 60s")
	}
	if b.Workflow != "" && b.Class == "" {
		problems.Wrong(at.Key("class"), "is required with workflow")
	}
	if k := b.SecretKey; k != nil && !token.Has(k.Format) && ((k.Format == "jwk") != (k.JWK != "") || (k.Base64 != "") == (k.JWK != "")) {
		problems.Wrong(at.Key("secretKey"), "want jwk for the format jwk, and base64 for others")
	}
	return problems
}

func have(set []string) string {
	if len(set) == 0 {
		return ""
	}
	return fmt.Sprintf(", have %s", strings.Join(set, " and "))
}
