package cloudflaretest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/asset/mediatype"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shop gives an account all that the sample "shop" is bound to, and a folder with it.
func shop(t *testing.T, s *Server) (dir string) {
	t.Helper()
	s.AddZone(s.Account, "shop.example")
	s.AddScript("logs")
	s.AddQueue(hexID(16), "jobs")
	s.AddDatabase("00000000-0000-0000-0000-000000000002", "orders")
	s.world.kv.spaces = append(s.world.kv.spaces, &namespace{account: s.Account, id: "00000000000000000000000000000001", title: "cache", keys: map[string][]byte{}})
	s.DoWith(t, http.MethodPost, "/accounts/ACCOUNT/r2/buckets", http.Header{"Cf-R2-Jurisdiction": {"eu"}}, object{"name": "files"})
	dir = t.TempDir()
	Sample(t, "shop", dir)
	return dir
}

// same holds the golden file of a sample against what wrangler has uploaded.
func same(t *testing.T, s *Server, name string, bundled bool) {
	t.Helper()
	uploads := s.Uploads(name)
	if len(uploads) != 1 {
		t.Fatalf("%d uploads of %s", len(uploads), name)
	}
	if *update {
		g := golden{Metadata: meaning(uploads[0].Metadata)}
		g.Metadata["bindings"] = uploads[0].Metadata["bindings"]
		for _, m := range uploads[0].Modules {
			kept := goldenModule{Name: m.Name, Type: m.Type, Content: &m.Content}
			if bundled {
				kept.Content = nil
			}
			g.Modules = append(g.Modules, kept)
		}
		text, err := json.MarshalIndent(g, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join("testdata", name+".golden"), append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, differs := range Golden(t, name).Unlike(uploads[0]) {
		t.Errorf("wrangler uploads %s otherwise: %s", name, differs)
	}
}

// TestWranglerDeploy: Cloudflare's own client deploys a Worker with everything, and finds what it wants in every answer.
func TestWranglerDeploy(t *testing.T) {
	t.Parallel()
	s := Start(t)
	dir := shop(t, s)
	wranglerIn(t, dir, s, "deploy")
	same(t, s, "shop", true)
	t.Run("runs", func(t *testing.T) { shopRuns(t, s.Run(t, "shop")) })
	if files, config := s.Assets("shop"); len(files) != 2 || string(files["/style.css"]) != "body { color: teal }\n" || config["_redirects"] == "" {
		t.Errorf("assets: %q %v", files, config)
	}
	k := s.world.worker(s.Account, "shop")
	if len(k.schedules) != 1 || !k.enabled || len(s.world.hostnames) != 1 || len(s.world.routes) != 1 || len(s.world.queues[0].consumers) != 1 {
		t.Errorf("triggers: %v %v %v %v %v", k.schedules, k.enabled, s.world.hostnames, s.world.routes, s.world.queues[0].consumers)
	}

	// The second time it makes a version and deploys that, with no file uploaded again.
	edit(t, filepath.Join(dir, "wrangler.json"), `"prod"`, `"test"`)
	taken := s.AssetsTaken()
	s.Reset()
	wranglerIn(t, dir, s, "deploy")
	if n := s.AssetsTaken() - taken; n != 0 || s.Count("Workers.PutScript") != 0 {
		t.Errorf("%d files are uploaded again, by %v", n, called(s))
	}
	for _, name := range []string{"Workers.CreateScriptVersion", "Workers.CreateScriptDeployment", "Workers.PatchScriptSetting"} {
		if !slices.Contains(called(s), name) {
			t.Errorf("wrangler did not call %s, but %v", name, called(s))
		}
	}
	if settings := fmt.Sprint(read(t, s, "shop/settings")["bindings"]); !strings.Contains(settings, "text:test") {
		t.Errorf("bindings: %s", settings)
	}
}

// TestMediaTypes: a static file goes up with the type that Cloudflare's own client gives it, whatever its ending.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	s, dir := Start(t), t.TempDir()
	names := []string{"PHOTO.JPG", "none", "a.unknown", ".well-known", "folder.html/none", "a.tar.GZ"}
	for _, ending := range mediatype.Endings() {
		names = append(names, "file."+ending)
	}
	lay(t, dir, "wrangler.json", `{"name": "site", "compatibility_date": "2026-01-01", "assets": {"directory": "public"}}`)
	for _, name := range names {
		lay(t, dir, "public/"+name, "content of "+name)
	}
	wranglerIn(t, dir, s, "deploy")
	for _, name := range names {
		want := "application/null"
		if known, ok := mediatype.Of(name); ok {
			want = known
		}
		if got := s.world.worker(s.Account, "site").live().assets.files["/"+name].kind; got != want {
			t.Errorf("wrangler uploads %s as %q, and the table has %q", name, got, want)
		}
	}
}

func lay(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %s", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wranglerModules: what is not bundled goes up as it is. Secrets and versions beside it, and the end of it all.
func wranglerModules(t *testing.T) {
	t.Parallel()
	s, dir := Start(t), t.TempDir()
	Sample(t, "modules", dir)
	wranglerIn(t, dir, s, "deploy")
	same(t, s, "modules", false)
	t.Run("runs", func(t *testing.T) {
		if said := fetch(t, s.Run(t, "modules")); said != `200 {"greeting":"hello","bytes":[0,1,254,255,10,13],"sum":42,"stage":"prod"}` {
			t.Errorf("it answers %s", said)
		}
	})

	secret := wranglerCommand(t, dir, s, "secret", "put", "KEY")
	secret.Stdin = strings.NewReader("hidden")
	if out, err := secret.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bulk := wranglerCommand(t, dir, s, "secret", "bulk")
	bulk.Stdin = strings.NewReader(`{"MORE":"hidden too"}`)
	if out, err := bulk.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if listed := wranglerIn(t, dir, s, "secret", "list"); !strings.Contains(listed, "KEY") || !strings.Contains(listed, "MORE") || strings.Contains(listed, "hidden") {
		t.Errorf("wrangler lists the secrets:\n%s", listed)
	}
	wranglerIn(t, dir, s, "versions", "upload", "--message", "next")
	k := s.world.worker(s.Account, "modules")
	next := k.versions[len(k.versions)-1]
	if k.live() == next || len(next.bindings) != 3 {
		t.Errorf("the new version is live, or has lost the secret: %v", next.bindings)
	}
	wranglerIn(t, dir, s, "versions", "deploy", next.id+"@20%", k.live().id+"@80%", "--yes")
	if d := k.deployments[len(k.deployments)-1]; len(d.versions) != 2 {
		t.Errorf("deployed: %v", d.versions)
	}
	wranglerIn(t, dir, s, "delete", "--force")
	if len(s.world.workers) != 0 {
		t.Errorf("%d Workers are left", len(s.world.workers))
	}
}

// fetch is what a running Worker answers.
func fetch(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, text)
}

// shopRuns asks the running sample "shop", which uses all that it is bound to.
func shopRuns(t *testing.T, url string) {
	t.Helper()
	if said := fetch(t, url); said != `200 {"stage":"prod","sum":"42","room":"room","done":null}` {
		t.Errorf("it answers %s", said)
	}
	for path, want := range map[string]string{"/style.css": "200 body { color: teal }\n", "/old": "200 <h1>shop</h1>\n", "/secret.txt": "404 "} {
		if said := fetch(t, url+path); said != want {
			t.Errorf("%s: %q, want %q", path, said, want)
		}
	}
}
