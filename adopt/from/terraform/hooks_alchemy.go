package terraform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// alchemyBucket reads the jurisdiction of a bucket, which its identity has.
func alchemyBucket(d *draft, o *object, i *instance) error {
	if len(blocks(i.attrs["domains"])) > 0 || i.text("domains.0") != "" {
		o.note(i, "domains", "they are read from Cloudflare")
	}
	return r2Bucket(d, o, i)
}

// alchemyBindings are the entries of an environment by the kinds of the resources that Alchemy binds: the field of the resource and
// that of the entry.
var alchemyBindings = map[string][2]string{
	"cloudflare::KVNamespace": {"namespaceId", "kv"}, "cloudflare::R2Bucket": {"name", "r2"}, "cloudflare::D1Database": {"id", "d1"},
	"cloudflare::Queue": {"name", "queue"}, "cloudflare::Worker": {"name", "service"}, "cloudflare::Hyperdrive": {"hyperdriveId", "hyperdrive"},
	"cloudflare::VectorizeIndex": {"name", "vectorize"}, "cloudflare::DispatchNamespace": {"namespaceName", "dispatchNamespace"},
}

// alchemyTypes are the entries that Alchemy's other bindings become, by their types.
var alchemyTypes = map[string]string{
	"ai": "ai", "browser": "browser", "images": "images", "version_metadata": "versionMetadata", "worker_loader": "workerLoader", "assets": "assets",
}

// alchemyWorker reads the code and the environment of a Worker.
func alchemyWorker(_ *draft, o *object, i *instance) error {
	code, _ := o.props["code"].(values)
	switch file := textOf(code["bundle"]); {
	case file != "" && filepath.IsLocal(filepath.FromSlash(file)):
		o.props["code"] = values{"bundle": from.Path(file)}
	case file != "":
		delete(o.props, "code")
		o.look = "its entrypoint is not a file of the project: name it in code"
	case textOf(code["script"]) == "":
		o.look = "the state does not have its code: name it in code"
	}
	if strings.HasPrefix(i.text("url"), "https://") {
		o.props["workersDev"] = true
	}
	if len(blocks(i.attrs["assets"])) > 0 && o.look == "" {
		o.look = "the state does not have its static assets: name their directory in assets"
	}
	if len(blocks(i.attrs["tailConsumers"])) > 0 {
		o.note(i, "tailConsumers", "declare them")
	}
	for _, attr := range []string{"env", "bindings"} {
		all, _ := i.attrs[attr].(values)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			o.alchemyBinding(i, attr, name, all[name])
		}
	}
	return nil
}

// alchemyBinding makes an entry of a Worker's environment.
func (o *object) alchemyBinding(i *instance, attr, name string, v any) {
	b, ok := v.(values)
	if !ok {
		if v != nil {
			o.entry("env", name, plainOf(v))
		}
		return
	}
	of := alchemyBindings[textOf(b[alchemyKind])]
	kind := textOf(b["type"])
	switch {
	case of[1] != "" && textOf(b[of[0]]) != "":
		entry := values{of[1]: textOf(b[of[0]])}
		if j := textOf(b["jurisdiction"]); of[1] == "r2" && j != "" && j != "default" {
			entry["jurisdiction"] = j
		}
		o.entry("env", name, entry)
	case kind == "cloudflare::Worker::Self":
		o.entry("env", name, values{"service": i.text("name")})
	case kind == "service" && textOf(b["service"]) != "":
		o.entry("env", name, values{"service": textOf(b["service"])})
	case alchemyTypes[kind] != "":
		o.entry("env", name, values{alchemyTypes[kind]: true})
	case kind == "analytics_engine" && textOf(b["dataset"]) != "":
		o.entry("env", name, values{"analyticsEngine": textOf(b["dataset"])})
	case kind == "durable_object_namespace" && textOf(b["className"]) != "":
		o.durableObject(i, name, textOf(b["className"]), textOf(b["scriptName"]), b["sqlite"] != true)
	case kind == "workflow" && textOf(b["workflowName"]) != "":
		entry := values{"workflow": textOf(b["workflowName"]), "class": textOf(b["className"])}
		if script := textOf(b["scriptName"]); script != "" && script != i.text("name") {
			entry["script"] = script
		}
		o.entry("env", name, entry)
	case kind == "json":
		o.entry("env", name, plainOf(b["json"]))
	default:
		o.note(i, attr+"."+name, "declare it in env: "+cmp.Or(textOf(b[alchemyKind]), kind, "it has no type"))
	}
}

// durableObject makes the entry of a class of Durable Objects, and the class where it is the Worker's own.
func (o *object) durableObject(i *instance, name, class, script string, keyValue bool) {
	entry := values{"durableObject": class}
	if script != "" && script != i.text("name") {
		entry["script"] = script
	} else {
		o.entry("durableObjects", class, map[bool]values{true: {"keyValue": true}, false: {}}[keyValue])
	}
	o.entry("env", name, entry)
}

// alchemySubdomain reads that a Worker answers under workers.dev.
func alchemySubdomain(_ *draft, o *object, _ *instance) error {
	o.props["workersDev"] = true
	return nil
}

// alchemyRecords makes a resource of each DNS record.
func alchemyRecords(d *draft, o *object, i *instance) error {
	made := 0
	for _, record := range blocks(i.attrs["records"]) {
		zone, id := cmp.Or(textOf(record["zoneId"]), i.text("zoneId")), textOf(record["id"])
		if zone == "" || id == "" {
			continue
		}
		declared := values{"zone": zone, "name": textOf(record["name"]), "type": textOf(record["type"]), "content": textOf(record["content"])}
		if record["proxied"] == true {
			declared["proxied"] = true
		} else if n, ok := number(record["ttl"]); ok && n != int64(1) {
			if whole, isInt := n.(int64); isInt {
				declared["ttl"] = seconds(whole)
			}
		}
		if n, ok := number(record["priority"]); ok {
			declared["priority"] = n
		}
		if text := textOf(record["comment"]); text != "" {
			declared["comment"] = text
		}
		if declared["type"] == "TXT" {
			declared["content"] = strings.Trim(textOf(record["content"]), `"`)
		}
		made++
		d.extra(o, fmt.Sprintf("%s-%d", strings.ToLower(segment(textOf(record["type"]), "record")), made), "cloudflare.DNSRecord", zone+"/"+id, declared)
	}
	if made == 0 {
		return errors.New("the state has no id of a record")
	}
	return nil
}
