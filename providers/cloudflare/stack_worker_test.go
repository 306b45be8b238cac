package cloudflare_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// canary is a secret that nobody may see.
const canary = "canary-3c9d1f"

const script = `export default { async fetch() { return new Response("hello") }, async queue() {} }`

// twoWorkers are bound to each other, and one to all kinds that can be bound.
func twoWorkers(stage string) athanor.Program {
	return func(s *athanor.Stack) error {
		cache := kv.NewNamespace(s, "cache", kv.NamespaceProps{})
		db := d1.NewDatabase(s, "db", d1.DatabaseProps{})
		jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})
		files := r2.NewBucket(s, "files", r2.BucketProps{Jurisdiction: new("eu")})
		api := workers.NewWorker(s, "api", workers.WorkerProps{
			Code: workers.Script(script), CompatibilityDate: "2026-01-01",
			Env: workers.Env{
				"CACHE": cache, "DB": db, "JOBS": jobs, "FILES": files, "STAGE": stage, "TURNS": 3, "KEY": s.Secret("key", athanor.FromEnv("SHOP_KEY")),
				"AI": workers.Binding{AI: true},
			},
			Domains: []string{"api.shop.example"}, WorkersDev: true,
		})
		auth := workers.NewWorker(s, "auth", workers.WorkerProps{
			Code: workers.Script(script), CompatibilityDate: "2026-01-01", Env: workers.Env{"API": api},
		})
		s.Bind(api, "AUTH", workers.Binding{Service: auth.Name})
		queues.NewConsumer(s, "work", queues.ConsumerProps{Queue: jobs.ID, Script: api.Name})
		s.Output("url", api.URL)
		return nil
	}
}

// bindings are those of the Worker whose name begins so, by name.
func (s *stage) bindings(prefix string) map[string]map[string]any {
	s.t.Helper()
	all := map[string]map[string]any{}
	for _, w := range s.s.Do(s.t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts", nil).([]any) {
		name := w.(map[string]any)["id"].(string)
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		settings := s.s.Do(s.t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts/"+name+"/settings", nil).(map[string]any)
		for _, b := range settings["bindings"].([]any) {
			all[b.(map[string]any)["name"].(string)] = b.(map[string]any)
		}
	}
	return all
}

// TestWorkersLive: two Workers bound to each other come in one deploy, change, are found without state and go.
func TestWorkersLive(t *testing.T) {
	s := newStage(t)
	if sum := s.deploy(twoWorkers("prod")); sum.Created != 7 || sum.Failed+sum.Blocked != 0 {
		t.Fatalf("first deploy: %+v", sum)
	}
	api, auth := s.bindings("shop-test-api"), s.bindings("shop-test-auth")
	if !strings.HasPrefix(fmt.Sprint(api["AUTH"]["service"]), "shop-test-auth") || !strings.HasPrefix(fmt.Sprint(auth["API"]["service"]), "shop-test-api") {
		t.Errorf("bound to each other: %v and %v", api["AUTH"], auth["API"])
	}
	if len(api) != 9 || api["FILES"]["jurisdiction"] != "eu" || api["KEY"]["type"] != "secret_text" || api["TURNS"]["type"] != "json" {
		t.Errorf("api is bound to %v", api)
	}
	s.s.Reset()
	if sum := s.deploy(twoWorkers("prod")); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
	s.s.Reset()
	sum := s.deploy(twoWorkers("test"))
	if have := s.s.Wrote(); sum.Updated != 1 || !slices.Equal(have, []string{"Workers.PatchScriptScriptAndVersionSetting"}) {
		t.Errorf("a variable changed: %+v, wrote %v", sum, have)
	}
	if have := s.bindings("shop-test-api"); len(have) != 9 || have["STAGE"]["text"] != "test" {
		t.Errorf("api is bound to %v", have)
	}

	s.e.Store = mem.New()
	s.s.Reset()
	if sum := s.deploy(twoWorkers("test")); sum.Created+sum.Replaced+sum.Deleted != 0 {
		t.Errorf("without a record: %+v", sum)
	}
	for _, call := range s.s.Wrote() { // the owner tags name the store, and nobody remembers the secret
		if call != "Workers.PatchScriptSetting" && call != "Workers.PatchScriptScriptAndVersionSetting" {
			t.Errorf("without a record %s is made", call)
		}
	}
	if sum := s.destroy(); sum.Deleted != 7 {
		t.Errorf("destroy: %+v", sum)
	}
	if left := s.bindings("shop-"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	s.empty()
}

// TestWorkerSecret: a secret is in no plan, and in no record of what was done.
func TestWorkerSecret(t *testing.T) {
	s := newStage(t)
	p, err := s.plan(twoWorkers("prod"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil || bytes.Contains(text, []byte(canary)) {
		t.Errorf("the plan shows the secret: %v", err)
	}
	armed := s.s.Inject(cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.Deny})
	r, err := s.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if armed.Fired() == 0 || strings.Contains(fmt.Sprint(r, err), canary) {
		t.Errorf("fired %d; %v %v", armed.Fired(), r, err)
	}
	s.deploy(twoWorkers("prod"))
	uploads := 0
	for _, c := range s.s.Calls() {
		if c.Name() == "Workers.PutScript" && bytes.Contains(c.Body, []byte(canary)) {
			uploads++
		}
	}
	if uploads == 0 {
		t.Error("the secret reaches nobody")
	}
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	record, err := s.e.Store.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.e.Store.Runs(t.Context(), stage, 10)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	kept := []any{record, runs}
	for _, run := range runs {
		events, err := s.e.Store.Events(t.Context(), stage, run.ID, 0, 10_000)
		if err != nil || len(events) == 0 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		kept = append(kept, events)
	}
	text, err = json.Marshal(kept)
	if err != nil || bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(canary)))) {
		t.Errorf("the record shows the secret: %v", err)
	}
}

// TestWorkerWhose is the table of adoption: whose a Worker is that is there already.
func TestWorkerWhose(t *testing.T) {
	named := func(opts ...athanor.Option) athanor.Program {
		return func(s *athanor.Stack) error {
			workers.NewWorker(s, "api", workers.WorkerProps{Name: "api", Code: workers.Script(script), CompatibilityDate: "2026-01-01"}, opts...)
			return nil
		}
	}
	mark := func(stack string) []any {
		var tags []any
		for _, tag := range []string{"stack=" + stack, "stage=test", "id=api", "generation=1", "store=elsewhere"} {
			tags = append(tags, adopt.TagPrefix+tag)
		}
		return tags
	}
	for _, c := range []struct {
		name    string
		tags    []any
		program athanor.Program
		foreign bool
	}{
		{"without a mark", []any{"team-shop"}, named(), true},
		{"of another stack", mark("other"), named(), true},
		{"of this stack", mark("shop"), named(), false},
		{"without a mark, and adopted", nil, named(athanor.Adopt("api")), false},
		{"of another stack, and adopted", mark("other"), named(athanor.Adopt("api")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.s.AddScript("api")
			s.s.Do(t, http.MethodPatch, "/accounts/ACCOUNT/workers/scripts/api/script-settings", map[string]any{"tags": append([]any{}, c.tags...)})
			p, err := s.plan(c.program)
			if err == nil {
				_, err = s.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
			}
			if errors.Is(err, adopt.ErrForeign) != c.foreign || !c.foreign && err != nil {
				t.Errorf("%v", err)
			}
			settings := s.s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts/api/settings", nil).(map[string]any)
			if ours := slices.Contains(settings["tags"].([]any), any("athanor:stack=shop")); ours == c.foreign {
				t.Errorf("it is marked %v", settings["tags"])
			}
		})
	}
}

// TestWorkerRuns: what was deployed answers, in Cloudflare's own runtime, with all that it is bound to; so does what is
// deployed after it.
func TestWorkerRuns(t *testing.T) {
	s := newStage(t)
	s.s.WithDatabases(t)
	s.dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("migrations/0001_orders.sql", "CREATE TABLE orders (name TEXT); INSERT INTO orders VALUES ('first'), ('second');")
	write("public/about.html", "<h1>about</h1>")
	write("src/greet.ts", "export const greet = (who: string): string => `hello ${who}`;")
	write("src/greeting.txt", "welcome")
	write("src/index.ts", `import { greet } from "./greet"; import welcome from "./greeting.txt";
		export class Counter { n = 0; async fetch() { return new Response(String(++this.n)) } }
		export default {
			async fetch(request: Request, env: any): Promise<Response> {
				await env.CACHE.put("stage", greet(env.STAGE));
				const { count } = await env.DB.prepare("SELECT count(*) AS count FROM orders").first();
				const room = env.COUNTER.get(env.COUNTER.idFromName("room"));
				const counted = await (await room.fetch("http://counter/")).text();
				const about = await (await env.ASSETS.fetch("http://assets/about")).text();
				const other = await (await env.OTHER.fetch("http://other/")).text();
				return Response.json([welcome, await env.CACHE.get("stage"), count, env.TURNS + 1, env.KEY.length, counted, about, other]);
			},
		};`)
	program := func(stage string) athanor.Program {
		return func(s *athanor.Stack) error {
			other := workers.NewWorker(s, "other", workers.WorkerProps{Code: workers.Script(script), CompatibilityDate: "2026-01-01"})
			workers.NewWorker(s, "api", workers.WorkerProps{
				Name: "api", Code: workers.Bundle("src/index.ts"), CompatibilityDate: "2026-01-01",
				Env: workers.Env{
					"CACHE": kv.NewNamespace(s, "cache", kv.NamespaceProps{}), "DB": d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"}),
					"STAGE": stage, "TURNS": 3, "KEY": s.Secret("key", athanor.FromEnv("SHOP_KEY")), "COUNTER": workers.Binding{DurableObject: "Counter"},
					"ASSETS": workers.Binding{Assets: true}, "OTHER": other,
				},
				DurableObjects: map[string]workers.DurableObject{"Counter": {}},
				Assets:         &workers.Assets{Directory: "public", RunWorkerFirst: true},
			})
			return nil
		}
	}
	for _, stage := range []string{"prod", "test"} {
		if sum := s.deploy(program(stage)); sum.Failed+sum.Blocked != 0 {
			t.Fatalf("%+v", sum)
		}
		res, err := http.Get(s.s.Run(t, "api"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		want := fmt.Sprintf(`["welcome","hello %s",2,4,%d,"1","<h1>about</h1>","hello"]`, stage, len(canary))
		if err != nil || string(said) != want {
			t.Errorf("it answers %d %s (%v), want %s", res.StatusCode, said, err, want)
		}
	}
}
