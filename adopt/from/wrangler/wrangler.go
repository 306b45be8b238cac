// Package wrangler reads wrangler.json, wrangler.jsonc and wrangler.toml, the configurations of Cloudflare's own client.
//
// A Worker and what it is bound to by name become resources. What wrangler knows by an id alone, and athanor has a kind for whose
// objects have no more than that, is adopted by the id; what needs a secret to be declared (Hyperdrive) or has no kind stays bound
// by its id or name. Each environment becomes a stack of its own for the stage of its name, since wrangler's environments share
// no bindings.
package wrangler

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt/from"
)

// Source reads configurations of wrangler.
type Source struct{}

// Kind is what users call it.
func (Source) Kind() string { return "wrangler" }

// Recognizes reports a file by its name.
func (Source) Recognizes(f from.File) bool {
	return slices.Contains([]string{"wrangler.json", "wrangler.jsonc", "wrangler.toml"}, f.Name)
}

// Largest is far above any real configuration.
func (Source) Largest() int64 { return 4 << 20 }

var errNoName = errors.New("it names no Worker")

// Read gives a stack for the Worker without an environment, and one for each environment.
func (Source) Read(f from.File) ([]from.Stack, error) {
	doc, err := decoded(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	name, _ := doc["name"].(string)
	if name == "" {
		return nil, fmt.Errorf("%s: %w", f.Name, errNoName)
	}
	environments, _ := doc["env"].(map[string]any)
	stackName := from.Shape(name)
	if stackName == "" || stackName[0] < 'a' {
		stackName = strings.TrimSuffix("worker-"+stackName, "-")
	}
	top := maps.Clone(doc)
	delete(top, "env")
	first := read(f, "", top, names{worker: name, top: name})
	first.Name = stackName
	if v, set := doc["env"]; set && environments == nil && v != nil {
		first.Notes = append(first.Notes, from.Note{Field: "env", Outcome: from.Unsupported, Text: "want an object"})
	}
	all := []from.Stack{first}
	var stages from.Addresses
	for _, env := range slices.Sorted(maps.Keys(environments)) {
		own, ok := environments[env].(map[string]any)
		if !ok {
			all[0].Notes = append(all[0].Notes, from.Note{Field: from.NewFields("env", nil, nil).At(env), Outcome: from.Unsupported, Text: "want an object"})
			continue
		}
		merged, inherited := effective(top, own)
		s := read(f, from.NewFields("env", nil, nil).At(env), merged, names{named(name, env, own), name, env})
		s.Name, s.Environment, s.Stage = stackName, env, stages.Make(env, "stage")
		s.Notes = slices.DeleteFunc(s.Notes, func(n from.Note) bool { // they stand in those of the first
			return inherited[strings.TrimPrefix(strings.TrimPrefix(n.Field, from.NewFields("env", nil, nil).At(env)), ".")]
		})
		all = append(all, s)
	}
	return all, nil
}

// names are what a configuration and its environment are called.
type names struct{ worker, top, env string }

// named is the name of an environment's Worker.
func named(name, env string, own map[string]any) string {
	if given, ok := own["name"].(string); ok && given != "" {
		return given
	}
	return name + "-" + env
}

// ownOnly are the fields that an environment does not inherit.
// https://developers.cloudflare.com/workers/wrangler/configuration/#non-inheritable-keys
var ownOnly = map[string]bool{
	"ai": true, "analytics_engine_datasets": true, "browser": true, "cloudchamber": true, "containers": true, "d1_databases": true,
	"define": true, "dispatch_namespaces": true, "durable_objects": true, "hyperdrive": true, "images": true, "kv_namespaces": true,
	"media": true, "mtls_certificates": true, "pipelines": true, "queues": true, "r2_buckets": true, "ratelimits": true, "secrets": true,
	"secrets_store_secrets": true, "send_email": true, "services": true, "streaming_tail_consumers": true, "tail_consumers": true,
	"unsafe": true, "unsafe_hello_world": true, "vars": true, "vectorize": true, "version_metadata": true, "vpc_services": true,
	"worker_loaders": true, "workflows": true,
}

// effective are the fields of an environment with those that it inherits, whose names are given too.
func effective(top, own map[string]any) (merged map[string]any, inherited map[string]bool) {
	merged, inherited = maps.Clone(own), map[string]bool{}
	for name, v := range top {
		_, set := own[name]
		_, routes := own["routes"]
		_, route := own["route"]
		if set || ownOnly[name] || (name == "routes" || name == "route") && (routes || route) {
			continue
		}
		merged[name], inherited[name] = v, true
	}
	return merged, inherited
}

// reader makes one stack.
type reader struct {
	from.Stack
	file      from.File
	addresses from.Addresses
	worker    from.Ref // its name
	name      string
	names     names
	props     map[string]any
	env       map[string]any
	queues    map[string]string // addresses by name
	more      []from.Resource
}

func read(f from.File, at string, doc map[string]any, names names) from.Stack {
	name := names.worker
	r := &reader{file: f, name: name, names: names, props: map[string]any{"name": name}, env: map[string]any{}, queues: map[string]string{}}
	address := r.addresses.Make(name, "worker")
	r.worker = from.Ref{Address: address, Attribute: "name"}
	c := from.NewFields(at, doc, &r.Notes)
	if c.Has("name") {
		c.Text("name", address+": name")
	}
	if account := c.Text("account_id", "providers.cloudflare.account"); account != "" {
		r.Providers = map[string]map[string]any{"cloudflare": {"account": account}}
	}
	r.code(c)
	r.settings(c)
	r.triggers(c)
	r.bindings(c)
	r.others(c)
	c.Done()
	if len(r.env) > 0 {
		r.props["env"] = r.env
	}
	r.Resources = append([]from.Resource{{Address: address, Kind: "cloudflare.Worker", Props: r.props}}, r.more...)
	return r.Stack
}

// set sets a prop where there is a value.
func (r *reader) set(prop string, v any) {
	switch x := v.(type) {
	case string:
		if x == "" {
			return
		}
	case []any:
		if x == nil {
			return
		}
	case map[string]any:
		if len(x) == 0 {
			return
		}
	}
	r.props[prop] = v
}

// code reads what is uploaded.
func (r *reader) code(c *from.Fields) {
	code := map[string]any{}
	plain, _ := c.Truth("no_bundle", "code.directory")
	if main := c.Text("main", "code"); main != "" {
		main = path.Clean(strings.ReplaceAll(main, `\`, "/"))
		code["bundle"] = from.Path(main)
		if plain {
			delete(code, "bundle")
			code["directory"], code["main"] = from.Path(path.Dir(main)), path.Base(main)
		}
	}
	if !plain {
		if minify, _ := c.Truth("minify", "code.minify"); minify {
			code["minify"] = true
		}
		if maps, _ := c.Truth("upload_source_maps", "code.sourceMap"); maps {
			code["sourceMap"] = true
		}
		r.expressions(c, code, "define")
		r.expressions(c, code, "alias")
	}
	for _, name := range []string{"minify", "upload_source_maps", "define", "alias"} {
		if plain {
			c.Skip(name, from.Needless, "nothing is bundled")
		}
	}
	rules := map[string]any{}
	for _, rule := range c.Objects("rules") {
		r.rule(rule, rules)
	}
	if len(rules) > 0 {
		code["rules"] = rules
	}
	if code["bundle"] != nil || code["directory"] != nil {
		r.props["code"] = code
	}
	c.Skip("build", from.Unsupported, "run the command before athanor deploy")
	c.Skip("tsconfig", from.Unsupported, "the tsconfig.json beside the sources is read")
	c.Skip("jsx_factory", from.Unsupported, "set jsxFactory in tsconfig.json")
	c.Skip("jsx_fragment", from.Unsupported, "set jsxFragmentFactory in tsconfig.json")
	c.Skip("keep_names", from.Needless, "names of functions are as the bundler leaves them")
	c.Skip("preserve_file_names", from.Needless, "names of modules beside a bundle tell nothing")
	if plain {
		c.Skip("find_additional_modules", from.Needless, "all modules of the folder go up")
	}
	c.Skip("find_additional_modules", from.Unsupported, "modules are what the code imports, or with no_bundle all of its folder")
	c.Skip("base_dir", from.Unsupported, "it goes with find_additional_modules")
	c.Skip("python_modules", from.Unsupported, "packages of Python Workers are not vendored")
	for _, name := range []string{"wasm_modules", "text_blobs", "data_blobs"} {
		c.Skip(name, from.Unsupported, "it is for service workers: import the file instead")
	}
	c.Skip("site", from.Unsupported, "Workers Sites: use assets")
	c.Skip("pages_build_output_dir", from.Unsupported, "it is a Pages project and no Worker")
}

// expressions reads an object of texts.
func (r *reader) expressions(c *from.Fields, code map[string]any, name string) {
	f := c.Object(name)
	if f == nil {
		return
	}
	all := map[string]any{}
	for _, key := range f.Names() {
		switch text := f.Text(key, "code."+name); {
		case name == "alias" && strings.HasPrefix(text, "."):
			all[key] = from.Path(text)
		case text != "":
			all[key] = text
		}
	}
	if len(all) > 0 {
		code[name] = all
	}
}

// scripts are the endings that are what a rule of a type says without it.
var scripts = map[string][]string{"ESModule": {".js", ".mjs"}, "CommonJS": {".cjs"}, "PythonModule": {".py"}}

// rule reads what files of an ending are.
func (r *reader) rule(rule *from.Fields, into map[string]any) {
	kind, _ := rule.Value("type").(string)
	word := map[string]string{"Text": "text", "Data": "data", "CompiledWasm": "wasm"}[kind]
	if scripts[kind] != nil && !slices.ContainsFunc(rule.Texts("globs", "the endings say it"), func(g any) bool {
		return !slices.Contains(scripts[kind], path.Ext(g.(string)))
	}) {
		rule.Note("type", from.Needless, "the endings say it")
		rule.Skip("fallthrough", from.Needless, "the endings say it")
		rule.Done()
		return
	}
	if word == "" {
		rule.Note("type", from.Unsupported, "only Text, Data and CompiledWasm can be declared")
		rule.Skip("globs", from.Unsupported, "see its type")
		rule.Skip("fallthrough", from.Needless, "see its type")
		rule.Done()
		return
	}
	rule.Note("type", from.Mapped, "code.rules")
	globs, _ := rule.Value("globs").([]any)
	var other []string
	for _, g := range globs {
		text, _ := g.(string)
		ending := text[strings.LastIndexByte(text, '/')+1:]
		if rest, ok := strings.CutPrefix(ending, "*."); ok && !strings.ContainsAny(rest, "*?[]{}.") {
			into["."+rest] = word
			continue
		}
		other = append(other, fmt.Sprintf("%q", text))
	}
	if len(other) > 0 {
		rule.Note("globs", from.Unsupported, "rules are by ending, such as .txt: %s", strings.Join(other, ", "))
	} else {
		rule.Note("globs", from.Mapped, "code.rules")
	}
	rule.Skip("fallthrough", from.Needless, "an ending has one rule")
	rule.Done()
}

// settings reads what belongs to the Worker itself.
func (r *reader) settings(c *from.Fields) {
	r.set("compatibilityDate", c.Text("compatibility_date", "compatibilityDate"))
	r.set("compatibilityFlags", c.Texts("compatibility_flags", "compatibilityFlags"))
	if on, _ := c.Truth("logpush", "logpush"); on {
		r.props["logpush"] = true
	}
	if f := c.Object("limits"); f != nil {
		limits := map[string]any{}
		if n, ok := f.Number("cpu_ms", "limits.cpu"); ok {
			limits["cpu"] = fmt.Sprintf("%vms", n)
		}
		if n, ok := f.Number("subrequests", "limits.subrequests"); ok {
			limits["subrequests"] = n
		}
		f.Done()
		r.set("limits", limits)
	}
	if f := c.Object("placement"); f != nil {
		placement := map[string]any{}
		if mode := f.Text("mode", "placement"); mode == "smart" {
			placement["mode"] = mode
		}
		for _, name := range []string{"region", "host", "hostname"} {
			if text := f.Text(name, "placement."+name); text != "" {
				placement[name] = text
			}
		}
		f.Skip("hint", from.Unsupported, "region, host and hostname can be declared")
		f.Done()
		r.set("placement", placement)
	}
	if f := c.Object("observability"); f != nil {
		all := r.kept(f, "observability")
		for _, name := range []string{"logs", "traces"} {
			if inner := f.Object(name); inner != nil {
				part := r.kept(inner, "observability."+name)
				inner.Done()
				all[name] = part
			}
		}
		f.Done()
		r.props["observability"] = all
	}
	c.Skip("$schema", from.Needless, "")
	c.Skip("send_metrics", from.Needless, "athanor sends none")
	c.Skip("dev", from.Needless, "athanor dev chooses its ports")
	c.Skip("legacy_env", from.Needless, "each environment has a Worker of its own")
	c.Skip("first_party_worker", from.Needless, "it is Cloudflare's own")
	c.Skip("keep_vars", from.Unsupported, "what the stack does not declare goes, but secrets: declare variables, or name them in ignoreChanges")
	c.Skip("compliance_region", from.Unsupported, "set providers.cloudflare.endpoint")
	c.Skip("cloudchamber", from.Unsupported, "it is for commands of wrangler alone")
	c.Skip("logfwdr", from.Unsupported, "it is Cloudflare's own")
	c.Skip("unsafe", from.Unsupported, "athanor has no way around its checks")
	c.Skip("unsafe_hello_world", from.Unsupported, "it is Cloudflare's own")
	c.Skip("streaming_tail_consumers", from.Unsupported, "tailConsumers alone are managed")
}

// kept reads what is kept of logs or traces.
func (r *reader) kept(f *from.Fields, at string) map[string]any {
	all := map[string]any{}
	for name, prop := range map[string]string{"enabled": "enabled", "invocation_logs": "invocationLogs", "persist": "persist"} {
		if on, set := f.Truth(name, at+"."+prop); set {
			all[prop] = on
		}
	}
	if n, ok := f.Number("head_sampling_rate", at+".samplingRate"); ok {
		all["samplingRate"] = n
	}
	if list := f.Texts("destinations", at+".destinations"); len(list) > 0 {
		all["destinations"] = list
	}
	return all
}

// triggers reads what calls the Worker.
func (r *reader) triggers(c *from.Fields) {
	if f := c.Object("triggers"); f != nil {
		if crons := f.Texts("crons", "crons"); len(crons) > 0 {
			r.props["crons"] = crons
		}
		f.Done()
	}
	routes, domains := map[string]any{}, []any{}
	for _, name := range []string{"route", "routes"} {
		list, ok := c.Value(name).([]any)
		if !ok && c.Has(name) {
			list = []any{c.Value(name)}
		}
		for i, v := range list {
			at := c.At(name)
			if ok {
				at = fmt.Sprintf("%s[%d]", at, i)
			}
			domains = append(domains, r.route(at, v, routes)...)
		}
	}
	r.set("routes", routes)
	if len(domains) > 0 {
		r.props["domains"] = domains
	}
	onDev, set := c.Truth("workers_dev", "workersDev")
	if !set {
		onDev = len(routes)+len(domains) == 0 // https://developers.cloudflare.com/workers/wrangler/configuration/#inheritable-keys
	}
	if onDev {
		r.props["workersDev"] = true
	}
	previews, set := c.Truth("preview_urls", "previews")
	if !set {
		previews = onDev // https://developers.cloudflare.com/workers/configuration/previews/
	}
	if previews {
		r.props["previews"] = true
	}
}

// route reads a pattern of addresses, or a domain, which it returns.
func (r *reader) route(at string, v any, routes map[string]any) (domains []any) {
	note := func(outcome from.Outcome, text string) {
		r.Notes = append(r.Notes, from.Note{Field: at, Outcome: outcome, Text: text})
	}
	if pattern, ok := v.(string); ok {
		routes[pattern] = map[string]any{}
		note(from.Mapped, "routes")
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		note(from.Unsupported, "want text or an object")
		return nil
	}
	f := from.NewFields(at, m, &r.Notes)
	defer f.Done()
	pattern := f.Text("pattern", "routes or domains")
	if custom, _ := f.Truth("custom_domain", "domains"); custom {
		f.Skip("zone_id", from.Needless, "the zone of a domain is found by its name")
		f.Skip("zone_name", from.Needless, "the zone of a domain is found by its name")
		return []any{pattern}
	}
	entry := map[string]any{}
	for _, name := range []string{"zone_name", "zone_id"} {
		if zone := f.Text(name, "routes.zone"); zone != "" {
			entry["zone"] = zone
		}
	}
	routes[pattern] = entry
	return nil
}

// seconds is a number of seconds as a duration.
func seconds(n any) string {
	switch n := n.(type) {
	case int64:
		return fmt.Sprintf("%ds", n)
	case float64:
		return (time.Duration(n*1000) * time.Millisecond).String()
	}
	return ""
}
