package cloudflaretest

import (
	"maps"
	"slices"
	"strings"
)

var settingHandlers = map[string]handler{
	"workers.GetScriptScriptAndVersionSetting":   onWorker(func(w *world, _ request, k *worker) (any, *failure) { return w.settings(k), nil }),
	"workers.PatchScriptScriptAndVersionSetting": onWorker(patchSettings),
	"workers.GetScriptSetting":                   onWorker(func(_ *world, _ request, k *worker) (any, *failure) { return k.unversioned(), nil }),
	"workers.PatchScriptSetting":                 onWorker(patchUnversioned),
	"workers.ListScriptSecrets":                  onWorker(listSecrets),
	"workers.PutScriptSecret":                    onWorker(putSecret),
	"workers.GetScriptSecret":                    onSecret(func(_ *world, _ *worker, b object) (any, *failure) { return b, nil }),
	"workers.DeleteScriptSecret":                 onSecret(deleteSecret),
}

func (k *worker) unversioned() object {
	return object{"logpush": k.logpush, "observability": k.observability, "tags": k.tags, "tail_consumers": k.tailConsumers}
}

func (w *world) settings(k *worker) object {
	v := k.live()
	o := k.unversioned()
	o["bindings"], o["annotations"], o["usage_model"] = w.readable(k, v), v.annotations, "standard"
	o["compatibility_flags"], o["placement"] = []any{}, object{}
	for name, value := range v.settings {
		if name != "cache_options" {
			o[name] = value
		}
	}
	return o
}

// patchSettings changes what is sent. Of what is versioned that makes a version, which is live at once.
func patchSettings(w *world, r request, k *worker) (any, *failure) {
	if !strings.HasPrefix(r.header.Get("Content-Type"), "multipart/form-data") {
		return nil, &failure{status: 400, code: 10001, message: "Content-Type must be 'multipart/form-data'"}
	}
	sent, _ := r.body["settings"].(object)
	v := k.next(w)
	v.settings = maps.Clone(v.settings)
	changed := false
	for _, name := range versioned {
		switch value, given := sent[name]; {
		case !given:
		case value == nil: // it is as it is where an upload does not name it
			changed = true
			delete(v.settings, name)
		default:
			v.settings[name], changed = value, true
		}
	}
	if notes, given := sent["annotations"].(object); given {
		v.annotations = notes
	}
	if bindings, given := sent["bindings"].([]any); given {
		var f *failure
		if v.bindings, f = k.bindings(bindings, nil, true); f != nil {
			return nil, f
		}
		changed = true
	}
	was := *k
	f := w.migrate(k, v, sent["migrations"])
	if f == nil {
		f = w.bound(k, v)
	}
	if f != nil {
		*k = was
		return nil, f
	}
	if changed || sent["migrations"] != nil {
		w.deploy(k, v)
	}
	k.set(sent)
	return w.settings(k), nil
}

// next is a version like the one that is live.
func (k *worker) next(w *world) *version {
	v := *k.live()
	v.id, v.made, v.annotations = uuid(), w.now(), object{}
	return &v
}

// set changes those of the settings without versions that are sent.
func (k *worker) set(sent object) {
	if tags, given := sent["tags"].([]any); given {
		k.tags = tags
	}
	if on, given := sent["logpush"].(bool); given {
		k.logpush = on
	}
	if value, given := sent["observability"]; given {
		k.observability = value
	}
	if consumers, given := sent["tail_consumers"].([]any); given {
		k.tailConsumers = consumers
	}
}

func patchUnversioned(w *world, r request, k *worker) (any, *failure) {
	k.set(r.body)
	k.modified = w.now()
	return k.unversioned(), nil
}

func secretBinding(b object) bool { return b["type"] == "secret_text" || b["type"] == "secret_key" }

func (w *world) secrets(k *worker) []any {
	return slices.DeleteFunc(w.readable(k, k.live()), func(b any) bool { return !secretBinding(b.(object)) })
}

func listSecrets(w *world, _ request, k *worker) (any, *failure) {
	return whole{"success": true, "errors": []any{}, "messages": []any{}, "result": w.secrets(k)}, nil
}

// latest refuses to change a Worker whose newest version is not the live one, which would go live with the change.
func (k *worker) latest() *failure {
	if k.live() != k.versions[len(k.versions)-1] {
		return &failure{status: 400, code: 10215, message: "Secret edit failed. You attempted to modify a secret, but the latest version of your Worker isn't currently deployed."}
	}
	return nil
}

func putSecret(w *world, r request, k *worker) (any, *failure) {
	if f := k.latest(); f != nil {
		return nil, f
	}
	secret := object{}
	for _, name := range []string{"name", "type", "text", "algorithm", "format", "usages", "key_base64", "key_jwk"} {
		if value, sent := r.body[name]; sent {
			secret[name] = value
		}
	}
	for _, b := range k.live().bindings {
		if b["name"] == secret["name"] && !secretBinding(b) {
			return nil, &failure{status: 400, code: 10053, message: "Binding name '" + r.text("name") + "' already in use. Please use a different name and try again."}
		}
	}
	v := k.next(w)
	v.bindings = slices.DeleteFunc(slices.Clone(v.bindings), func(b object) bool { return b["name"] == secret["name"] })
	v.bindings = append(v.bindings, secret)
	v.annotations["workers/triggered_by"] = "secret"
	w.deploy(k, v)
	shown := maps.Clone(secret)
	for _, name := range []string{"text", "key_base64", "key_jwk"} {
		delete(shown, name)
	}
	return shown, nil
}

func onSecret(do func(*world, *worker, object) (any, *failure)) handler {
	return onWorker(func(w *world, r request, k *worker) (any, *failure) {
		for _, b := range w.secrets(k) {
			if b := b.(object); b["name"] == r.path["secretName"] {
				return do(w, k, b)
			}
		}
		return nil, &failure{status: 404, code: 10056, message: "Binding '" + r.path["secretName"] + "' not found"}
	})
}

func deleteSecret(w *world, k *worker, secret object) (any, *failure) {
	if f := k.latest(); f != nil {
		return nil, f
	}
	v := k.next(w)
	v.bindings = slices.DeleteFunc(slices.Clone(v.bindings), func(b object) bool { return b["name"] == secret["name"] })
	w.deploy(k, v)
	return nil, nil
}
