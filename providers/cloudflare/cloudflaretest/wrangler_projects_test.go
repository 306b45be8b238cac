package cloudflaretest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	fromwrangler "github.com/athanor-dev/athanor/adopt/from/wrangler"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// wranglerProject is a project of developers of Workers as wrangler deploys it: its Workers in the order in which they are deployed.
type wranglerProject struct {
	name string
	// daily: it is adopted at each run of the tests, and not only where everything is played. Of what the others have,
	// TestAdoptedFromWrangler adopts databases, files and queues, and wranglerWorkflows deploys a Workflow.
	daily   bool
	workers []string
	// before is what is there before wrangler deploys.
	before func(w *wranglerWorld)
	// asks is what the deployed project answers, after which it keeps what it was given.
	asks func(w *wranglerWorld)
}

var wranglerProjects = []wranglerProject{
	{"api", false, []string{"notes"}, func(w *wranglerWorld) {
		w.s.AddNamespace("00000000000000000000000000000001", "seen")
		w.s.AddDatabase("00000000-0000-0000-0000-000000000002", "notes")
		wranglerIn(w.t, w.dir, w.s, "d1", "migrations", "apply", "notes", "--remote", "--config", "notes.jsonc")
	}, func(w *wranglerWorld) {
		w.answers(http.MethodPost, "notes", "/notes", "buy milk", "kept")
		w.answers(http.MethodGet, "notes", "/notes", "", `{"notes":["buy milk"],"reads":"1"}`)
	}},
	{"chat", true, []string{"chat"}, nil, func(w *wranglerWorld) { w.answers(http.MethodPost, "chat", "/tea", "hello", `["hello"]`) }},
	{"spa", false, []string{"spa"}, nil, func(w *wranglerWorld) {
		w.answers(http.MethodGet, "spa", "/app.js", "", "export const shop = true;\n")
		w.answers(http.MethodGet, "spa", "/api/carts/1", "", `{"path":"/api/carts/1"}`)
	}},
	{"queue", false, []string{"sender", "worker"}, func(w *wranglerWorld) {
		w.s.AddNamespace("00000000000000000000000000000003", "done")
		w.s.AddQueue(hexID(16), "jobs")
	}, func(w *wranglerWorld) {
		w.answers(http.MethodPost, "sender", "/", "parcel", "queued")
		for w.said(http.MethodGet, "worker", "/parcel", "") != "done" { // the message is on its way; the deadline of the tests ends this
		}
	}},
	{"cycle", true, []string{"right", "left"}, func(w *wranglerWorld) {
		w.s.AddScript("left") // wrangler deploys one after the other, and needs the one that the first is bound to
	}, func(w *wranglerWorld) { w.answers(http.MethodGet, "left", "/", "", "hello ada, hello ada") }},
	{"workflow", false, []string{"flow"}, nil, func(w *wranglerWorld) {
		w.answers(http.MethodPost, "flow", "/o1", "lamp", "begun")
		for !strings.Contains(w.said(http.MethodGet, "flow", "/o1", ""), `"lamp reserved and paid"`) {
		}
	}},
}

// wranglerWorld is an account with a project, and the folder of that.
type wranglerWorld struct {
	t    *testing.T
	s    *Server
	dir  string
	urls map[string]string
}

// TestAdoptedProjects: each project that wrangler has deployed is adopted with secrets kept and by ownership alone, answers in
// Cloudflare's runtime, needs nothing at the second deploy, and is destroyed with nothing left.
func TestAdoptedProjects(t *testing.T) {
	for _, p := range wranglerProjects {
		if !p.daily && !proctest.Whole() {
			continue
		}
		t.Run(p.name, func(t *testing.T) { adoptProject(t, p) })
	}
}

func adoptProject(t *testing.T, p wranglerProject) {
	w := &wranglerWorld{t: t, s: Start(t), dir: t.TempDir()}
	w.s.WithDatabases(t)
	w.s.Setenv(t)
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("..", "testdata", "projects"))); err != nil {
		t.Fatal(err)
	}
	Packages(t, w.dir)
	edit(t, filepath.Join(w.dir, "chat.ts"), "class CLASS", "class Room")
	edit(t, filepath.Join(w.dir, "notes.jsonc"), `"id": "SEEN"`, `"id": "00000000000000000000000000000001"`)
	edit(t, filepath.Join(w.dir, "notes.jsonc"), `"NOTES"`, `"00000000-0000-0000-0000-000000000002"`)
	edit(t, filepath.Join(w.dir, "worker.jsonc"), `"id": "DONE"`, `"id": "00000000000000000000000000000003"`)
	if p.before != nil {
		p.before(w)
	}
	for _, name := range p.workers {
		wranglerIn(t, w.dir, w.s, "deploy", "--config", name+".jsonc")
		w.s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/"+name+"/secrets", object{"name": "KEY", "text": "s3cr3t", "type": "secret_text"})
	}
	a := w.adopting(p.workers)

	plan := a.plan(true)
	for _, action := range plan.Actions {
		if action.Action != engine.Adopt && action.Action != engine.Recover {
			t.Errorf("%s: %s %s", action.Address, action.Action, action.Problem)
		}
		for _, r := range action.Reasons {
			if !r.Unknown && !slices.Contains(ownership, r.Path) { // in a cycle one is planned before the other's name is known
				t.Errorf("%s differs in %s: %v → %v", action.Address, r.Path, r.Have, r.Want)
			}
		}
	}
	if got := a.apply(plan); got.Adopted+got.Recovered != len(a.g.Resources) || got.Created+got.Replaced+got.Deleted > 0 {
		t.Errorf("the adoption: %+v", got)
	}
	for _, name := range p.workers {
		if secrets, _ := w.s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts/"+name+"/secrets", nil).([]any); len(secrets) != 1 {
			t.Errorf("%s has the secrets %v", name, secrets)
		}
	}
	w.urls = w.s.RunAll(t)
	p.asks(w)
	w.s.Reset()
	if again := a.apply(a.plan(false)); again.Unchanged != len(a.g.Resources) || len(w.s.Wrote()) > 0 {
		t.Errorf("the second deploy: %+v, wrote %v", again, w.s.Wrote())
	}
	if n := len(w.s.Calls()); n > 20*len(a.g.Resources) {
		t.Errorf("a deploy of nothing makes %d calls for %d resources", n, len(a.g.Resources))
	}
	w.destroyed(a)
}

// adopting is an engine for one stack of all that the configurations of some Workers declare. What two of them declare alike, such
// as a queue that one writes to and the other reads from, is declared once; Workers that are bound to each other are so by references.
func (w *wranglerWorld) adopting(workers []string) *adopting {
	w.t.Helper()
	var all from.Stack
	for _, name := range workers {
		text, err := os.ReadFile(filepath.Join(w.dir, name+".jsonc"))
		if err != nil {
			w.t.Fatal(err)
		}
		stacks, err := fromwrangler.Source{}.Read(from.File{Name: "wrangler.jsonc", Content: text, Exists: func(name string) bool {
			_, err := os.Stat(filepath.Join(w.dir, name))
			return err == nil
		}})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, n := range stacks[0].Notes {
			if n.Outcome == from.Unsupported {
				w.t.Errorf("%s: %s: %s", name, n.Field, n.Text)
			}
		}
		for _, r := range stacks[0].Resources {
			same := func(other from.Resource) bool { return other.Address == r.Address }
			if i := slices.IndexFunc(all.Resources, same); i < 0 {
				all.Resources = append(all.Resources, r)
			} else if !reflect.DeepEqual(all.Resources[i].Props, r.Props) {
				w.t.Errorf("two Workers declare %s: %v and %v", r.Address, all.Resources[i].Props, r.Props)
			}
		}
	}
	for _, r := range all.Resources {
		env, _ := r.Props["env"].(map[string]any)
		for _, bound := range env {
			row, _ := bound.(map[string]any)
			if name, _ := row["service"].(string); slices.Contains(workers, name) {
				row["service"] = from.Ref{Address: name, Attribute: "name"}
			}
		}
	}
	return adoptingOf(w.t, declared(all, w.dir))
}

func (w *wranglerWorld) said(method, worker, path, body string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.urls[worker]+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cr3t")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		w.t.Fatalf("%s %s of %s: %s %q (%v)", method, path, worker, res.Status, bytes.TrimSpace(text), err)
	}
	return string(text)
}

func (w *wranglerWorld) answers(method, worker, path, body, want string) {
	w.t.Helper()
	if have := w.said(method, worker, path, body); have != want {
		w.t.Errorf("%s %s of %s answers %q, want %q", method, path, worker, have, want)
	}
}

// destroyed destroys the stack. Nothing is left.
func (w *wranglerWorld) destroyed(a *adopting) {
	w.t.Helper()
	g := &engine.Graph{Format: engine.GraphFormat, Stack: a.g.Stack, Stage: a.g.Stage, Dir: w.dir}
	p, err := a.e.PlanDestroy(w.t.Context(), statestore.Stage{Stack: a.g.Stack, Name: a.g.Stage}, g, engine.PlanOptions{AllowDelete: []string{"**"}})
	if err != nil {
		w.t.Fatal(err)
	}
	if got := a.apply(p); got.Deleted != len(a.g.Resources) {
		w.t.Errorf("destroy: %+v", got)
	}
	for _, path := range []string{"/workers/scripts", "/workers/domains", "/storage/kv/namespaces", "/d1/database", "/queues", "/workflows"} {
		if left, _ := w.s.Do(w.t, http.MethodGet, "/accounts/ACCOUNT"+path, nil).([]any); len(left) > 0 {
			w.t.Errorf("%s: left %v", path, left)
		}
	}
}
