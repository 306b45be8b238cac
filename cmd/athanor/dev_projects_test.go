//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// everyProject is the stack of all projects in providers/cloudflare/testdata/projects.
const everyProject = `stack: projects
secrets: {key: {file: key.txt}}
resources:
  db: {kind: cloudflare.D1Database, props: {migrations: migrations}}
  seen: {kind: cloudflare.KVNamespace}
  done: {kind: cloudflare.KVNamespace}
  jobs: {kind: cloudflare.Queue}
  notes:
    kind: cloudflare.Worker
    props: {code: {bundle: notes.ts}, compatibilityDate: "2026-01-31", env: {DB: {d1: "${db.id}"}, SEEN: {kv: "${seen.id}"}, KEY: "${secret.key}"}}
  chat:
    kind: cloudflare.Worker
    props: {code: {bundle: chat.ts}, compatibilityDate: "2026-01-31", durableObjects: {Room: {}}, env: {ROOMS: {durableObject: Room}}}
  spa:
    kind: cloudflare.Worker
    props:
      code: {bundle: spa.ts}
      compatibilityDate: "2026-01-31"
      assets: {directory: public, notFoundHandling: single-page-application, runWorkerFirstAt: [/api/*]}
  sender: {kind: cloudflare.Worker, props: {code: {bundle: sender.ts}, compatibilityDate: "2026-01-31", env: {JOBS: {queue: "${jobs.name}"}}}}
  worker: {kind: cloudflare.Worker, props: {code: {bundle: worker.ts}, compatibilityDate: "2026-01-31", env: {DONE: {kv: "${done.id}"}}}}
  work: {kind: cloudflare.QueueConsumer, props: {queue: "${jobs.id}", script: "${worker.name}", batchSize: 1}}
  left:
    kind: cloudflare.Worker
    props: {code: {bundle: left.ts}, compatibilityDate: "2026-01-31", env: {RIGHT: {service: "${right.name}", entrypoint: Doubling}}}
  right:
    kind: cloudflare.Worker
    props: {code: {bundle: right.ts}, compatibilityDate: "2026-01-31", env: {LEFT: {service: "${left.name}", entrypoint: Names}}}
  flow: {kind: cloudflare.Worker, props: {code: {bundle: flow.ts}, compatibilityDate: "2026-01-31", env: {ORDERS: {workflow: "${orders.name}", class: Order}}}}
  orders: {kind: cloudflare.Workflow, props: {script: "${flow.name}", class: Order}}
outputs: {notes: "${notes.url}", chat: "${chat.url}", spa: "${spa.url}", sender: "${sender.url}", worker: "${worker.url}", left: "${left.url}", flow: "${flow.url}"}
`

// packages lays out what npm has installed. Those that are bundled are copied, since athanor reads nothing outside of the project.
func (w *world) packages(bundled ...string) {
	w.t.Helper()
	cloudflaretest.Packages(w.t, w.dir)
	own := filepath.Join(w.dir, "node_modules")
	from, err := os.Readlink(own)
	if err == nil {
		err = os.Remove(own)
	}
	entries, listed := os.ReadDir(from)
	if err := errors.Join(err, listed, os.Mkdir(own, 0o700)); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		from, to := filepath.Join(from, e.Name()), filepath.Join(own, e.Name())
		if slices.Contains(bundled, e.Name()) {
			err = os.CopyFS(to, os.DirFS(from))
		} else {
			err = os.Symlink(from, to)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// All projects are developed in one session and without an account: each answers, and after an edit of its source it answers with
// that, while what it kept stays.
func TestDevServesProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyProject)
	if err := os.CopyFS(w.dir, os.DirFS(filepath.FromSlash("../../providers/cloudflare/testdata/projects"))); err != nil {
		t.Fatal(err)
	}
	w.packages("hono")
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	w.write("key.txt", "s3cr3t-of-the-worker\n")
	edit := func(file, from, to string) {
		t.Helper()
		text := w.read(file)
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %q", file, from)
		}
		w.save(file, strings.Replace(text, from, to, 1))
	}
	edit("chat.ts", "class CLASS", "class Room")

	s := w.dev()
	urls := s.deployed(map[string]float64{"created": 14})["outputs"].(map[string]any)
	asked := func(method, worker, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprint(urls[worker])+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer s3cr3t-of-the-worker")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	answers := func(method, worker, path, body, want string) {
		t.Helper()
		if have := asked(method, worker, path, body); have != want {
			t.Errorf("%s %s of %s answers %q, want %q", method, path, worker, have, want)
		}
	}
	becomes := func(worker, path, want string) {
		t.Helper()
		for !strings.Contains(asked(http.MethodGet, worker, path, ""), want) { // on its way; the deadline of the tests ends this
			time.Sleep(20 * time.Millisecond) // the processor is for what is on its way
		}
	}

	answers(http.MethodPost, "notes", "/notes", "buy milk", "kept")
	answers(http.MethodPost, "chat", "/tea", "hello", `["hello"]`)
	answers(http.MethodGet, "spa", "/app.js", "", "export const shop = true;\n")
	answers(http.MethodGet, "spa", "/api/carts/1", "", `{"path":"/api/carts/1"}`)
	answers(http.MethodPost, "sender", "/", "parcel", "queued")
	becomes("worker", "/parcel", "done")
	answers(http.MethodGet, "left", "/", "", "hello ada, hello ada")
	answers(http.MethodPost, "flow", "/o1", "lamp", "begun")
	becomes("flow", "/o1", "lamp reserved and paid")

	for file, text := range map[string][2]string{
		"notes.ts": {`"kept"`, `"noted"`}, "chat.ts": {"concat(line)", `concat(line + "!")`}, "spa.ts": {"{ path:", "{ route:"},
		"worker.ts": {`"done"`, `"carried"`}, "left.ts": {"hello $", "dear $"}, "flow.ts": {"and paid", "and sent"},
	} {
		edit(file, text[0], text[1])
	}
	for updated := 0.0; updated < 6; { // several saves may be one round
		e := s.deployed(map[string]float64{"failed": 0})
		n, _ := e["updated"].(float64)
		updated += n
	}
	answers(http.MethodPost, "notes", "/notes", "buy tea", "noted")
	answers(http.MethodGet, "notes", "/notes", "", `{"notes":["buy milk","buy tea"],"reads":"1"}`)
	answers(http.MethodPost, "chat", "/tea", "again", `["hello","again!"]`)
	answers(http.MethodGet, "spa", "/api/carts/1", "", `{"route":"/api/carts/1"}`)
	answers(http.MethodPost, "sender", "/", "letter", "queued")
	becomes("worker", "/letter", "carried")
	answers(http.MethodGet, "left", "/", "", "dear ada, dear ada")
	answers(http.MethodPost, "flow", "/o2", "lamp", "begun")
	becomes("flow", "/o2", "lamp reserved and sent")
	s.stop(0)
	w.run(0, "destroy", "--yes", "--stage", "local-tester", "--allow-delete", "**")
	if left, err := os.ReadDir(filepath.Join(w.dir, ".athanor", "local")); err == nil {
		t.Errorf("destroy leaves %v", left)
	}
}
