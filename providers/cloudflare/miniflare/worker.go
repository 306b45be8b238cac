package miniflare

import (
	"fmt"
	"maps"
	"mime"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Worker is a Worker that is to run.
type Worker struct {
	// Port is the one to answer at, if it is free. 0: any.
	Port int `json:"-"`
	// Name is what others are bound to it by.
	Name string
	// Main is the name of the module that answers.
	Main    string
	Modules []Module
	// CompatibilityDate chooses the behaviour of the runtime, as in "2026-01-01". One that is newer than the runtime counts
	// as the newest that it knows; one to come is refused.
	CompatibilityDate  string
	CompatibilityFlags []string
	// Bindings are those of the metadata of an upload, as Cloudflare's API has them: name, type and what the type needs.
	// [Unsupported] tells which of them are left out.
	Bindings []map[string]any
	// Consumers are the queues whose messages it takes.
	Consumers []Consumer
	// Assets are its static files, nil for none. Of the Workers of one server one can have some.
	Assets *Assets
}

// Module is one file of a Worker.
type Module struct {
	Name string
	// Type is its content type in an upload, such as "application/javascript+module".
	Type    string
	Content []byte
}

// Consumer is how a Worker takes the messages of a queue. What is zero has the default of Cloudflare.
type Consumer struct {
	Queue        string
	BatchSize    int
	BatchTimeout time.Duration
	MaxRetries   *int
	RetryDelay   time.Duration
	DeadLetter   string // a queue
}

// Assets are static files.
type Assets struct {
	// Directory holds them, with _headers and _redirects where there are some.
	Directory string
	// Config is that of the metadata of an upload: html_handling, not_found_handling and run_worker_first.
	Config map[string]any
}

// moduleTypes are miniflare's names for content types.
var moduleTypes = map[string]string{
	"application/javascript+module": "ESModule", "text/javascript+module": "ESModule", "application/javascript": "CommonJS",
	"text/javascript": "CommonJS", "application/wasm": "CompiledWasm", "text/plain": "Text", "application/octet-stream": "Data",
	"text/x-python": "PythonModule", "text/x-python-requirement": "PythonRequirement",
}

// sourceMap is the content type of modules that only tools read.
const sourceMap = "application/source-map"

// options are what miniflare makes of a Worker. The modules that it is told come with their content in base64. Others are
// the names of the Workers that there are; what is bound to one that is not there is left out.
func (w Worker) options(others []string) (map[string]any, error) {
	modules, err := w.modules()
	if err != nil {
		return nil, err
	}
	all := map[string]any{
		"name": w.Name, "modules": modules, "modulesRoot": "/", "compatibilityFlags": append([]string{}, w.CompatibilityFlags...),
	}
	if w.CompatibilityDate != "" {
		all["compatibilityDate"] = w.CompatibilityDate
	}
	for _, b := range w.Bindings {
		translate := bindings[text(b, "type")]
		if translate == nil || !reaches(b, w.Name, others) {
			continue
		}
		option, value := translate(b)
		group, _ := all[option].(map[string]any)
		if group == nil {
			group = map[string]any{}
			all[option] = group
		}
		group[text(b, "name")] = value
	}
	alone(all)
	consumers := map[string]any{}
	for _, c := range w.Consumers {
		consumers[c.Queue] = c.options()
	}
	all["queueConsumers"] = consumers
	if w.Assets != nil {
		all["assets"] = w.Assets.options(w.Bindings)
	}
	return all, nil
}

// modules are the main one and then the others.
func (w Worker) modules() ([]any, error) {
	var all []any
	found := false
	for _, m := range w.Modules {
		kind, _, err := mime.ParseMediaType(m.Type)
		if err != nil {
			return nil, fmt.Errorf("module %s: content type %q: %w", m.Name, m.Type, err)
		}
		if kind == sourceMap {
			continue
		}
		name := moduleTypes[kind]
		if name == "" {
			return nil, fmt.Errorf("module %s: content type %s is not known", m.Name, kind)
		}
		one := map[string]any{"type": name, "path": "/" + m.Name, "contents": m.Content}
		if m.Name == w.Main {
			all, found = slices.Insert(all, 0, any(one)), true
			continue
		}
		all = append(all, one)
	}
	if !found {
		return nil, fmt.Errorf("there is no module %q", w.Main)
	}
	return all, nil
}

// reaches reports whether the Worker that a binding is to is there.
func reaches(b map[string]any, own string, others []string) bool {
	for _, name := range []string{text(b, "service"), text(b, "script_name")} {
		if name != "" && name != own && !slices.Contains(others, name) {
			return false
		}
	}
	return true
}

func (c Consumer) options() map[string]any {
	o := map[string]any{}
	if c.BatchSize > 0 {
		o["maxBatchSize"] = c.BatchSize
	}
	if c.BatchTimeout > 0 {
		o["maxBatchTimeout"] = c.BatchTimeout.Seconds()
	}
	if c.MaxRetries != nil {
		o["maxRetries"] = *c.MaxRetries
	}
	if c.RetryDelay > 0 {
		o["retryDelay"] = int(c.RetryDelay.Seconds())
	}
	if c.DeadLetter != "" {
		o["deadLetterQueue"] = c.DeadLetter
	}
	return o
}

func (a *Assets) options(bindings []map[string]any) map[string]any {
	router, config := map[string]any{"has_user_worker": true}, map[string]any{}
	for _, name := range []string{"html_handling", "not_found_handling"} {
		if value := text(a.Config, name); value != "" {
			config[name] = value
		}
	}
	switch first := a.Config["run_worker_first"].(type) {
	case bool:
		router["invoke_user_worker_ahead_of_assets"] = first
	case []any:
		router["static_routing"] = routing(first)
	}
	o := map[string]any{"directory": a.Directory, "routerConfig": router, "assetConfig": config}
	for _, b := range bindings {
		if b["type"] == "assets" {
			o["binding"] = b["name"]
		}
	}
	return o
}

// routing says which paths go to the Worker; those that begin with ! go to the assets.
func routing(paths []any) map[string]any {
	worker, assets := []string{}, []string{}
	for _, one := range paths {
		path, _ := one.(string)
		if len(path) > 0 && path[0] == '!' {
			assets = append(assets, path[1:])
		} else {
			worker = append(worker, path)
		}
	}
	return map[string]any{"user_worker": worker, "asset_worker": assets}
}

// defaultExport finds the default export of an ES module, between whose words there may be comments.
var defaultExport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bexport\b(?:\s|/\*(?s:.*?)\*/|//.*\n)*(?:default\b|\{[^}]*\bdefault\b[^}]*\})`)
})

// Silent says why a Worker answers no request, "" where it may answer: a main module without a default export is for what is bound to it alone.
func Silent(w Worker) string {
	for _, m := range w.Modules {
		kind, _, _ := mime.ParseMediaType(m.Type)
		if m.Name == w.Main && moduleTypes[kind] == "ESModule" && !defaultExport().Match(m.Content) {
			return m.Name + " has no default export, so that no request is answered: export default { fetch(request, env) { … } }"
		}
	}
	return ""
}

// Unsupported are the bindings of a Worker that cannot be had on this machine, by name with their types, sorted.
func Unsupported(w Worker) []string {
	var all []string
	for _, b := range w.Bindings {
		if kind := text(b, "type"); bindings[kind] == nil && kind != "assets" {
			all = append(all, fmt.Sprintf("%s (%s)", text(b, "name"), kind))
		}
	}
	slices.Sort(all)
	return all
}

func text(o map[string]any, key string) string {
	s, _ := o[key].(string)
	return s
}

// some is o with those of the fields of from that are set, under their names in o.
func some(o map[string]any, from map[string]any, names map[string]string) map[string]any {
	o = maps.Clone(o)
	for theirs, ours := range names {
		if value, set := from[theirs]; set && value != nil && value != "" {
			o[ours] = value
		}
	}
	return o
}
