package workers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// made are the modules of code, by name, and the names of those first and last.
func made(t *testing.T, files map[string]string, c Code, flags ...string) ([]module, error) {
	t.Helper()
	work := reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}
	lay(t, work.Dir, files)
	assets, err := prepareWorker(t.Context(), work, WorkerProps{Code: &c, CompatibilityFlags: flags})
	if err != nil {
		return nil, err
	}
	return modules(&c, assets)
}

// TestBundle: what is imported and is no script becomes a module of its own, with its content type.
func TestBundle(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"src/worker.ts": `import text from "./a.txt"; import add from "./add.wasm"; import { DurableObject } from "cloudflare:workers"; import { where } from "both";
			export class Room extends DurableObject {} export default { fetch: (): Response => new Response(text + String(add) + where) };`,
		"src/a.txt": "hello\n", "src/add.wasm": "\x00asm", "src/node.ts": `import { join } from "node:path"; import fs from "fs"; export default { fetch: () => join("a", String(fs)) };`,
		"src/wrong.ts":                   "export default {\n  fetch: () => 1 +\n};\n",
		"node_modules/both/package.json": `{"name": "both", "exports": {"workerd": "./workerd.js", "default": "./node.js"}}`,
		"node_modules/both/workerd.js":   `export const where = "in workerd";`, "node_modules/both/node.js": `export const where = "in node";`,
	}
	all, err := made(t, files, Code{Bundle: "src/worker.ts", SourceMap: true})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, m := range all {
		kinds[filepath.Ext(m.name)] = m.kind
	}
	text := string(all[0].content)
	if all[0].name != "worker.js" || len(all) != 4 || kinds[".txt"] != "text/plain" || kinds[".wasm"] != "application/wasm" || kinds[".map"] != "application/source-map" {
		t.Errorf("first %s, all %v", all[0].name, kinds)
	}
	if !strings.Contains(text, `from "cloudflare:workers"`) || !strings.Contains(text, "in workerd") || !strings.Contains(text, `.wasm"`) {
		t.Errorf("the module is %s", text)
	}
	if _, err := made(t, files, Code{Bundle: "src/node.ts"}); !isBuild(err) || !strings.Contains(err.Error(), "node:path") {
		t.Errorf("what Node has, without nodejs_compat: %v", err)
	}
	if all, err := made(t, files, Code{Bundle: "src/node.ts"}, "nodejs_compat"); err != nil || !strings.Contains(string(all[0].content), `from "fs"`) {
		t.Errorf("with nodejs_compat: %v", err)
	}
	if _, err := made(t, files, Code{Bundle: "src/wrong.ts"}); !isBuild(err) || !strings.Contains(err.Error(), "src/wrong.ts:3:1") {
		t.Errorf("a mistake: %v", err)
	}
}

func isBuild(err error) bool {
	_, ok := errors.AsType[*asset.BuildError](err)
	return ok
}

// TestDirectory: the files of a folder are the modules, and nothing else may lie there.
func TestDirectory(t *testing.T) {
	t.Parallel()
	files := map[string]string{"dist/main.mjs": "export default {}", "dist/lib/a.js": "1", "other/index.js": "1", "other/README.md": "read me"}
	all, err := made(t, files, Code{Directory: "dist", Main: "main.mjs"})
	if err != nil || len(all) != 2 || all[0].name != "main.mjs" || all[1].name != "lib/a.js" || all[1].kind != esm {
		t.Errorf("%v %v", all, err)
	}
	for want, c := range map[string]Code{
		"index.js: there is no such module": {Directory: "dist"},
		"README.md: not a module":           {Directory: "other"},
	} {
		if _, err := made(t, files, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := made(t, files, Code{Directory: "none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestNotKnownYet: what waits for a value is not prepared.
func TestNotKnownYet(t *testing.T) {
	t.Parallel()
	later := token.Plain.Ref(token.Ref{Address: "upstream", Path: "value"})
	assets, err := prepareWorker(t.Context(), reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}, WorkerProps{
		Code: &Code{Bundle: later}, Assets: &Assets{Directory: later},
	})
	if err != nil || len(assets) != 0 {
		t.Errorf("%v %v", assets, err)
	}
	if _, ok := (&Code{Script: later}).digest(nil); ok {
		t.Error("a script that is not known yet has a digest")
	}
}

// TestFiles: which static files count, and which are refused.
func TestFiles(t *testing.T) {
	t.Parallel()
	prepare := func(files map[string]string) (prepared, error) {
		work := reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}
		lay(t, work.Dir, files)
		if err := os.Symlink("/etc/passwd", filepath.Join(work.Dir, "public", "link.txt")); err != nil {
			t.Fatal(err)
		}
		assets, err := prepareFiles(t.Context(), work, &Assets{Directory: "public"})
		if err != nil {
			return prepared{}, err
		}
		return readPrepared(assets)
	}
	p, err := prepare(map[string]string{
		"public/index.html": "a", "public/sub/index.html": "a", "public/sub/a.txt": "a", "public/drafts/b.txt": "b", "public/.well-known/c": "c",
		"public/.assetsignore": "/drafts/\n*.map\n", "public/a.map": "m", "public/_headers": "h", "public/_redirects": "r",
	})
	if err != nil || len(p.Manifest) != 4 || p.Headers != "h" || p.Redirects != "r" {
		t.Fatalf("%v %v", p, err)
	}
	same, other := p.Manifest["/index.html"].Hash == p.Manifest["/sub/index.html"].Hash, p.Manifest["/index.html"].Hash == p.Manifest["/sub/a.txt"].Hash
	if !same || other || p.Manifest["/.well-known/c"].Size != 1 {
		t.Errorf("files are told apart by content and ending: %v", p.Manifest)
	}
	if _, err := prepare(map[string]string{"public/_worker.js": "export default {}"}); err == nil || !strings.Contains(err.Error(), "everybody could read this code") {
		t.Errorf("code among the files: %v", err)
	}
	if _, err := prepare(map[string]string{"public/large": strings.Repeat("a", mostBytes+1)}); err == nil || !strings.Contains(err.Error(), "Cloudflare takes 26214400") {
		t.Errorf("a large file: %v", err)
	}
	if contentType("a/b.css") != "text/css; charset=utf-8" || contentType("a/b.unknown") != "application/null" {
		t.Error("content types")
	}
}
