package workers

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const (
	account = "/accounts/ACCOUNT"
	scripts = account + "/workers/scripts"

	// What every world has, by the ids that the server was told to use.
	cache, sessions = "0123456789abcdef0123456789abcde1", "0123456789abcdef0123456789abcde2"
	orders, users   = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	date            = "2026-01-01"
)

// sources are the files in the directory of every world.
var sources = map[string]string{
	"src/index.ts": `import { greet } from "./greet";
		export class Room { n: number = 1 }
		export class Desk {}
		export class Hall {}
		export default { async fetch(r: Request, env: { STAGE: string }): Promise<Response> { return new Response(greet(env.STAGE)) } };`,
	"src/greet.ts":         `export const greet = (who: string): string => "hello " + who;`,
	"src/other.ts":         `export class Room {} export class Desk {} export class Hall {}; export default { async fetch() { return new Response("other") } };`,
	"dist/index.js":        `import text from "./a.txt"; export default { async fetch() { return new Response(text) } };`,
	"dist/a.txt":           "text\n",
	"built/index.js":       `export default { async fetch() { return new Response("built") } };`,
	"built/wrangler.json":  `{"main": "index.js", "compatibility_date": "2026-01-01", "compatibility_flags": ["nodejs_compat"], "assets": {"directory": "../site"}}`,
	"anew/index.js":        `export default { async fetch() { return new Response("built anew") } };`,
	"anew/wrangler.json":   `{"main": "index.js", "compatibility_date": "2026-01-02"}`,
	"public/index.html":    "<h1>shop</h1>\n",
	"public/style.css":     "body { color: teal }\n",
	"public/notes.draft":   "not yet",
	"public/.assetsignore": "*.draft\n",
	"public/_headers":      "/style.css\n  X-Shop: yes\n",
	"public/_redirects":    "/old / 301\n",
	"site/index.html":      "<h1>site</h1>\n",
}

func lay(t kindtest.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// prepare makes what Workers are bound to.
func prepare(t kindtest.T, s *cloudflaretest.Server) {
	t.Helper()
	s.AddNamespace(cache, "cache")
	s.AddNamespace(sessions, "sessions")
	s.AddDatabase(orders, "orders")
	s.AddDatabase(users, "users")
	s.AddQueue("0123456789abcdef0123456789abcde3", "jobs")
	s.AddQueue("0123456789abcdef0123456789abcde4", "mails")
	for _, zone := range []string{"shop.example", "cdn.shop.example"} {
		s.AddZone(s.Account, zone)
	}
	for _, place := range []string{"default", "eu", "fedramp"} {
		for _, name := range []string{"files", "other"} {
			s.DoWith(t, http.MethodPost, account+"/r2/buckets", http.Header{"Cf-R2-Jurisdiction": {place}}, obj{"name": name})
		}
	}
	for _, name := range []string{"auth", "logs"} {
		s.Upload(t, name, cloudflaretest.Upload{
			Metadata: obj{"main_module": "index.js", "compatibility_date": date, "migrations": obj{"new_tag": "v1", "new_sqlite_classes": list{"Box", "Boxx"}}},
			Modules: []cloudflaretest.Module{{
				Name: "index.js", Type: "application/javascript+module", Content: []byte("export class Box {} export class Boxx {} export default {}"),
			}},
		})
	}
}

// mine are the names of the Workers that a test has made.
func mine(t kindtest.T, s *cloudflaretest.Server) []string {
	t.Helper()
	var names []string
	for _, w := range s.Do(t, http.MethodGet, scripts, nil).([]any) {
		if name := w.(obj)["id"].(string); name != "auth" && name != "logs" {
			names = append(names, name)
		}
	}
	return names
}

// objects are the Workers as others see them, without what differs between two makings.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	for _, name := range mine(t, s) {
		at := scripts + "/" + name
		settings := s.Do(t, http.MethodGet, at+"/settings", nil).(obj)
		delete(settings, "annotations")
		if o, ok := settings["observability"].(obj); ok && len(o) == 1 && o["enabled"] == false {
			settings["observability"] = nil // what is off is as if it had never been
		}
		maps.DeleteFunc(settings, func(_ string, v any) bool { return v == nil || reflect.DeepEqual(v, obj{}) })
		settings["tags"] = slices.DeleteFunc(settings["tags"].([]any), func(tag any) bool { return strings.HasPrefix(tag.(string), "athanor:") })
		bindings := settings["bindings"].([]any)
		for _, b := range bindings {
			delete(b.(obj), "namespace_id_of_class")
			if b.(obj)["type"] == "durable_object_namespace" {
				delete(b.(obj), "namespace_id")
			}
		}
		slices.SortFunc(bindings, func(a, b any) int { return strings.Compare(a.(obj)["name"].(string), b.(obj)["name"].(string)) })
		w := obj{"settings": settings, "subdomain": s.Do(t, http.MethodGet, at+"/subdomain", nil)}
		var crons, hosts, patterns, classes []any
		for _, c := range s.Do(t, http.MethodGet, at+"/schedules", nil).(obj)["schedules"].([]any) {
			crons = append(crons, c.(obj)["cron"])
		}
		for _, d := range s.Do(t, http.MethodGet, account+"/workers/domains?service="+name, nil).([]any) {
			hosts = append(hosts, d.(obj)["hostname"], d.(obj)["zone_name"])
		}
		for _, zone := range s.Do(t, http.MethodGet, "/zones", nil).([]any) {
			for _, r := range s.Do(t, http.MethodGet, "/zones/"+zone.(obj)["id"].(string)+"/workers/routes", nil).([]any) {
				if r.(obj)["script"] == name {
					patterns = append(patterns, r.(obj)["pattern"], zone.(obj)["name"])
				}
			}
		}
		for _, c := range s.Do(t, http.MethodGet, account+"/workers/durable_objects/namespaces", nil).([]any) {
			if c.(obj)["script"] == name {
				classes = append(classes, c.(obj)["class"], c.(obj)["use_sqlite"])
			}
		}
		uploads := s.Uploads(name)
		for _, m := range uploads[len(uploads)-1].Modules {
			w["module "+m.Name] = m.Type + " " + string(m.Content)
		}
		files, config := s.Assets(name)
		for path, text := range files {
			w["file "+path] = string(text)
		}
		w["assets"], w["crons"], w["hosts"], w["routes"], w["classes"] = config, crons, hosts, patterns, classes
		all = append(all, w)
	}
	return all
}

func plain() obj {
	return obj{"code": obj{"bundle": "src/index.ts"}, "compatibilityDate": date, "deletedClasses": list{"Room", "Desk", "Hall"}}
}

func with(base, more obj) obj {
	all := obj{}
	for _, m := range []obj{base, more} {
		maps.Copy(all, m)
	}
	return all
}

// bound are bindings of every type.
func bound() obj {
	return obj{
		"TEXT": obj{"text": "text"}, "JSON": obj{"json": obj{"a": list{int64(1), "b"}}}, "SECRET": obj{"secret": "hidden"},
		"KV": obj{"kv": cache}, "R2": obj{"r2": "files", "jurisdiction": "eu"}, "D1": obj{"d1": orders}, "QUEUE": obj{"queue": "jobs"},
		"ROOM": obj{"durableObject": "Room"}, "BOX": obj{"durableObject": "Box", "script": "auth"},
		"FLOW": obj{"workflow": "flow", "class": "Flow", "script": "auth"}, "AUTH": obj{"service": "auth", "entrypoint": "Admin"},
		"VECTORS": obj{"vectorize": "index"}, "HYPER": obj{"hyperdrive": cache}, "AI": obj{"ai": true},
		"SEARCH": obj{"aiSearch": obj{"instance": "docs", "namespace": "shop"}}, "SEARCHES": obj{"aiSearchNamespace": "shop"},
		"EVENTS": obj{"analyticsEngine": "events"}, "THINGS": obj{"artifacts": "things"}, "BROWSER": obj{"browser": true},
		"TENANTS": obj{"dispatchNamespace": "tenants", "outbound": obj{"worker": "auth", "entrypoint": "Out", "params": list{"tenant", "plan"}}},
		"FLAGS":   obj{"flagship": "app"}, "IMAGES": obj{"images": true}, "MEDIA": obj{"media": true}, "CERT": obj{"mtls": cache},
		"STREAM": obj{"pipeline": "stream"}, "LIMIT": obj{"rateLimit": obj{"namespace": "1001", "limit": int64(100), "period": "60s"}},
		"KEY":   obj{"secretKey": obj{"algorithm": obj{"name": "HMAC", "hash": "SHA-256"}, "format": "raw", "usages": list{"sign", "verify"}, "base64": "aGlkZGVu"}},
		"JWK":   obj{"secretKey": obj{"algorithm": "ES256", "format": "jwk", "usages": list{"sign"}, "jwk": `{"kty":"oct"}`}},
		"VAULT": obj{"secretsStore": obj{"store": cache, "name": "api"}}, "MAIL": obj{"sendEmail": obj{"destination": "a@shop.example"}},
		"MAILS":   obj{"sendEmail": obj{"destinations": list{"a@shop.example", "b@shop.example"}, "senders": list{"c@shop.example", "d@shop.example"}}},
		"VERSION": obj{"versionMetadata": true}, "INSIDE": obj{"vpcService": "service"}, "NET": obj{"vpcNetwork": obj{"network": "net"}},
		"TUNNEL": obj{"vpcNetwork": obj{"tunnel": "tunnel"}}, "LOADER": obj{"workerLoader": true},
	}
}

func tuned() obj {
	return obj{
		"name": "orders", "code": obj{"bundle": "src/other.ts", "minify": true, "sourceMap": true, "external": list{"sharp"}, "define": obj{"MODE": "1"}, "alias": obj{"far": "near"}, "rules": obj{".glsl": "text"}},
		"compatibilityDate": "2025-06-01", "compatibilityFlags": list{"nodejs_compat", "enable_ctx_exports"},
		"env": obj{
			"STAGE": "prod", "TURNS": int64(3), "ON": true, "LIST": list{"a", "b"}, "CACHE": obj{"kv": cache}, "KEY": obj{"secret": "hidden"},
		},
		"limits": obj{"cpu": "50ms", "subrequests": int64(10)}, "placement": obj{"mode": "smart"},
		"observability": obj{
			"enabled": true, "samplingRate": 0.5,
			"logs":   obj{"enabled": true, "invocationLogs": false, "samplingRate": 0.5, "persist": false, "destinations": list{"one", "two"}},
			"traces": obj{"enabled": true, "samplingRate": 0.5, "persist": false, "destinations": list{"one", "two"}},
		},
		"logpush": true, "tailConsumers": list{obj{"service": "logs"}, obj{"service": "auth"}}, "crons": list{"*/5 * * * *", "0 3 * * *"}, "workersDev": true, "previews": true,
		"domains": list{"api.shop.example", "www.shop.example"},
		"routes":  obj{"cdn.shop.example/*": obj{"zone": "shop.example"}, "shop.example/api/*": obj{}},
		"tags":    list{"team-shop", "tier-1"}, "forceDestroy": true, "traffic": int64(20), "deletedClasses": list{"Gone"}, "deletedSecrets": list{"TEAM", "OLD"},
	}
}

func workerSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	make := ws.Make(prepare, objects)
	return kindtest.Suite{
		Kind: workerKind.Erase(),
		World: func(t kindtest.T) kindtest.World {
			t.Helper()
			w := make(t)
			lay(t, w.Dir, sources)
			return w
		},
		Base:  plain(),
		Fault: cloudflaretest.FaultOf("Workers"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "bound", Props: with(plain(), obj{"bindings": bound(), "durableObjects": obj{"Room": obj{}, "Desk": obj{}, "Hall": obj{}}})},
			{Name: "added", Props: with(plain(), obj{"bindings": obj{"CACHE": obj{"kv": cache}, "MAIL": obj{"sendEmail": obj{}}}, "durableObjects": obj{"Room": obj{}}, "placement": obj{"hostname": "api.example"}})},
			{Name: "assets", Props: with(plain(), obj{
				"code": obj{"directory": "dist", "main": "index.js"}, "bindings": obj{"ASSETS": obj{"assets": true}},
				"assets": obj{"directory": "public", "htmlHandling": "none", "notFoundHandling": "404-page", "runWorkerFirstAt": list{"/api/*", "!/api/docs/*"}},
			})},
			{Name: "assets first", Props: with(plain(), obj{"assets": obj{"directory": "site", "runWorkerFirst": true}, "placement": obj{"host": "db.example:5432"}})},
			{Name: "assets alone", Props: obj{"assets": obj{"directory": "site"}}},
			{Name: "built", Props: obj{"code": obj{"build": "built", "serve": obj{"run": "npx vite", "dir": "web", "env": obj{"MODE": "x"}}}, "env": obj{"CACHE": obj{"kv": cache}}}},
			{Name: "script", Props: with(plain(), obj{"code": obj{"script": "export default { async fetch() { return new Response('hi') } }"}, "placement": obj{"region": "aws:eu-central-1"}})},
		},
		Hands: hands(ws),
		Ordered: map[tree.Path]string{
			"code":     "code is built of it, and its digest is compared",
			"bindings": "a binding is compared as a document, which Cloudflare keeps as it was written",
			"assets":   "what is asked first is in the digest of the assets as it is declared",
		},
		Secrets: []tree.Path{"env.STAGE"},
		Others: map[tree.Path][]any{
			"env.*": {"other"}, "code.bundle": {"src/other.ts", "src/index.ts"}, "code.directory": {"other"}, "code.build": {"anew"}, "code.main": {"other.js"},
			"assets.directory": {"site", "public"}, "bindings.*.json": {"other"}, "bindings.*.kv": {sessions}, "bindings.*.r2": {"other"},
			"bindings.*.jurisdiction": {"fedramp"}, "bindings.*.d1": {users}, "bindings.*.queue": {"mails"}, "bindings.*.durableObject": {"Boxx"},
			"bindings.*.script": {"logs"}, "bindings.*.service": {"logs"}, "bindings.*.outbound.worker": {"logs"},
			"bindings.*.secretKey.algorithm": {"HMAC"}, "compatibilityDate": {"2025-01-01"}, "tailConsumers[*].service": {"auth"},
			"routes.*.zone": {"cdn.shop.example"}, "bindings.*.rateLimit.period": {"10s"}, "placement.region": {"gcp:europe-west1"},
			"observability.samplingRate": {0.25}, "observability.logs.samplingRate": {0.25}, "observability.traces.samplingRate": {0.25},
		},
		// What somebody adds is nobody's entry; somebody who uploads other code may have uploaded other assets.
		Alias: map[tree.Path]tree.Path{"bindings": "env", "code": "assets"},
		Open:  map[tree.Path]string{"routes": "Cloudflare tells of routes by zones alone: in one that nobody names they are not seen"},
		Silent: map[tree.Path]string{
			"code.serve":     "it runs in dev alone; TestServe changes what is given to it",
			"deletedClasses": "it says what is to become of classes that are declared no longer",
			"deletedSecrets": "it says what is to become of secrets that others have put there",
			"forceDestroy":   "it is leave for a deletion",
			"traffic":        "a Worker's only version has all; TestTraffic changes it",
		},
		Unreadable: map[tree.Path]string{
			"code": "Cloudflare does not show the sources of modules", "assets": "Cloudflare does not show the files of a version",
			"env": "values that nobody declared are masked",
		},
		Steady: map[tree.Path]string{
			"name":           "a Worker keeps its name for life",
			"code.external":  "what code.bundle is built with: it is in the module",
			"code.minify":    "what code.bundle is built with: it is in the module",
			"code.sourceMap": "what code.bundle is built with: it is in the modules",
			"durableObjects": "TestClasses deletes and renames them: a class is a part of the code",
			"code.define":    "what code.bundle is built with: it is in the module",
			"code.alias":     "what code.bundle is built with: it is in the module",
			"code.rules":     "what modules are called: Cloudflare does not show it",
			"deletedClasses": "it is leave for a deletion, and nothing in the world",
			"deletedSecrets": "it is leave for a deletion, and nothing in the world",
			"forceDestroy":   "it is leave for a deletion, and nothing in the world",
			"placement.mode": "it is smart, or there is none",
			"traffic":        "a Worker's only version has all; TestTraffic changes it",
		},
	}
}

func TestWorker(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, workerSuite())
}
