package miniflare

import (
	"maps"
	"slices"
)

// bindings translate those of Cloudflare's API: the option of miniflare, and what it has under the binding's name.
var bindings = map[string]func(b map[string]any) (option string, value any){
	"plain_text":  func(b map[string]any) (string, any) { return "bindings", text(b, "text") },
	"secret_text": func(b map[string]any) (string, any) { return "bindings", text(b, "text") },
	"json":        func(b map[string]any) (string, any) { return "bindings", b["json"] },
	"kv_namespace": func(b map[string]any) (string, any) {
		return "kvNamespaces", text(b, "namespace_id")
	},
	"d1": func(b map[string]any) (string, any) {
		if id := text(b, "database_id"); id != "" {
			return "d1Databases", id
		}
		return "d1Databases", text(b, "id")
	},
	// Each jurisdiction has names of its own.
	"r2_bucket": func(b map[string]any) (string, any) {
		if place := text(b, "jurisdiction"); place != "" && place != "default" {
			return "r2Buckets", place + "." + text(b, "bucket_name")
		}
		return "r2Buckets", text(b, "bucket_name")
	},
	"queue": func(b map[string]any) (string, any) {
		return "queueProducers", some(map[string]any{"queueName": text(b, "queue_name")}, b, map[string]string{"delivery_delay": "deliveryDelay"})
	},
	// Objects are stored in SQLite, which serves classes of the older kind too.
	"durable_object_namespace": func(b map[string]any) (string, any) {
		return "durableObjects", some(map[string]any{"className": text(b, "class_name"), "useSQLite": true}, b, map[string]string{"script_name": "scriptName"})
	},
	"workflow": func(b map[string]any) (string, any) {
		return "workflows", some(map[string]any{"name": text(b, "workflow_name"), "className": text(b, "class_name")}, b, map[string]string{"script_name": "scriptName"})
	},
	"service": func(b map[string]any) (string, any) {
		return "serviceBindings", some(map[string]any{"name": text(b, "service")}, b, map[string]string{"entrypoint": "entrypoint", "props": "props"})
	},
	"ratelimit": func(b map[string]any) (string, any) {
		return "ratelimits", map[string]any{"simple": b["simple"]}
	},
	"analytics_engine": func(b map[string]any) (string, any) {
		return "analyticsEngineDatasets", map[string]any{"dataset": text(b, "dataset")}
	},
	"secrets_store_secret": func(b map[string]any) (string, any) {
		return "secretsStoreSecrets", map[string]any{"store_id": text(b, "store_id"), "secret_name": text(b, "secret_name")}
	},
	"pipelines":     func(b map[string]any) (string, any) { return "pipelines", text(b, "pipeline") },
	"worker_loader": func(map[string]any) (string, any) { return "workerLoaders", map[string]any{} },
	"send_email": func(b map[string]any) (string, any) {
		return "email", some(map[string]any{"name": text(b, "name")}, b, map[string]string{
			"destination_address": "destination_address", "allowed_destination_addresses": "allowed_destination_addresses",
			"allowed_sender_addresses": "allowed_sender_addresses",
		})
	},
	"version_metadata": func(b map[string]any) (string, any) { return "versionMetadata", text(b, "name") },
}

// alone puts right the options that are not by the names of bindings.
func alone(all map[string]any) {
	if group, some := all["email"].(map[string]any); some {
		list := make([]any, 0, len(group))
		for _, name := range slices.Sorted(maps.Keys(group)) { // the same each time, see keyOf in host.mjs
			list = append(list, group[name])
		}
		all["email"] = map[string]any{"send_email": list}
	}
	if group, some := all["versionMetadata"].(map[string]any); some {
		for name := range group {
			all["versionMetadata"] = name
		}
	}
}
