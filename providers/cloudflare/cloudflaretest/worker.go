package cloudflaretest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// worker is a Worker: what belongs to it whatever the version, and its versions.
type worker struct {
	account, name, tag string

	tags          []any
	logpush       bool
	observability any
	tailConsumers []any

	classes      []*class // of Durable Objects that it implements
	migrationTag string

	schedules         []any
	enabled, previews bool // on workers.dev

	versions    []*version    // in the order of their making
	deployments []*deployment // the newest last
	tails       []*tail
	modified    string
}

// version is what a Worker runs: code, bindings and settings. It never changes.
type version struct {
	id          string
	number      int
	upload      Upload
	bindings    []object // with their secrets
	settings    object   // compatibility, limits, placement and the like
	annotations object
	assets      *assets
	made        string
}

// deployment says which versions get how much of the traffic.
type deployment struct {
	id, made    string
	versions    []any
	annotations object
}

// workerName is what wrangler lets a Worker be called; a name is part of an address of workers.dev.
var workerName = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]{0,62}$`)

var workerHandlers = map[string]handler{
	"workers.ListScripts":      listScripts,
	"workers.PutScript":        putScript,
	"workers.GetScript":        onWorker(getContent),
	"workers.GetScriptContent": onWorker(getContent),
	"workers.PutScriptContent": onWorker(putContent),
	"workers.DeleteScript":     onWorker(deleteScript),

	"durable-objects.ListNamespaces":       listClasses,
	"durable-objects.ListNamespaceObjects": listClassObjects,
}

func noWorker() *failure {
	return &failure{service: "workers", status: 404, code: 10007, message: "This Worker does not exist on your account."}
}

func onWorker(do func(*world, request, *worker) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		if found := w.worker(r.account, r.path["scriptName"]); found != nil {
			return do(w, r, found)
		}
		return nil, noWorker()
	}
}

func (w *world) worker(account, name string) *worker {
	for _, found := range w.workers {
		if found.account == account && found.name == name {
			return found
		}
	}
	return nil
}

// now is the time of the world, which goes on by a second with everything that is asked of it.
func (w *world) now() string {
	w.seconds++
	return time.Date(2024, 1, 1, 0, 0, w.seconds, 0, time.UTC).Format(time.RFC3339Nano)
}

// uuid is an id as versions and deployments have.
func uuid() string {
	h := hexID(16)
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// live is the newest of the versions that get traffic.
func (k *worker) live() *version {
	if len(k.deployments) == 0 {
		return k.versions[len(k.versions)-1]
	}
	id := k.deployments[len(k.deployments)-1].versions[0].(object)["version_id"]
	return k.version(fmt.Sprint(id))
}

func (k *worker) version(id string) *version {
	for _, v := range k.versions {
		if v.id == id {
			return v
		}
	}
	return nil
}

// etag tells one code from another.
func (v *version) etag() string {
	h := sha256.New()
	fmt.Fprintln(h, v.upload.Metadata["main_module"])
	for _, m := range v.upload.Modules {
		fmt.Fprintf(h, "%s %s %d\n", m.Name, m.Type, len(m.Content))
		h.Write(m.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (k *worker) shown() object {
	v := k.live()
	o := object{
		"id": k.name, "tag": k.tag, "tags": k.tags, "etag": v.etag(), "logpush": k.logpush, "tail_consumers": k.tailConsumers,
		"created_on": k.versions[0].made, "modified_on": k.modified, "has_assets": v.assets != nil, "has_modules": len(v.upload.Modules) > 0,
		"handlers": v.handlers(), "last_deployed_from": "api", "usage_model": "standard",
	}
	for _, name := range []string{"compatibility_date", "compatibility_flags", "placement"} {
		if value, set := v.settings[name]; set {
			o[name] = value
		}
	}
	if k.observability != nil {
		o["observability"] = k.observability
	}
	if k.migrationTag != "" {
		o["migration_tag"] = k.migrationTag
	}
	return o
}

// handlers are what the main module exports as its default, as far as the text tells.
func (v *version) handlers() []any {
	found := []any{}
	main, _ := v.upload.main()
	for _, name := range []string{"email", "fetch", "queue", "scheduled", "tail"} {
		if strings.Contains(string(main.Content), name+"(") {
			found = append(found, name)
		}
	}
	return found
}

// listScripts takes tags as "one:yes,other:no".
func listScripts(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, k := range w.workers {
		if k.account == r.account && k.tagged(r.query.Get("tags")) {
			all[k.name] = k.shown()
		}
	}
	return sorted(all), nil
}

func (k *worker) tagged(filter string) bool {
	if filter == "" {
		return true
	}
	for one := range strings.SplitSeq(filter, ",") {
		at := strings.LastIndex(one, ":")
		if slices.Contains(k.tags, any(one[:max(at, 0)])) != (one[at+1:] == "yes") {
			return false
		}
	}
	return true
}

// putScript makes a Worker, or a version of it that gets all traffic at once.
func putScript(w *world, r request) (any, *failure) {
	name := r.path["scriptName"]
	if !strings.HasPrefix(r.header.Get("Content-Type"), "multipart/form-data") {
		return nil, &failure{status: 400, code: 10001, message: "Content-Type must be 'multipart/form-data'"}
	}
	k := w.worker(r.account, name)
	isNew := k == nil
	if isNew && !workerName.MatchString(name) {
		w.wrong("a Worker called %q: wrangler has names of a-z, 0-9, - and _, at most 63 long", name)
	}
	if isNew {
		k = &worker{account: r.account, name: name, tag: hexID(16), tags: []any{}, schedules: []any{}, tailConsumers: []any{}}
	}
	was := *k
	v, f := w.candidate(r, k, r.upload, secretTypes...)
	if f == nil {
		f = w.migrate(k, v, r.upload.Metadata["migrations"])
	}
	if f == nil {
		f = w.bound(k, v)
	}
	if f != nil {
		*k = was
		return nil, f
	}
	if isNew {
		w.workers = append(w.workers, k)
	}
	k.keep(r.upload.Metadata)
	w.deploy(k, v)
	return k.written(v), nil
}

// keep takes over what belongs to a Worker whatever its version. Tags that are not sent stay, as wrangler counts on;
// all else is as it is sent.
func (k *worker) keep(metadata object) {
	if tags, sent := metadata["tags"].([]any); sent {
		k.tags = tags
	}
	k.logpush, _ = metadata["logpush"].(bool)
	k.observability = metadata["observability"]
	k.tailConsumers, _ = metadata["tail_consumers"].([]any)
	if k.tailConsumers == nil {
		k.tailConsumers = []any{}
	}
}

// deploy gives all traffic to a new version.
func (w *world) deploy(k *worker, v *version) {
	k.add(v)
	k.modified = v.made
	k.deployments = append(k.deployments, &deployment{
		id: uuid(), made: v.made, versions: []any{object{"version_id": v.id, "percentage": 100}}, annotations: object{},
	})
}

func (k *worker) add(v *version) {
	v.number = len(k.versions) + 1
	k.versions = append(k.versions, v)
}

// written is what a write of a Worker answers.
func (k *worker) written(v *version) object {
	o := k.shown()
	o["startup_time_ms"] = 1
	o["deployment_id"] = strings.ReplaceAll(v.id, "-", "")
	return o
}

// getContent answers the modules of a version, or of the one that is live, as a form.
func getContent(_ *world, r request, k *worker) (any, *failure) {
	v := k.live()
	if id := r.query.Get("version"); id != "" {
		if v = k.version(id); v == nil {
			return nil, &failure{status: 404, code: 100146, message: "The version does not exist."}
		}
	}
	u := Upload{Modules: v.upload.Modules}
	kind, body := u.Encode()
	a := wiretest.Answer{Status: 200, Header: map[string][]string{"Content-Type": {kind}}, Body: body}
	if main, _ := v.upload.Metadata["main_module"].(string); main != "" {
		a.Header.Set("Cf-Entrypoint", main)
	}
	return a, nil
}

// putContent is a new version with other code and all else as it was.
func putContent(w *world, r request, k *worker) (any, *failure) {
	last := k.live()
	metadata := maps.Clone(last.upload.Metadata)
	metadata["main_module"] = r.upload.Metadata["main_module"]
	v := *last
	v.id, v.made, v.upload = uuid(), w.now(), Upload{Metadata: metadata, Modules: r.upload.Modules}
	if f := v.upload.runs(); f != nil {
		return nil, f
	}
	if f := w.bound(k, &v); f != nil {
		return nil, f
	}
	w.deploy(k, &v)
	shown := k.shown()
	return shown, nil
}

// deleteScript refuses while others need the Worker, but for consumers of queues not when forced. Routes and domains
// that lead to it stay.
func deleteScript(w *world, r request, k *worker) (any, *failure) {
	for _, q := range w.queues {
		for _, c := range q.consumers {
			if q.account == k.account && c["script_name"] == k.name {
				return nil, &failure{status: 400, code: 10064, message: "Cannot delete this Worker as it is a consumer for a Queue. Please remove it from Queue " + q.name}
			}
		}
	}
	if users := w.users(k); len(users) > 0 && r.query.Get("force") != "true" {
		return nil, &failure{status: 400, code: 10142, message: "Worker '" + k.name + "' is used by '" + users[0].name + "'"}
	}
	w.workers = slices.DeleteFunc(w.workers, func(o *worker) bool { return o == k })
	for _, t := range k.tails {
		t.end()
	}
	return nil, nil
}

// users are the other Workers that are bound to a Worker, or to its Durable Objects, or send their tails there.
func (w *world) users(k *worker) []*worker {
	var all []*worker
	for _, other := range w.workers {
		if other == k || other.account != k.account {
			continue
		}
		bound := slices.ContainsFunc(other.live().bindings, func(b object) bool {
			return b["type"] == "service" && b["service"] == k.name || b["type"] == "durable_object_namespace" && b["script_name"] == k.name
		})
		tailing := slices.ContainsFunc(other.tailConsumers, func(c any) bool { return c.(object)["service"] == k.name })
		if bound || tailing {
			all = append(all, other)
		}
	}
	return all
}

// AddScript makes a Worker exist, of which nothing is known but its name.
func (s *Server) AddScript(name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	u := Upload{
		Metadata: object{"main_module": "worker.js"},
		Modules:  []Module{{Name: "worker.js", Type: "application/javascript+module", Content: []byte("export default {}")}},
	}
	k := &worker{account: s.Account, name: name, tag: hexID(16), tags: []any{}, schedules: []any{}, tailConsumers: []any{}}
	s.world.workers = append(s.world.workers, k)
	s.world.deploy(k, &version{id: uuid(), made: s.world.now(), upload: u, settings: object{}})
}
