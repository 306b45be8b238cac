package workers

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// websiteGraph are the resources of a website by their addresses, as the graph has them.
func websiteGraph(t *testing.T, p WebsiteProps, opts ...athanor.Option) map[string]map[string]any {
	t.Helper()
	g, err := athanor.Evaluate(func(s *athanor.Stack) error {
		NewWorker(s, "auth", WorkerProps{Code: Script("export default {}"), CompatibilityDate: "2026-01-31"})
		NewWebsite(s, "site", p, opts...)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, r := range g.Resources {
		all[r.Address] = map[string]any{"kind": r.Kind, "props": r.Props, "needs": r.Options.DependsOn, "was": r.Options.RenamedFrom}
	}
	return all
}

// TestWebsite: a website is its build and its Worker; the Worker comes after the build and has the options, and both are renamed together.
func TestWebsite(t *testing.T) {
	t.Parallel()
	if err := websiteKind().Erase().Validate(); err != nil {
		t.Fatal(err)
	}
	made := websiteGraph(t, WebsiteProps{
		Framework: new("react-router"), Dir: "web", BuildEnv: map[string]string{"MODE": "x"}, Env: Env{"STAGE": "test"}, Domains: []string{"shop.example"},
	}, athanor.RenamedFrom("old"))
	build, site := made["site/build"], made["site"]
	if build["kind"] != "local.Command" || site["kind"] != "cloudflare.Worker" {
		t.Fatalf("there are %v", made)
	}
	if !slices.Equal(site["needs"].([]string), []string{"site/build"}) || !slices.Equal(build["was"].([]string), []string{"old/build"}) {
		t.Errorf("the site needs %v, and the build was %v", site["needs"], build["was"])
	}
	wantBuild := map[string]any{
		"run": "npm run build", "dir": "web", "env": map[string]any{"MODE": "x"}, "inputs": []any{"web"}, "inDev": false,
		"outputs": []any{"web/build", "web/.wrangler/deploy/config.json"}, "ignore": []any{"web/.wrangler", "web/athanor.yaml", "web/.react-router"},
	}
	if have := build["props"]; !reflect.DeepEqual(have, wantBuild) {
		t.Errorf("the build is %v, want %v", have, wantBuild)
	}
	props := site["props"].(map[string]any)
	wantCode := map[string]any{"build": "web", "serve": map[string]any{
		"run": "npx react-router dev --host 127.0.0.1 --port $PORT --strictPort", "dir": "web", "env": map[string]any{"MODE": "x"},
	}}
	if !reflect.DeepEqual(props["code"], wantCode) || !reflect.DeepEqual(props["domains"], []any{"shop.example"}) {
		t.Errorf("the Worker is %v", props)
	}
}

// TestWebsiteWithoutConfiguration: what Astro and SvelteKit build has no wrangler.json, so the Worker names what they wrote.
func TestWebsiteWithoutConfiguration(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]any{
		"astro":     {"code": map[string]any{"directory": "dist/_worker.js", "main": "index.js"}, "assets": map[string]any{"directory": "dist"}, "compatibilityFlags": []any{"nodejs_compat", "disable_nodejs_process_v2"}},
		"sveltekit": {"code": map[string]any{"bundle": ".svelte-kit/cloudflare/_worker.js"}, "assets": map[string]any{"directory": ".svelte-kit/cloudflare"}},
	} {
		props := websiteGraph(t, WebsiteProps{Framework: new(name), CompatibilityDate: "2026-01-31"})["site"]["props"].(map[string]any)
		delete(props["code"].(map[string]any), "serve")
		for path, value := range want {
			if !reflect.DeepEqual(props[path], value) {
				t.Errorf("%s: %s is %v, want %v", name, path, props[path], value)
			}
		}
		if !reflect.DeepEqual(props["bindings"], map[string]any{"ASSETS": map[string]any{"assets": true}}) {
			t.Errorf("%s: the bindings are %v", name, props["bindings"])
		}
		if err := checkWebsite(WebsiteProps{Framework: new(name)}); err == nil || !strings.Contains(err.Error(), "compatibilityDate") {
			t.Errorf("%s without a date: %v", name, err)
		}
	}
}

// TestWebsiteHasAllOfAWorker: every prop of a Worker is one of a website and reaches its Worker, but for code and assets, which the build
// makes.
func TestWebsiteHasAllOfAWorker(t *testing.T) {
	t.Parallel()
	worker, website := reflect.TypeFor[WorkerProps](), reflect.TypeFor[WebsiteProps]()
	for field := range worker.Fields() {
		if field.Name == "Code" || field.Name == "Assets" {
			continue
		}
		own, ok := website.FieldByName(field.Name)
		if !ok || own.Type != field.Type {
			t.Errorf("a website has no %s like a Worker's", field.Name)
			continue
		}
		full := reflect.New(website)
		set := full.Elem().FieldByName(field.Name)
		switch set.Kind() {
		case reflect.Map:
			set.Set(reflect.MakeMap(field.Type))
		case reflect.Slice:
			set.Set(reflect.MakeSlice(field.Type, 1, 1))
		case reflect.Pointer:
			set.Set(reflect.New(field.Type.Elem()))
		case reflect.Bool:
			set.SetBool(true)
		default:
			set.SetString("x")
		}
		if have := reflect.ValueOf(full.Elem().Interface().(WebsiteProps).worker()).FieldByName(field.Name); have.IsZero() {
			t.Errorf("%s does not reach the Worker", field.Name)
		}
	}
}

// TestBuildOfProject: code.build names the project's folder, and the build's note for wrangler leads to what it wrote, but not out of the folder.
func TestBuildOfProject(t *testing.T) {
	t.Parallel()
	l := begin(t)
	built(t, filepath.Join(l.dir, "web"))
	note := func(path string) {
		t.Helper()
		file := filepath.Join(l.dir, "web", ".wrangler", "deploy", "config.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(`{"configPath": "`+path+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note("../../output/notes/wrangler.json")
	props := obj{"code": obj{"build": "web"}, "env": obj{"NOTES": obj{"kv": cache}}}
	l.wrote("a creation", l.to(props), "CreateScriptAssetUpload", "CreateAssetUpload", "PutScript")
	if names := len(l.Uploads(l.out.Identity)[0].Modules); names != 2 {
		t.Errorf("%d modules went up, want 2", names)
	}
	for _, path := range []string{"../../../other/wrangler.json", "/etc/wrangler.json", ""} {
		note(path)
		if _, err := written(t.Context(), kind.Workspace{Dir: l.dir}, "web"); err == nil {
			t.Errorf("%q was followed", path)
		}
	}
}
