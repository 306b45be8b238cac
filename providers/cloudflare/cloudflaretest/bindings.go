package cloudflaretest

import (
	"fmt"
	"maps"
	"slices"
)

// versioned are the settings that each version has its own of.
var versioned = []string{"compatibility_date", "compatibility_flags", "limits", "placement", "usage_model", "cache_options"}

// candidate is the version that an upload would make, with bindings of the kept types from the one before. What it is bound
// to is not looked at.
func (w *world) candidate(r request, k *worker, u Upload, kept ...any) (*version, *failure) {
	if f := u.runs(); f != nil {
		return nil, f
	}
	if tags, _ := u.Metadata["tags"].([]any); len(tags) > 10 {
		w.wrong("an upload with %d tags: Cloudflare keeps ten", len(tags))
	}
	v := &version{id: uuid(), made: w.now(), upload: u, settings: object{}, annotations: object{}}
	for _, name := range versioned {
		if value, sent := u.Metadata[name]; sent && value != nil {
			v.settings[name] = value
		}
	}
	if notes, sent := u.Metadata["annotations"].(object); sent {
		v.annotations = maps.Clone(notes)
	}
	v.annotations["workers/triggered_by"] = "upload" // as wrangler reads it (its versions/list.ts)
	sent, _ := u.Metadata["bindings"].([]any)
	var f *failure
	asked, _ := u.Metadata["keep_bindings"].([]any)
	if v.bindings, f = k.bindings(sent, append(slices.Clone(asked), kept...), r.query.Get("bindings_inherit") == "strict"); f != nil {
		return nil, f
	}
	v.assets, f = w.attached(k, u.Metadata)
	return v, f
}

// secretTypes are the bindings that an upload keeps when it does not name them: "secrets are never deleted by deployments", as
// wrangler's own help says (deploy --keep-vars). It deploys a Worker that is there by uploading a version, in which it asks for
// nothing to be kept (keepSecrets of its deploy/deploy.ts).
var secretTypes = []any{"secret_text", "secret_key"}

// bindings are those that a version gets: the ones sent, with those of the version before where it says inherit, and
// all of the types that are kept.
func (k *worker) bindings(sent, kept []any, strict bool) ([]object, *failure) {
	before := map[string]object{}
	if len(k.versions) > 0 {
		for _, b := range k.live().bindings {
			before[b["name"].(string)] = b
		}
	}
	var all []object
	names := map[any]bool{}
	for _, one := range sent {
		b := maps.Clone(one.(object))
		if names[b["name"]] {
			return nil, &failure{status: 400, code: 10021, message: fmt.Sprintf("Binding name '%s' already in use.", b["name"])}
		}
		names[b["name"]] = true
		if was := before[b["name"].(string)]; was != nil && len(b) == 2 && b["type"] == was["type"] {
			b = was // of which nothing is said but that it stays, as wrangler does (its secret/index.ts)
		}
		if b["type"] == "inherit" {
			old, _ := b["old_name"].(string)
			if old == "" {
				old = b["name"].(string)
			}
			was := before[old]
			if was == nil && strict {
				return nil, &failure{status: 400, code: 10021, message: "Cannot inherit binding '" + old + "': the Worker has none of this name"}
			}
			if was == nil {
				continue
			}
			was = maps.Clone(was)
			was["name"] = b["name"]
			b = was
		}
		all = append(all, b)
	}
	for _, b := range sorted(before) {
		if slices.Contains(kept, b["type"]) && !names[b["name"]] {
			all = append(all, b)
		}
	}
	return all, nil
}

// bound checks that there is what a version is bound to.
func (w *world) bound(k *worker, v *version) *failure {
	for _, b := range v.bindings {
		kind, _ := b["type"].(string)
		if check := targets[kind]; check != nil {
			if f := check(w, k, v, b); f != nil {
				return f
			}
		}
	}
	return w.exported(k, v)
}

// targets are the checks of bindings by type. Of the other types nothing is known here that could be missing.
var targets = map[string]func(w *world, k *worker, v *version, b object) *failure{
	"kv_namespace": func(w *world, k *worker, _ *version, b object) *failure {
		for _, n := range w.kv.spaces {
			if n.account == k.account && n.id == b["namespace_id"] {
				return nil
			}
		}
		return &failure{status: 400, code: 10041, message: fmt.Sprintf("KV namespace '%s' not found. Verify the namespace exists in your account and that the namespace_id is correct.", b["namespace_id"])}
	},
	"r2_bucket": func(w *world, k *worker, _ *version, b object) *failure {
		for _, found := range w.buckets {
			place, _ := b["jurisdiction"].(string)
			if place == "" {
				place = "default"
			}
			if found.account == k.account && found.name == b["bucket_name"] && found.jurisdiction == place {
				return nil
			}
		}
		return &failure{status: 400, code: 10085, message: fmt.Sprintf("R2 bucket '%s' not found. Verify the bucket exists in your account and that the bucket_name is correct.", b["bucket_name"])}
	},
	"d1": func(w *world, k *worker, _ *version, b object) *failure {
		for _, d := range w.bases {
			if d.account == k.account && d.id == databaseOf(b) {
				return nil
			}
		}
		return &failure{status: 400, code: 10181, message: fmt.Sprintf("D1 binding '%s' references database '%s' which was not found.", b["name"], databaseOf(b))}
	},
	"queue": func(w *world, k *worker, _ *version, b object) *failure {
		for _, q := range w.queues {
			if q.account == k.account && q.name == b["queue_name"] {
				return nil
			}
		}
		return &failure{status: 400, code: 11000, message: fmt.Sprintf("Queue '%s' not found. Please verify it exists and try again.", b["queue_name"])}
	},
	"service": func(w *world, k *worker, _ *version, b object) *failure {
		name, _ := b["service"].(string)
		if name == k.name || w.worker(k.account, name) != nil {
			return nil
		}
		if b["environment"] == nil {
			return &failure{status: 400, code: 10143, message: fmt.Sprintf("Service binding '%s' references Worker '%s' which was not found. Verify the Worker exists in your account and that the service name in your configuration is correct.", b["name"], name)}
		}
		return &failure{status: 400, code: 10144, message: fmt.Sprintf("Service binding '%s' references environment 'production' on Worker '%s' which was not found.", b["name"], name)}
	},
	"durable_object_namespace": classBound,
	"assets": func(_ *world, _ *worker, v *version, b object) *failure {
		if v.assets != nil {
			return nil
		}
		return &failure{status: 400, code: 10021, message: fmt.Sprintf("binding %s of type assets, and the version has none", b["name"])}
	},
}

// databaseOf is the id of a database that a binding is to: wrangler writes it as id.
func databaseOf(b object) string {
	for _, name := range []string{"database_id", "id"} {
		if id, _ := b[name].(string); id != "" {
			return id
		}
	}
	return ""
}

// readable are the bindings of a version as reads tell them: secrets by their names alone.
func (w *world) readable(k *worker, v *version) []any {
	all := make([]any, 0, len(v.bindings))
	for _, b := range v.bindings {
		b = maps.Clone(b)
		switch b["type"] {
		case "secret_text":
			delete(b, "text")
		case "secret_key":
			delete(b, "key_base64")
			delete(b, "key_jwk")
		case "d1":
			b["id"], b["database_id"] = databaseOf(b), databaseOf(b)
		case "durable_object_namespace":
			owner := k
			if name, _ := b["script_name"].(string); name != "" {
				owner = w.worker(k.account, name)
			}
			if c := owner.class(fmt.Sprint(b["class_name"])); c != nil {
				b["namespace_id"] = c.id
			}
		case "service":
			if b["environment"] == nil {
				b["environment"] = "production"
			}
		}
		for name, value := range b { // what is null is not told
			if value == nil {
				delete(b, name)
			}
		}
		all = append(all, b)
	}
	return all
}
