package miniflare

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

//go:embed website.mjs
var websiteProgram string

// Taken is what a dev server prints once it has taken the bindings of [Website].
const Taken = "athanor: bindings are given"

// Website returns the environment in which the dev server of a framework has the bindings of a Worker, and the storage of a
// [Server] with the same folder. The server is one that runs in Node.js 20.6 or newer, and calls cloudflare() of
// @cloudflare/vite-plugin or getPlatformProxy() of wrangler; it gets them as options of these, and prints [Taken]. classes are the Durable
// Objects of its own code. Values of variables stand in the environment alone, and in no file. left are the bindings that it
// does not get: a configuration of wrangler's in the project may have them.
func Website(w Worker, classes []string, data string) (env map[string]string, left []string, err error) {
	state, err := storage(data)
	if err != nil {
		return nil, nil, err
	}
	config := map[string]any{"name": w.Name}
	vars, names := map[string]any{}, []string{}
	if w.CompatibilityDate != "" {
		config["compatibility_date"] = w.CompatibilityDate
	}
	if len(w.CompatibilityFlags) > 0 {
		config["compatibility_flags"] = w.CompatibilityFlags
	}
	for _, b := range w.Bindings {
		name := text(b, "name")
		switch of := text(b, "type"); {
		case of == "plain_text" || of == "secret_text":
			vars[name] = text(b, "text")
		case of == "json":
			vars[name] = b["json"]
		case wranglers[of] != nil:
			wranglers[of](config, b)
		case of == "assets":
			continue // the framework's
		default:
			left = append(left, name)
			continue
		}
		names = append(names, name)
	}
	if len(classes) > 0 {
		config["migrations"] = []any{map[string]any{"tag": "local", "new_sqlite_classes": classes}}
	}
	given, err := json.Marshal(map[string]any{"config": config, "vars": vars, "names": names, "state": state})
	return map[string]string{
		"ATHANOR_WEBSITE": string(given),
		"NODE_OPTIONS":    nodeOptions(),
		// Nothing is asked of Cloudflare or npm for what runs here.
		"CLOUDFLARE_CF_FETCH_ENABLED": "false", "npm_config_update_notifier": "false",
	}, left, err
}

// nodeOptions are those of the user, and the program that is loaded first.
func nodeOptions() string {
	ours := "--import=data:text/javascript;base64," + base64.StdEncoding.EncodeToString([]byte(websiteProgram))
	if theirs := os.Getenv("NODE_OPTIONS"); theirs != "" {
		return theirs + " " + ours
	}
	return ours
}

// StateOf is the folder that dev servers are given for their state, beside the data of a stage: v3 in it, which Cloudflare's packages
// append, leads to the data. The link is not in the data itself: dev servers watch the project, and would follow it for ever.
func StateOf(data string) string {
	return filepath.Join(filepath.Dir(data), ".website-"+filepath.Base(data))
}

// storage makes the folder of data and that of state.
func storage(data string) (state string, err error) {
	if data, err = filepath.Abs(data); err != nil {
		return "", err
	}
	state = StateOf(data)
	if err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(state, 0o700)); err != nil {
		return "", err
	}
	if err := os.Symlink(filepath.Join("..", filepath.Base(data)), filepath.Join(state, "v3")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return state, nil
}

// wranglers put the bindings of Cloudflare's API into a configuration of wrangler,
// https://developers.cloudflare.com/workers/wrangler/configuration/#bindings. What is missing here, a configuration of the project's
// own may bind.
var wranglers = map[string]func(config, b map[string]any){
	"kv_namespace": listed("kv_namespaces", "binding", map[string]string{"namespace_id": "id"}),
	"d1":           listed("d1_databases", "binding", map[string]string{"id": "database_id", "database_id": "database_id"}),
	"r2_bucket": func(config, b map[string]any) {
		name := text(b, "bucket_name")
		if place := text(b, "jurisdiction"); place != "" && place != "default" {
			name = place + "." + name // each jurisdiction has names of its own
		}
		listed("r2_buckets", "binding", map[string]string{"bucket_name": "bucket_name"})(config, map[string]any{"name": b["name"], "bucket_name": name})
	},
	"queue": inside("queues", "producers", "binding", map[string]string{
		"queue_name": "queue", "delivery_delay": "delivery_delay",
	}),
	"durable_object_namespace": inside("durable_objects", "bindings", "name", map[string]string{
		"class_name": "class_name", "script_name": "script_name",
	}),
	"workflow": listed("workflows", "binding", map[string]string{
		"workflow_name": "name", "class_name": "class_name", "script_name": "script_name",
	}),
	"analytics_engine": listed("analytics_engine_datasets", "binding", map[string]string{"dataset": "dataset"}),
	"ratelimit":        listed("ratelimits", "name", map[string]string{"namespace_id": "namespace_id", "simple": "simple"}),
	"version_metadata": func(config, b map[string]any) {
		config["version_metadata"] = map[string]any{"binding": b["name"]}
	},
	"send_email": listed("send_email", "name", map[string]string{
		"destination_address": "destination_address", "allowed_destination_addresses": "allowed_destination_addresses",
		"allowed_sender_addresses": "allowed_sender_addresses",
	}),
}

// listed adds a binding to a list: under a name, with some members by other names.
func listed(list, name string, members map[string]string) func(config, b map[string]any) {
	return func(config, b map[string]any) {
		one := map[string]any{name: b["name"]}
		for _, from := range slices.Sorted(maps.Keys(members)) {
			if value, ok := b[from]; ok {
				one[members[from]] = value
			}
		}
		all, _ := config[list].([]any)
		config[list] = append(all, one)
	}
}

// inside adds a binding to a list in a group.
func inside(group, list, name string, members map[string]string) func(config, b map[string]any) {
	add := listed(list, name, members)
	return func(config, b map[string]any) {
		in, _ := config[group].(map[string]any)
		if in == nil {
			in = map[string]any{}
			config[group] = in
		}
		add(in, b)
	}
}
