package cloudflaretest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	fromwrangler "github.com/athanor-dev/athanor/adopt/from/wrangler"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/containers"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/reconcile"
	tokens "github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// declared is a stack that was read, as a program declares it.
func declared(s from.Stack, dir string) *engine.Graph {
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Dir: dir}
	for _, r := range s.Resources {
		props, _ := spelled(r.Props).(map[string]any)
		g.Resources = append(g.Resources, engine.Resource{Address: r.Address, Kind: r.Kind, Props: props, Options: engine.Options{Adopt: r.Adopt}})
	}
	slices.SortFunc(g.Resources, func(a, b engine.Resource) int { return strings.Compare(a.Address, b.Address) })
	return g
}

func spelled(v any) any {
	return tree.Map(v, func(leaf any) any {
		switch leaf := leaf.(type) {
		case from.Ref:
			return tokens.Plain.Ref(tokens.Ref{Address: leaf.Address, Path: tree.Path(leaf.Attribute)})
		case from.Path:
			return string(leaf)
		}
		return leaf
	})
}

// adopting is an engine that adopts what wrangler has deployed of a folder.
type adopting struct {
	t *testing.T
	e *engine.Engine
	g *engine.Graph
}

func newAdopting(t *testing.T, dir string) *adopting {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "wrangler.json"))
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := fromwrangler.Source{}.Read(from.File{Name: "wrangler.json", Content: text, Exists: func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range stacks[0].Notes {
		if n.Outcome == from.Unsupported {
			t.Errorf("%s: %s", n.Field, n.Text)
		}
	}
	return adoptingOf(t, declared(stacks[0], dir))
}

// adoptingOf is an engine that adopts what a graph declares.
func adoptingOf(t *testing.T, g *engine.Graph) *adopting {
	t.Helper()
	catalog, err := reconcile.NewCatalog(cloudflare.Provider(
		containers.Service(), d1.Service(), kv.Service(), queues.Service(), r2.Service(), workers.Service(), workflows.Service(),
	))
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	return &adopting{t, &engine.Engine{Catalog: catalog, Store: mem.New(), Key: key, Cache: t.TempDir()}, g}
}

func (a *adopting) plan(adopt bool) *engine.Plan {
	a.t.Helper()
	p, err := a.e.Plan(a.t.Context(), a.g, engine.PlanOptions{Adopt: adopt})
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

func (a *adopting) apply(p *engine.Plan) engine.Summary {
	a.t.Helper()
	for _, action := range p.Actions {
		if action.Action == engine.Blocked {
			a.t.Fatalf("%s: %s", action.Address, action.Problem)
		}
	}
	r, err := a.e.Apply(a.t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil || len(r.Failures) > 0 {
		a.t.Fatal(err, r.Failures)
	}
	return r.Summary
}

// ownership are the differences that taking over has by itself: whose the Worker is, and code and files, of which nothing at
// Cloudflare tells what they were made of.
var ownership = []tree.Path{"mark", "code", "assets"}

// TestAdoptedFromWrangler: what wrangler has deployed is adopted by what its configuration says. The plan adopts everything and
// shows ownership alone; secrets stay; after it nothing differs, and wrangler still reads what is there.
func TestAdoptedFromWrangler(t *testing.T) {
	s := Start(t)
	s.WithDatabases(t)
	s.Setenv(t)
	dir := shop(t, s)
	wranglerIn(t, dir, s, "deploy")
	s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/shop/secrets", object{"name": "KEY", "text": "s3cr3t", "type": "secret_text"})
	a := newAdopting(t, dir)

	p := a.plan(true)
	for _, action := range p.Actions {
		if action.Action != engine.Adopt && action.Action != engine.Recover { // of what there can be but one nobody asks whose it is
			t.Errorf("%s: %s", action.Address, action.Action)
		}
		for _, r := range action.Reasons {
			if !slices.Contains(ownership, r.Path) {
				t.Errorf("%s differs in %s: %v → %v", action.Address, r.Path, r.Have, r.Want)
			}
		}
	}
	uploads := len(s.Uploads("shop"))
	if got := a.apply(p); got.Adopted+got.Recovered != len(a.g.Resources) || got.Created+got.Replaced+got.Deleted > 0 {
		t.Errorf("%+v", got)
	}
	if n := len(s.Uploads("shop")) - uploads; n != 1 {
		t.Errorf("it is uploaded %d times", n)
	}
	if text := s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts/shop/secrets", nil).([]any); len(text) != 1 || text[0].(object)["name"] != "KEY" {
		t.Errorf("secrets: %v", text)
	}
	t.Run("runs", func(t *testing.T) { shopRuns(t, s.Run(t, "shop")) })
	s.Reset()
	if again := a.apply(a.plan(false)); again.Unchanged != len(a.g.Resources) || len(s.Wrote()) > 0 {
		t.Errorf("the second deploy: %+v %v", again, s.Wrote())
	}
}

// wranglerBeside: a Worker of modules that wrangler has deployed is adopted without an upload, and unchanged after wrangler has deployed it again.
// Where that deploys other code, the next plan shows the code that is not ours and the owner tags that wrangler takes away, and no other difference; the
// deploy puts that right, and the secret stays.
func wranglerBeside(t *testing.T) {
	s := Start(t)
	s.Setenv(t)
	dir := t.TempDir()
	Sample(t, "modules", dir)
	wranglerIn(t, dir, s, "deploy")
	a := newAdopting(t, dir)
	a.apply(a.plan(true))
	if n := len(s.Uploads("modules")); n != 1 {
		t.Errorf("it is uploaded %d times, once by wrangler", n)
	}
	s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/modules/secrets", object{"name": "KEY", "text": "s3cr3t", "type": "secret_text"})
	wranglerIn(t, dir, s, "deploy")
	for _, action := range a.plan(false).Actions {
		if action.Action != engine.Unchanged {
			t.Errorf("the same code again, %s: %s %v", action.Address, action.Action, action.Reasons)
		}
	}
	greeting := filepath.Join(dir, "greeting.txt")
	text, err := os.ReadFile(greeting)
	if err == nil {
		err = os.WriteFile(greeting, []byte("other words\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	wranglerIn(t, dir, s, "deploy")
	if err := os.WriteFile(greeting, text, 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := func() int {
		t.Helper()
		return len(s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts/modules/secrets", nil).([]any))
	}
	if secrets() != 1 {
		t.Fatal("wrangler deletes the secret")
	}
	s.Reset()
	p := a.plan(false)
	for _, action := range p.Actions {
		if action.Action != engine.Update {
			t.Errorf("%s: %s %s", action.Address, action.Action, action.Problem)
		}
		for _, r := range action.Reasons {
			if !slices.Contains(ownership, r.Path) {
				t.Errorf("%s differs in %s: %v → %v", action.Address, r.Path, r.Have, r.Want)
			}
		}
	}
	a.apply(p)
	if secrets() != 1 {
		t.Errorf("the secret is deleted by one of %v", s.Wrote())
	}
}
