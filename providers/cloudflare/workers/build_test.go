package workers

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// built puts what a build with @cloudflare/vite-plugin 1.26.0 wrote into a folder.
func built(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/vite")); err != nil {
		t.Fatal(err)
	}
}

// fetched asks a Worker for a page.
func fetched(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
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

// TestBuild: what a framework built is deployed as its wrangler.json says: modules, static files and settings. What other tools
// left in the folder is not uploaded, and a setting that the program declares wins.
func TestBuild(t *testing.T) {
	t.Parallel()
	l := begin(t)
	built(t, l.dir)
	props := obj{"code": obj{"build": "output/notes"}, "env": obj{"NOTES": obj{"kv": cache}}}
	l.wrote("a creation", l.to(props), "CreateScriptAssetUpload", "CreateAssetUpload", "PutScript")
	upload := l.Uploads(l.out.Identity)[0]
	var names []string
	for _, m := range upload.Modules {
		names = append(names, m.Name+" "+m.Type)
	}
	slices.Sort(names)
	if want := []string{"assets/worker-entry.js " + esm, "index.js " + esm}; !slices.Equal(names, want) {
		t.Errorf("the modules are %q, want %q", names, want)
	}
	for name, want := range map[string]any{
		"main_module": "index.js", "compatibility_date": "2026-01-31", "compatibility_flags": list{"nodejs_compat"},
	} {
		if have := upload.Metadata[name]; !tree.Equal(have, want) {
			t.Errorf("%s is %v, want %v", name, have, want)
		}
	}
	files, config := l.Assets(l.out.Identity)
	if len(files) != 2 || files["/index.html"] == nil || !tree.Equal(config["run_worker_first"], list{"/api/*"}) || config["not_found_handling"] != "single-page-application" {
		t.Errorf("the static files are %v, served as %v", files, config)
	}
	l.wrote("the same again", l.to(props))

	url := l.Run(t, l.out.Identity)
	if have := fetched(t, http.MethodPost, url+"/api/notes/today", "rain"); have != "rain" {
		t.Errorf("a change answers %q", have)
	}
	if have := fetched(t, http.MethodGet, url+"/api/notes/today", ""); have != "rain" {
		t.Errorf("a note is %q", have)
	}
	if have := fetched(t, http.MethodGet, url+"/", ""); !strings.Contains(have, "<title>Notes</title>") {
		t.Errorf("the page is %q", have)
	}

	changed := strings.NewReplacer("2026-01-31", "2026-02-01", `"/api/*"`, `"/api/*","/rss"`)
	text, err := os.ReadFile(l.dir + "/output/notes/wrangler.json")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, l.dir, map[string]string{"output/notes/wrangler.json": changed.Replace(string(text))})
	l.wrote("built with other settings", l.to(props), "CreateScriptAssetUpload", "PutScript")
	if have := l.settings()["compatibility_date"]; have != "2026-02-01" {
		t.Errorf("the compatibility date is %v", have)
	}
	l.to(with(props, obj{"compatibilityDate": "2025-09-01", "compatibilityFlags": list{"nodejs_compat", "nodejs_als"}}))
	if have := l.settings(); have["compatibility_date"] != "2025-09-01" || fmt.Sprint(have["compatibility_flags"]) != "[nodejs_compat nodejs_als]" {
		t.Errorf("the program's own settings are %v, %v", have["compatibility_date"], have["compatibility_flags"])
	}
}

// TestFilesOfABuild: a plan names which modules and static files of a build changed, also where static files alone did. Of what
// somebody else has uploaded since it names none.
func TestFilesOfABuild(t *testing.T) {
	t.Parallel()
	l := begin(t)
	built(t, l.dir)
	props := obj{"code": obj{"build": "output/notes"}, "env": obj{"NOTES": obj{"kv": cache}}}
	l.to(props)
	deployed := l.job(props).Assets
	changes := func(old map[string]reconcile.Asset) *reconcile.FileChanges {
		t.Helper()
		job := l.job(props)
		job.OldAssets = old
		look, err := l.kind.Look(t.Context(), job)
		if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "code" {
			t.Fatalf("%v: %v", look.Steps, err)
		}
		return look.Steps[0].Files
	}
	lay(t, l.dir, map[string]string{"output/client/index.html": "<h1>2</h1>", "output/client/new.html": "<h1>new</h1>"})
	have := changes(deployed)
	if have == nil || !slices.Equal(have.Modified, []string{"index.html"}) || !slices.Equal(have.Added, []string{"new.html"}) || have.Count != 5 || have.Before == 0 || have.After == 0 {
		t.Errorf("of static files alone: %+v", have)
	}
	lay(t, l.dir, map[string]string{"output/notes/index.js": "export default {}"})
	if have := changes(deployed); have == nil || !slices.Equal(have.Modified, []string{"index.html", "index.js"}) {
		t.Errorf("of modules too: %+v", have)
	}
	for _, name := range []string{codeAsset, filesAsset} {
		other := maps.Clone(deployed)
		a := other[name]
		a.Digest = "another"
		other[name] = a
		if have := changes(other); have != nil {
			t.Errorf("another upload of %s: %+v", name, have)
		}
	}
}

// TestBuildRefused: what a build expects and the program does not give, and what is no build, is refused before anything is
// uploaded.
func TestBuildRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	built(t, dir)
	lay(t, dir, map[string]string{
		"source/wrangler.json": `{"name": "notes"}`, "wrong/wrangler.json": "{", "undated/wrangler.json": `{"main": "index.js"}`,
		"bound/wrangler.json": `{"main": "index.js", "compatibility_date": "2026-01-31", "vars": {"MODE": "x"}, "ai": {"binding": "AI"},
			"queues": {"producers": [{"queue": "q", "binding": "JOBS"}]}, "durable_objects": {"bindings": [{"name": "ROOM"}]}, "assets": {"binding": "FILES"},
			"ratelimits": [{"name": "LIMIT"}], "send_email": [{"name": "MAIL"}], "services": [{"binding": "AUTH", "service": "s"}]}`,
	})
	for folder, want := range map[string]string{
		"output/notes": "env does not declare: NOTES", "none": "no such file", "source": "names no main module", "wrong": "unexpected end of JSON",
		"undated": "compatibilityDate is not declared", "bound": "env does not declare: AI, AUTH, FILES, JOBS, LIMIT, MAIL, MODE, ROOM",
	} {
		_, err := prepareWorker(t.Context(), reconcile.Workspace{Dir: dir, Cache: t.TempDir()}, WorkerProps{Code: Build(folder)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
}

// TestBuildLater: of a build that is not there yet no setting is known: the plan announces that it may change, and compares nothing
// with a guess.
func TestBuildLater(t *testing.T) {
	t.Parallel()
	none := func(string) (reconcile.Asset, bool) { return reconcile.Asset{}, false }
	want := WorkerProps{Code: Build("output/notes")}.resolved(none)
	if want.CompatibilityDate != "" || want.Assets != nil {
		t.Errorf("%+v", want)
	}
	if _, known := want.Code.digest(none); known {
		t.Error("code that is not built yet has a digest")
	}
	declared := WorkerProps{Code: Build("a"), CompatibilityDate: date, CompatibilityFlags: []string{"nodejs_als"}}.resolved(none)
	if declared.CompatibilityDate != date || len(declared.CompatibilityFlags) != 1 || declared.CompatibilityFlags[0] != "nodejs_als" {
		t.Errorf("%+v", declared)
	}
}
