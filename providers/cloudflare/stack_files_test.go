package cloudflare_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestChangedFiles: a plan names the files of a Worker that changed since its last deploy, on any machine.
func TestChangedFiles(t *testing.T) {
	s := newStage(t)
	s.dir = t.TempDir()
	lay := func(name, text string) {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"src/index.js": `import { a } from "./a.js"; export default { async fetch() { return new Response(a) } }`, "src/a.js": `export const a = "1"`,
		"public/index.html": "<h1>1</h1>", "public/old.html": "<h1>old</h1>",
	} {
		lay(name, text)
	}
	date := "2026-01-01"
	program := func(st *athanor.Stack) error {
		workers.NewWorker(st, "site", workers.WorkerProps{
			Code: workers.Bundle("src/index.js"), CompatibilityDate: date, Assets: &workers.Assets{Directory: "public"},
		})
		return nil
	}
	// found are the files that the plan on another machine, which has no cache, names at each path.
	found := func() map[string]*reconcile.FileChanges {
		t.Helper()
		s.e.Cache = t.TempDir()
		p, err := s.plan(program)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]*reconcile.FileChanges{}
		for _, a := range p.Actions {
			for _, r := range a.Reasons {
				if a.Action != engine.Create && (r.Path == "code" || r.Path == "assets") {
					files[string(r.Path)] = r.Files
				}
			}
		}
		return files
	}
	s.deploy(program)
	if have := found(); len(have) > 0 {
		t.Errorf("nothing changed: %v", have)
	}
	lay("src/a.js", `export const a = "2"; export const b = 3`)
	lay("public/new.html", "<h1>new</h1>")
	if err := os.Remove(filepath.Join(s.dir, "public", "old.html")); err != nil {
		t.Fatal(err)
	}
	have := found()
	code, assets := have["code"], have["assets"]
	if code == nil || !reflect.DeepEqual(code.Modified, []string{"src/a.js"}) || len(code.Added)+len(code.Deleted) > 0 || code.Count != 2 || code.Before == 0 || code.After == 0 {
		t.Errorf("code: %+v", code)
	}
	want := &reconcile.FileChanges{Added: []string{"new.html"}, Deleted: []string{"old.html"}, Count: 2, Before: 22, After: 22}
	if !reflect.DeepEqual(assets, want) {
		t.Errorf("assets: %+v, want %+v", assets, want)
	}
	s.deploy(program)
	if have := found(); len(have) > 0 {
		t.Errorf("after the deploy: %v", have)
	}
}
