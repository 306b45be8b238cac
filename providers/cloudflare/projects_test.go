package cloudflare_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/reconcile"
)

// projects are what developers of Workers write: an API with Hono, a chat, a single-page application, a queue, two Workers that
// call each other, a Workflow. rooms is the class of the chat's Durable Objects, "" for none any more; was is what it was called.
func projects(rooms, was string) athanor.Program {
	return func(s *athanor.Stack) error {
		const date = "2026-01-31"
		bundled := func(name string, p workers.WorkerProps) workers.Worker {
			p.Code, p.CompatibilityDate = workers.Bundle(name+".ts"), date
			return workers.NewWorker(s, name, p)
		}
		db := d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
		seen := kv.NewNamespace(s, "seen", kv.NamespaceProps{})
		bundled("notes", workers.WorkerProps{
			Env:   workers.Env{"DB": db, "SEEN": seen, "KEY": s.Secret("key", athanor.FromEnv("SHOP_KEY"))},
			Crons: []string{"17 3 * * *"},
		})

		chat := workers.WorkerProps{DeletedClasses: []string{"Hall"}}
		name := "quiet"
		if rooms != "" {
			name = "chat"
			chat.DurableObjects = map[string]workers.DurableObject{rooms: {RenamedFrom: was}}
			chat.Env = workers.Env{"ROOMS": workers.Binding{DurableObject: rooms}}
			chat.DeletedClasses = nil
		}
		chat.Code, chat.CompatibilityDate = workers.Bundle(name+".ts"), date
		workers.NewWorker(s, "chat", chat)

		bundled("spa", workers.WorkerProps{Assets: &workers.Assets{
			Directory: "public", NotFoundHandling: "single-page-application", RunWorkerFirstAt: []string{"/api/*"},
		}})

		jobs, done := queues.NewQueue(s, "jobs", queues.QueueProps{}), kv.NewNamespace(s, "done", kv.NamespaceProps{})
		bundled("sender", workers.WorkerProps{Env: workers.Env{"JOBS": jobs}})
		worker := bundled("worker", workers.WorkerProps{Env: workers.Env{"DONE": done}})
		queues.NewConsumer(s, "work", queues.ConsumerProps{Queue: jobs.ID, Script: worker.Name, BatchSize: new(1)})

		left, right := bundled("left", workers.WorkerProps{}), bundled("right", workers.WorkerProps{})
		s.Bind(left, "RIGHT", workers.Binding{Service: right.Name, Entrypoint: "Doubling"})
		s.Bind(right, "LEFT", workers.Binding{Service: left.Name, Entrypoint: "Names"})

		flow := bundled("flow", workers.WorkerProps{})
		orders := workflows.NewWorkflow(s, "orders", workflows.WorkflowProps{Script: flow.Name, Class: "Order"})
		s.Bind(flow, "ORDERS", workers.Binding{Workflow: orders.Name, Class: orders.Class})
		return nil
	}
}

// TestProjects deploys the projects, asks them in Cloudflare's own runtime, renames and deletes a class of Durable Objects, and
// destroys them.
func TestProjects(t *testing.T) {
	s := newStage(t)
	var err error
	s.e.Catalog, err = reconcile.NewCatalog(cloudflare.Provider(
		d1.Service(), kv.Service(), queues.Service(), workers.Service(), workflows.Service(),
	))
	if err != nil {
		t.Fatal(err)
	}
	s.s.WithDatabases(t)
	s.dir = t.TempDir()
	if err := os.CopyFS(s.dir, os.DirFS("testdata/projects")); err != nil {
		t.Fatal(err)
	}
	cloudflaretest.Packages(t, s.dir)
	s.class("CLASS", "Room")
	if sum := s.deploy(projects("Room", "")); sum.Created != 14 || sum.Failed+sum.Blocked != 0 {
		t.Fatalf("first deploy: %+v", sum)
	}
	p := &running{stage: s, urls: s.s.RunAll(t)}
	s.s.Reset()
	if sum := s.deploy(projects("Room", "")); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}

	p.answers("POST", "notes", "/notes", "buy milk", 401, "who are you?")
	p.answers("POST", "notes", "/notes", "buy milk", 201, "kept", "Authorization", "Bearer "+canary)
	p.answers("GET", "notes", "/notes", "", 200, `{"notes":["buy milk"],"reads":"1"}`)
	p.answers("GET", "notes", "/cdn-cgi/handler/scheduled?cron=17+3+*+*+*", "", 200, "ok")
	p.answers("GET", "notes", "/notes", "", 200, `{"notes":[],"reads":"2"}`)

	p.answers("POST", "chat", "/tea", "hello", 200, `["hello"]`)
	p.answers("POST", "chat", "/tea", "again", 200, `["hello","again"]`)
	p.answers("POST", "chat", "/coffee", "hello", 200, `["hello"]`)

	p.answers("GET", "spa", "/app.js", "", 200, "export const shop = true;\n")
	p.answers("GET", "spa", "/api/carts/1", "", 200, `{"path":"/api/carts/1"}`)
	page := "<!doctype html><title>shop</title><div id=\"app\"></div>\n"
	p.answers("GET", "spa", "/carts/1", "", 200, page, "Sec-Fetch-Mode", "navigate")

	p.answers("POST", "sender", "/", "parcel", 202, "queued")
	p.becomes("worker", "/parcel", "done")

	p.answers("GET", "left", "/", "", 200, "hello ada, hello ada")

	p.answers("POST", "flow", "/o1", "lamp", 202, "begun")
	p.becomes("flow", "/o1", `"lamp reserved and paid"`)

	s.class("Room", "Hall")
	s.s.Reset()
	if sum := s.deploy(projects("Hall", "Room")); sum.Updated != 1 || sum.Created+sum.Replaced+sum.Deleted != 0 {
		t.Errorf("a class was renamed: %+v", sum)
	}
	if have := s.migrations(); !strings.Contains(have, `"renamed_classes":[{"from":"Room","to":"Hall"}]`) {
		t.Errorf("a class was renamed: %s", have)
	}
	p.urls = s.s.RunAll(t)
	p.answers("POST", "chat", "/cocoa", "hello", 200, `["hello"]`)
	s.s.Reset()
	if sum := s.deploy(projects("", "")); sum.Updated != 1 || sum.Created+sum.Replaced+sum.Deleted != 0 {
		t.Errorf("a class was deleted: %+v", sum)
	}
	if have := s.migrations(); !strings.Contains(have, `"deleted_classes":["Hall"]`) {
		t.Errorf("a class was deleted: %s", have)
	}
	p.urls = s.s.RunAll(t)
	p.answers("GET", "chat", "/", "", 200, "closed")

	if sum := s.destroy("db"); sum.Deleted != 14 || sum.Failed != 0 {
		t.Errorf("destroy: %+v", sum)
	}
	if left := s.bindings("shop-"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	s.empty()
}

// class changes the name of the chat's class in its source.
func (s *stage) class(from, to string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "chat.ts")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "class "+from) {
		s.t.Fatalf("%s has no class %s: %v", file, from, err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "class "+from, "class "+to)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// migrations are the bodies of the uploads since the last Reset.
func (s *stage) migrations() string {
	var all strings.Builder
	for _, c := range s.s.Calls() {
		if c.Name() == "Workers.PutScript" {
			all.Write(c.Body)
		}
	}
	return all.String()
}

// running is a stage whose Workers run here.
type running struct {
	*stage
	urls map[string]string // by the names of the Workers in the account
}

// url is the address of a Worker, by its name in the program.
func (r *running) url(worker string) string {
	r.t.Helper()
	for name, url := range r.urls {
		if strings.HasPrefix(name, "shop-test-"+worker) {
			return url
		}
	}
	r.t.Fatalf("there is no Worker %s", worker)
	return ""
}

// ask sends a request to a Worker, with headers as pairs.
func (r *running) ask(method, worker, path, body string, headers ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url(worker)+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (r *running) answers(method, worker, path, body string, status int, want string, headers ...string) {
	r.t.Helper()
	if code, have := r.ask(method, worker, path, body, headers...); code != status || have != want {
		r.t.Errorf("%s %s of %s: %d %q, want %d %q", method, path, worker, code, have, status, want)
	}
}

// becomes asks until an answer has the text: a message or a Workflow is on its way. The deadline of the tests ends this.
func (r *running) becomes(worker, path, want string) {
	r.t.Helper()
	for {
		if code, have := r.ask(http.MethodGet, worker, path, ""); code == http.StatusOK && strings.Contains(have, want) {
			return
		} else if code >= http.StatusInternalServerError {
			r.t.Fatalf("%s of %s: %d %s", path, worker, code, have)
		}
	}
}
