package wrangler

import (
	"fmt"
	"path"

	"github.com/athanor-dev/athanor/adopt/from"
)

// byName are the lists of bindings that are one name or id each: the field of the name, the field of what it is bound to, and
// what athanor calls it.
var byName = []struct{ list, name, to, prop string }{
	{"hyperdrive", "binding", "id", "hyperdrive"},
	{"vectorize", "binding", "index_name", "vectorize"},
	{"analytics_engine_datasets", "binding", "dataset", "analyticsEngine"},
	{"mtls_certificates", "binding", "certificate_id", "mtls"},
	{"pipelines", "binding", "pipeline", "pipeline"},
	{"vpc_services", "binding", "service_id", "vpcService"},
}

// alone are the bindings that there is one of, by what athanor calls them.
var alone = map[string]string{"ai": "ai", "browser": "browser", "images": "images", "media": "media", "version_metadata": "versionMetadata"}

// bind declares an entry of the environment.
func (r *reader) bind(f *from.Fields, field, name string, v any) {
	if _, twice := r.env[name]; twice || name == "" {
		f.Note(field, from.Unsupported, "want a name that no other binding has")
		return
	}
	r.env[name] = v
}

// add declares a further resource, and gives its address.
func (r *reader) add(name, fallback, kind string, props map[string]any, adopt string) string {
	address := r.addresses.Make(name, fallback)
	r.more = append(r.more, from.Resource{Address: address, Kind: kind, Props: props, Adopt: adopt})
	return address
}

const local = "it is for local development"

// bindings reads what the Worker is bound to, and makes resources of what athanor has kinds for.
func (r *reader) bindings(c *from.Fields) {
	r.variables(c)
	for _, f := range c.Objects("kv_namespaces") {
		f.Skip("preview_id", from.Needless, local)
		name := f.Text("binding", "env")
		if id := f.Text("id", "options.adopt: it is found by its id"); id != "" {
			address := r.add(name, "kv", "cloudflare.KVNamespace", nil, id)
			r.bind(f, "binding", name, map[string]any{"kv": from.Ref{Address: address, Attribute: "id"}})
		}
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
	for _, f := range c.Objects("d1_databases") {
		r.database(f)
	}
	for _, f := range c.Objects("r2_buckets") {
		r.bucket(f)
	}
	r.readQueues(c)
	r.durable(c)
	for _, f := range c.Objects("services") {
		name, to := f.Text("binding", "env"), f.Text("service", "env.service")
		service := map[string]any{"service": r.service(to)}
		if entrypoint := f.Text("entrypoint", "env.entrypoint"); entrypoint != "" {
			service["entrypoint"] = entrypoint
		}
		r.bind(f, "binding", name, service)
		f.Skip("environment", from.Unsupported, "a service has the name of its environment's Worker")
		f.Skip("props", from.Unsupported, "props of a binding cannot be declared")
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
	for _, b := range byName {
		for _, f := range c.Objects(b.list) {
			r.bind(f, b.name, f.Text(b.name, "env"), map[string]any{b.prop: f.Text(b.to, "env."+b.prop+": it stays as it is")})
			f.Skip("localConnectionString", from.Needless, local)
			f.Skip("remote", from.Needless, local)
			f.Done()
		}
	}
	for _, field := range []string{"ai", "browser", "images", "media", "version_metadata"} {
		if f := c.Object(field); f != nil {
			r.bind(f, "binding", f.Text("binding", "env"), map[string]any{alone[field]: true})
			f.Skip("remote", from.Needless, local)
			f.Skip("staging", from.Needless, "it is Cloudflare's own")
			f.Done()
		}
	}
	for _, f := range c.Objects("worker_loaders") {
		r.bind(f, "binding", f.Text("binding", "env"), map[string]any{"workerLoader": true})
		f.Done()
	}
	r.rest(c)
	r.assets(c)
}

// service is the name of a Worker: a reference where it is the one that is read.
func (r *reader) service(name string) any {
	if name == r.name {
		return r.worker
	}
	return name
}

// variables reads text and values, and which secrets there are.
func (r *reader) variables(c *from.Fields) {
	if f := c.Object("vars"); f != nil {
		for _, name := range f.Names() {
			switch v := f.Value(name).(type) {
			case string:
				r.bind(f, name, name, v)
			case map[string]any:
				r.bind(f, name, name, map[string]any{"json": values(v)})
			default:
				r.bind(f, name, name, values(v))
			}
			f.Note(name, from.Mapped, "env")
		}
	}
	if f := c.Object("secrets"); f != nil {
		if list := f.Texts("required", "the Worker keeps its secrets; declare them under secrets to set them"); len(list) == 0 {
			f.Skip("required", from.Needless, "")
		}
		f.Done()
	}
}

// values are values of JSON with numbers as numbers.
func values(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for k, x := range v {
			all[k] = values(x)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = values(x)
		}
		return all
	case string, bool, nil:
		return v
	}
	if n, ok := from.Number(v); ok {
		return n
	}
	return fmt.Sprint(v) // a date of TOML
}

func (r *reader) database(f *from.Fields) {
	name, id := f.Text("binding", "env"), f.Text("database_id", "options.adopt: it is found by its id")
	props := map[string]any{}
	if title := f.Text("database_name", "name"); title != "" {
		props["name"] = title
	}
	dir := f.Text("migrations_dir", "migrations")
	if dir == "" && r.file.Exists("migrations") {
		dir = "migrations" // wrangler's default
	}
	if table := f.Text("migrations_table", "migrations"); table != "" && table != "d1_migrations" {
		f.Note("migrations_table", from.Unsupported, "migrations are noted in d1_migrations: they are not declared")
		dir = ""
	}
	if dir != "" {
		props["migrations"] = from.Path(path.Clean(dir))
	}
	if id != "" || props["name"] != nil {
		address := r.add(name, "db", "cloudflare.D1Database", props, id)
		r.bind(f, "binding", name, map[string]any{"d1": from.Ref{Address: address, Attribute: "id"}})
	}
	for _, field := range []string{"preview_database_id", "remote", "database_internal_env"} {
		f.Skip(field, from.Needless, local)
	}
	f.Done()
}

func (r *reader) bucket(f *from.Fields) {
	name, bucket := f.Text("binding", "env"), f.Text("bucket_name", "name")
	props, bound := map[string]any{"name": bucket}, map[string]any{}
	if jurisdiction := f.Text("jurisdiction", "jurisdiction"); jurisdiction != "" {
		props["jurisdiction"], bound["jurisdiction"] = jurisdiction, jurisdiction
	}
	if bucket != "" {
		bound["r2"] = from.Ref{Address: r.add(name, "bucket", "cloudflare.R2Bucket", props, ""), Attribute: "name"}
		r.bind(f, "binding", name, bound)
	}
	f.Skip("preview_bucket_name", from.Needless, local)
	f.Skip("remote", from.Needless, local)
	f.Done()
}

// queue is the address of the queue of a name.
func (r *reader) queue(name string) string {
	if r.queues[name] == "" {
		r.queues[name] = r.add(name, "queue", "cloudflare.Queue", map[string]any{"name": name}, "")
	}
	return r.queues[name]
}

func (r *reader) readQueues(c *from.Fields) {
	queues := c.Object("queues")
	if queues == nil {
		return
	}
	for _, f := range queues.Objects("producers") {
		name, queue := f.Text("binding", "env"), f.Text("queue", "name")
		if queue != "" {
			r.bind(f, "binding", name, map[string]any{"queue": from.Ref{Address: r.queue(queue), Attribute: "name"}})
		}
		f.Skip("delivery_delay", from.Unsupported, "set deliveryDelay of the queue")
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
	for _, f := range queues.Objects("consumers") {
		r.consumer(f)
	}
	queues.Done()
}

func (r *reader) consumer(f *from.Fields) {
	name := f.Text("queue", "queue")
	if name == "" {
		f.Done()
		return
	}
	props := map[string]any{"queue": from.Ref{Address: r.queue(name), Attribute: "id"}}
	if f.Text("type", "type") == "http_pull" {
		props["type"] = "http_pull"
	} else {
		props["script"] = r.worker
	}
	if n, ok := f.Number("max_batch_size", "batchSize"); ok {
		props["batchSize"] = n
	}
	if n, ok := f.Number("max_batch_timeout", "maxWait"); ok {
		props["maxWait"] = seconds(n)
	}
	if n, ok := f.Number("max_retries", "maxRetries"); ok {
		props["maxRetries"] = n
	}
	if n, ok := f.Number("retry_delay", "retryDelay"); ok {
		props["retryDelay"] = seconds(n)
	}
	if n, ok := f.Number("max_concurrency", "maxConcurrency"); ok {
		props["maxConcurrency"] = n
	}
	if n, ok := f.Number("visibility_timeout_ms", "visibilityTimeout"); ok {
		props["visibilityTimeout"] = fmt.Sprintf("%vms", n)
	}
	if dead := f.Text("dead_letter_queue", "deadLetter"); dead != "" {
		props["deadLetter"] = from.Ref{Address: r.queue(dead), Attribute: "name"}
	}
	f.Done()
	r.add(name+"-consumer", "consumer", "cloudflare.QueueConsumer", props, "")
}

// durable reads Durable Objects: the classes that the migrations leave, and what is bound to classes.
func (r *reader) durable(c *from.Fields) {
	classes := map[string]any{}
	for _, f := range c.Objects("migrations") {
		f.Skip("tag", from.Needless, "the migrations follow from the classes that are live")
		for _, class := range f.Texts("new_sqlite_classes", "durableObjects") {
			classes[class.(string)] = map[string]any{}
		}
		for _, class := range f.Texts("new_classes", "durableObjects: its objects are stored without SQLite") {
			classes[class.(string)] = map[string]any{"keyValue": true}
		}
		for _, class := range f.Texts("deleted_classes", "durableObjects: it is not declared") {
			delete(classes, class.(string))
		}
		for _, renamed := range f.Objects("renamed_classes") {
			was, is := renamed.Text("from", "durableObjects.renamedFrom"), renamed.Text("to", "durableObjects")
			entry, _ := classes[was].(map[string]any)
			delete(classes, was)
			now := map[string]any{"renamedFrom": was}
			if entry["keyValue"] == true {
				now["keyValue"] = true
			}
			classes[is] = now
			renamed.Done()
		}
		for _, moved := range f.Objects("transferred_classes") {
			class := map[string]any{"from": moved.Text("from_script", "durableObjects.from")}
			was, is := moved.Text("from", "durableObjects.renamedFrom"), moved.Text("to", "durableObjects")
			if was != is {
				class["renamedFrom"] = was
			}
			classes[is] = class
			moved.Done()
		}
		f.Done()
	}
	r.containers(c, classes)
	r.set("durableObjects", classes)
	objects := c.Object("durable_objects")
	if objects == nil {
		return
	}
	for _, f := range objects.Objects("bindings") {
		name, bound := f.Text("name", "env"), map[string]any{"durableObject": f.Text("class_name", "env.durableObject")}
		if script := f.Text("script_name", "env.script"); script != "" && script != r.name {
			bound["script"] = script
		}
		r.bind(f, "name", name, bound)
		f.Skip("environment", from.Unsupported, "a script has the name of its environment's Worker")
		f.Done()
	}
	objects.Done()
}

// others reads what the Worker uses that is no plain binding: Workflows and consumers of its tails.
func (r *reader) others(c *from.Fields) {
	for _, f := range c.Objects("workflows") {
		binding, name, class := f.Text("binding", "env"), f.Text("name", "name"), f.Text("class_name", "class")
		bound := map[string]any{"workflow": name, "class": class}
		script := f.Text("script_name", "script")
		switch {
		case name == "" || class == "":
		case script != "" && script != r.name:
			bound["script"] = script
		default:
			props := map[string]any{"name": name, "script": r.worker, "class": class}
			if limits := f.Object("limits"); limits != nil {
				if n, ok := limits.Number("steps", "maxSteps"); ok {
					props["maxSteps"] = n
				}
				limits.Done()
			}
			if schedules := f.Texts("schedules", "schedules"); len(schedules) > 0 {
				props["schedules"] = schedules
			}
			r.add(binding, "workflow", "cloudflare.Workflow", props, "")
		}
		r.bind(f, "binding", binding, bound)
		f.Skip("limits", from.Unsupported, "they are those of the other Worker")
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
	var tails []any
	for _, f := range c.Objects("tail_consumers") {
		if service := f.Text("service", "tailConsumers"); service != "" {
			tails = append(tails, map[string]any{"service": r.service(service)})
		}
		f.Skip("environment", from.Unsupported, "a service has the name of its environment's Worker")
		f.Done()
	}
	r.set("tailConsumers", tails)
}

// rest reads bindings that have fields of their own.
func (r *reader) rest(c *from.Fields) {
	for _, f := range c.Objects("dispatch_namespaces") {
		bound := map[string]any{"dispatchNamespace": f.Text("namespace", "env.dispatchNamespace")}
		if out := f.Object("outbound"); out != nil {
			outbound := map[string]any{"worker": r.service(out.Text("service", "env.outbound.worker"))}
			if params := out.Texts("parameters", "env.outbound.params"); len(params) > 0 {
				outbound["params"] = params
			}
			out.Skip("environment", from.Unsupported, "a service has the name of its environment's Worker")
			out.Done()
			bound["outbound"] = outbound
		}
		r.bind(f, "binding", f.Text("binding", "env"), bound)
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
	for _, f := range c.Objects("ratelimits") {
		limit := map[string]any{"namespace": f.Text("namespace_id", "env.rateLimit.namespace")}
		if simple := f.Object("simple"); simple != nil {
			if n, ok := simple.Number("limit", "env.rateLimit.limit"); ok {
				limit["limit"] = n
			}
			if n, ok := simple.Number("period", "env.rateLimit.period"); ok {
				limit["period"] = seconds(n)
			}
			simple.Done()
		}
		r.bind(f, "name", f.Text("name", "env"), map[string]any{"rateLimit": limit})
		f.Done()
	}
	for _, f := range c.Objects("secrets_store_secrets") {
		r.bind(f, "binding", f.Text("binding", "env"), map[string]any{"secretsStore": map[string]any{
			"store": f.Text("store_id", "env.secretsStore.store"), "name": f.Text("secret_name", "env.secretsStore.name"),
		}})
		f.Done()
	}
	for _, f := range c.Objects("send_email") {
		mail := map[string]any{}
		if to := f.Text("destination_address", "env.sendEmail.destination"); to != "" {
			mail["destination"] = to
		}
		if list := f.Texts("allowed_destination_addresses", "env.sendEmail.destinations"); len(list) > 0 {
			mail["destinations"] = list
		}
		if list := f.Texts("allowed_sender_addresses", "env.sendEmail.senders"); len(list) > 0 {
			mail["senders"] = list
		}
		r.bind(f, "name", f.Text("name", "env"), map[string]any{"sendEmail": mail})
		f.Skip("remote", from.Needless, local)
		f.Done()
	}
}

// assets reads the static files.
func (r *reader) assets(c *from.Fields) {
	f := c.Object("assets")
	if f == nil {
		return
	}
	assets := map[string]any{}
	if dir := f.Text("directory", "assets.directory"); dir != "" {
		assets["directory"] = from.Path(path.Clean(dir))
	}
	if name := f.Text("binding", "env"); name != "" {
		r.bind(f, "binding", name, map[string]any{"assets": true})
	}
	if word := f.Text("html_handling", "assets.htmlHandling"); word != "" {
		assets["htmlHandling"] = word
	}
	if word := f.Text("not_found_handling", "assets.notFoundHandling"); word != "" {
		assets["notFoundHandling"] = word
	}
	switch v := f.Value("run_worker_first").(type) {
	case bool:
		assets["runWorkerFirst"] = v
		f.Note("run_worker_first", from.Mapped, "assets.runWorkerFirst")
	case nil:
	default:
		assets["runWorkerFirstAt"] = f.Texts("run_worker_first", "assets.runWorkerFirstAt")
	}
	f.Done()
	if assets["directory"] != nil {
		r.props["assets"] = assets
	}
}
