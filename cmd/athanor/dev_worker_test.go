//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// edge is a Worker with every service that it may keep data in, all of Cloudflare.
const edge = `stack: edge
secrets: {key: {file: key.txt}}
resources:
  cache: {kind: cloudflare.KVNamespace}
  db: {kind: cloudflare.D1Database, props: {migrations: migrations}}
  files: {kind: cloudflare.R2Bucket}
  jobs: {kind: cloudflare.Queue}
  api:
    kind: cloudflare.Worker
    props:
      code: {bundle: src/index.ts}
      compatibilityDate: "2026-01-01"
      env:
        CACHE: {kv: "${cache.id}"}
        DB: {d1: "${db.id}"}
        FILES: {r2: "${files.name}"}
        JOBS: {queue: "${jobs.name}"}
        GREETING: hello
        KEY: "${secret.key}"
  work: {kind: cloudflare.QueueConsumer, props: {queue: "${jobs.id}", script: "${api.name}", maxWait: 0s}}
outputs: {url: "${api.url}"}
`

// greets is the Worker's code. What it is asked for is kept everywhere, and its secret is printed.
const greets = `import { greet } from "./greet";

export default {
	async fetch(request: Request, env: any): Promise<Response> {
		const name = new URL(request.url).pathname.slice(1);
		const seen = Number(await env.CACHE.get(name) ?? 0) + 1;
		await env.CACHE.put(name, String(seen));
		await env.FILES.put(name, "x".repeat(seen));
		await env.DB.prepare("INSERT INTO visits (name) VALUES (?)").bind(name).run();
		const visits = await env.DB.prepare("SELECT count(*) AS n FROM visits WHERE name = ?").bind(name).first("n");
		const file = await (await env.FILES.get(name)).text();
		await env.JOBS.send(name);
		return new Response(greet(env.GREETING, name) + " " + [seen, visits, file.length].join(" "));
	},
	async queue(batch: any, env: any): Promise<void> {
		for (const message of batch.messages) console.log("job " + message.body + " with " + env.KEY);
	},
};
`

const visits = "CREATE TABLE visits (name TEXT); -- ; and no more"

func newEdge(t *testing.T) *world {
	t.Helper()
	packages, err := filepath.Abs("../../.cache/cloudflare/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(packages, "miniflare"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		proctest.Missing(t, "miniflare not found: run `task cloudflare` (needs Node.js)")
	case err != nil:
		t.Fatal(err)
	}
	w := newWorld(t, edge)
	for _, dir := range []string{"src", "migrations"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	w.write("key.txt", "s3cr3t-of-the-worker\n")
	w.write("src/index.ts", greets)
	w.write("src/greet.ts", "export const greet = (a: string, b: string) => `${a} ${b}`;\n")
	w.write("migrations/0001.sql", visits)
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	return w
}

func (w *world) get(url string) string {
	w.t.Helper()
	res, err := http.Get(url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func urlOf(e map[string]any) string {
	outputs, _ := e["outputs"].(map[string]any)
	url, _ := outputs["url"].(string)
	return url
}

// A Worker with all that it is bound to is served on this machine, without an account: each save is another answer at the
// same address, what was put in stays over sessions, and destroy leaves nothing.
func TestDevServesWorkers(t *testing.T) {
	t.Parallel()
	w := newEdge(t)
	s := w.dev()
	first := s.deployed(map[string]float64{"created": 6})
	url := urlOf(first)
	if have := w.get(url + "/ada"); have != "hello ada 1 1 1" {
		t.Errorf("it answers %q", have)
	}
	if e := s.said("job ada"); e["address"] != "api" || strings.Contains(fmt.Sprint(e["text"]), "s3cr3t") {
		t.Errorf("the consumer prints %v", e)
	}
	for _, save := range []struct{ file, text, want string }{
		{"src/greet.ts", "export const greet = (a: string, b: string) => `${a}, ${b}!`;\n", "hello, ada! 2 2 2"},
		{"athanor.yaml", strings.Replace(edge, "GREETING: hello", "GREETING: welcome", 1), "welcome, ada! 3 3 3"},
		{"migrations/0002.sql", "DELETE FROM visits;", "welcome, ada! 4 1 4"},
	} {
		began := time.Now()
		w.save(save.file, save.text)
		s.deployed(map[string]float64{"updated": 1, "unchanged": 5})
		if have := w.get(url + "/ada"); have != save.want {
			t.Errorf("after %s it answers %q, want %q", save.file, have, save.want)
		}
		t.Logf("from the save of %s to the answer: %s", save.file, time.Since(began))
	}
	w.save("migrations/0001.sql", "CREATE TABLE others (name TEXT)")
	if e := s.deployed(map[string]float64{"failed": 1}); !strings.Contains(fmt.Sprint(e["failures"]), "changed after it was done: 0001.sql") {
		t.Errorf("it says %v", e["failures"])
	}
	w.save("migrations/0001.sql", visits)
	s.until("a deploy", func(e map[string]any) bool { return e["type"] == "deployed" && e["state"] == "succeeded" })
	w.save("src/index.ts", "export default { fetch() { return new Response(")
	s.next("problem")
	w.save("src/index.ts", "throw new Error('at the start');\nexport default { fetch() { return new Response('no') } };")
	if e := s.deployed(map[string]float64{"failed": 1}); !strings.Contains(fmt.Sprint(e["failures"]), "at the start") {
		t.Errorf("it says %v", e["failures"])
	}
	if have := w.get(url + "/ada"); have != "welcome, ada! 5 2 5" {
		t.Errorf("a version that does not start: %q", have)
	}
	w.save("src/index.ts", greets)
	s.next("deployed")
	s.stop(0)

	s = w.dev()
	again := s.deployed(map[string]float64{"failed": 0})
	if have := w.get(urlOf(again) + "/ada"); have != "welcome, ada! 6 3 6" {
		t.Errorf("in the next session it answers %q", have)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.over(-1)
	w.run(0, "destroy", "--yes", "--stage", "local-tester")
	if left, err := os.ReadDir(filepath.Join(w.dir, ".athanor", "local")); err == nil {
		found, _ := limited(t, "find", filepath.Join(w.dir, ".athanor", "local")).CombinedOutput()
		t.Errorf("destroy leaves %v: %s", left, found)
	}
}

const counts = `import { DurableObject } from "cloudflare:workers";
export class Room extends DurableObject {
	async add() {
		const n = ((await this.ctx.storage.get("n")) ?? 0) + 1;
		await this.ctx.storage.put("n", n);
		return n;
	}
}
export default { async fetch(request, env) { return new Response(String(await env.ROOM.get(env.ROOM.idFromName("a")).add())) } };
`

// TestDevKeepsWorkers: a Worker that the author gave no name answers at the same address in each session, with what its objects have kept,
// however the session before ended. destroy leaves nothing.
func TestDevKeepsWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `stack: rooms
resources:
  api: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", durableObjects: {Room: {}}, env: {ROOM: {durableObject: Room}}}}
outputs: {url: "${api.url}"}
`)
	w.packages()
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	w.write("index.js", counts)
	s := w.dev()
	url := urlOf(s.deployed(map[string]float64{"created": 1}))
	for n := 1; ; n++ {
		if have := w.get(url); have != fmt.Sprint(n) {
			t.Errorf("in session %d it counts %s", n, have)
		}
		if n == 3 {
			break
		}
		if n == 1 {
			s.stop(0)
		} else {
			if err := s.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			s.over(-1)
		}
		s = w.dev()
		if again := urlOf(s.deployed(map[string]float64{"created": 1})); again != url {
			t.Errorf("after session %d it answers at %s, and not at %s", n, again, url)
			url = again
		}
	}
	s.stop(0)
	w.run(0, "destroy", "--yes", "--stage", "local-tester")
	if w.has(".athanor/local") {
		found, _ := limited(t, "find", filepath.Join(w.dir, ".athanor", "local")).CombinedOutput()
		t.Errorf("destroy leaves: %s", found)
	}
}

// TestDevSaysWhenComplete: a Worker in a cycle, or that is told its own address, starts without what it is bound to later. That it serves is
// said once, when all of it is there.
func TestDevSaysWhenComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `stack: cycle
resources:
  a: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", env: {OTHER: {service: "${b.name}"}}}}
  b: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", env: {OTHER: {service: "${a.name}"}}}}
  own: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", env: {URL: "${own.url}"}}}
`)
	w.packages()
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	w.write("index.js", "export default { fetch: (request, env) => new Response(Object.keys(env).join()) };\n")
	s := w.dev()
	want, said := map[any]string{"a": "OTHER", "b": "OTHER", "own": "URL"}, 0
	s.until("a deploy", func(e map[string]any) bool {
		text, _ := e["text"].(string)
		if url, serves := strings.CutPrefix(text, "serves at "); serves {
			said++
			if have := w.get(url); have != want[e["address"]] {
				t.Errorf("%s serves %q when that is said, want %q", e["address"], have, want[e["address"]])
			}
		}
		return e["type"] == "deployed"
	})
	if said != len(want) {
		t.Errorf("it is said %d times", said)
	}
	s.stop(0)
}

// TestDevKeepsRenamedWorkers: a Worker whose resource is renamed, in a session and between two, keeps its address and what its objects hold.
func TestDevKeepsRenamedWorkers(t *testing.T) {
	t.Parallel()
	const stack = `stack: rooms
resources:
  NAME: {kind: cloudflare.Worker, options: {renamedFrom: [OLD]}, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", durableObjects: {Room: {}}, env: {ROOM: {durableObject: Room}}}}
outputs: {url: "${NAME.url}"}
`
	called := func(name, old string) string { return strings.NewReplacer("NAME", name, "OLD", old).Replace(stack) }
	w := newWorld(t, called("api", "none"))
	w.packages()
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	w.write("index.js", counts)
	s := w.dev()
	url := urlOf(s.deployed(map[string]float64{"created": 1}))
	counted := 0
	count := func(when, at string) {
		t.Helper()
		counted++
		if have := w.get(at); at != url || have != fmt.Sprint(counted) {
			t.Errorf("%s it counts %s at %s, want %d at %s", when, have, at, counted, url)
		}
	}
	count("at first", url)
	w.save("athanor.yaml", called("front", "api"))
	count("renamed in a session", urlOf(s.next("deployed")))
	s.stop(0)
	s = w.dev()
	count("in the session after that", urlOf(s.deployed(nil)))
	other := strings.Replace(called("front", "api"), "outputs:", `  api: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31", durableObjects: {Room: {}}, env: {ROOM: {durableObject: Room}}}}
outputs:`, 1)
	w.save("athanor.yaml", strings.Replace(other, ", options: {renamedFrom: [api]}", "", 1))
	count("beside another one at its former address", urlOf(s.deployed(map[string]float64{"created": 1})))
	s.stop(0)
	s = w.dev()
	count("beside that in the next session", urlOf(s.deployed(nil)))
	w.save("athanor.yaml", called("front", "none"))
	count("alone again", urlOf(s.deployed(map[string]float64{"deleted": 1})))
	s.stop(0)
	w.write("athanor.yaml", called("gate", "front"))
	s = w.dev()
	count("renamed between two sessions", urlOf(s.deployed(nil)))
	w.save("athanor.yaml", called("house/door", "gate"))
	count("renamed again", urlOf(s.next("deployed")))
	s.stop(0)
	s = w.dev()
	count("in the last session", urlOf(s.deployed(nil)))
	s.stop(0)
	w.run(0, "destroy", "--yes", "--stage", "local-tester")
	if logs, err := filepath.Glob(filepath.Join(w.dir, ".athanor", "dev", "rooms", "local-tester", "*")); err != nil || len(logs) > 0 {
		t.Errorf("left are the logs %q (%v)", logs, err)
	}
	if w.has(".athanor/local") {
		found, _ := limited(t, "find", filepath.Join(w.dir, ".athanor", "local")).CombinedOutput()
		t.Errorf("destroy leaves: %s", found)
	}
}
