package workers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// made are the modules of code, by name, and the names of those first and last.
func made(t *testing.T, files map[string]string, c Code, flags ...string) ([]module, error) {
	t.Helper()
	return madeOn(t, "2026-01-01", files, c, flags...)
}

// madeOn are those for a compatibility date.
func madeOn(t *testing.T, date string, files map[string]string, c Code, flags ...string) ([]module, error) {
	t.Helper()
	work := reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}
	lay(t, work.Dir, files)
	assets, err := prepareWorker(t.Context(), work, WorkerProps{Code: &c, CompatibilityDate: date, CompatibilityFlags: flags})
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

// TestBundleTakes: names are replaced, packages stand for others, and files of other endings are modules, as is said.
func TestBundleTakes(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"worker.ts": `import shade from "./a.glsl"; import add from "./add.wasm?module"; import { where } from "far"; import fs from "node-fs";
			declare const VERSION: string;
			export default { fetch: () => new Response(shade + String(add) + where + String(fs) + VERSION + process.env.NODE_ENV + process.env.MODE) };`,
		"a.glsl": "void main() {}", "add.wasm": "\x00asm", "near.ts": `export const where: string = "near by";`,
		"dist/index.js": `export { default } from "./data.dat";`, "dist/data.dat": "d", "dist/note.txt": "n",
	}
	code := Code{
		Bundle: "worker.ts", Define: map[string]string{"VERSION": `"1.2.3"`, "process.env.MODE": `"staging"`},
		Alias: map[string]string{"far": "./near.ts", "node-fs": "node:fs"}, Rules: map[string]string{".glsl": "text"},
	}
	all, err := made(t, files, code, "nodejs_compat")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, m := range all {
		kinds[filepath.Ext(m.name)] = m.kind
	}
	if len(all) != 3 || kinds[".glsl"] != "text/plain" || kinds[".wasm"] != "application/wasm" {
		t.Errorf("the modules are %v", kinds)
	}
	for _, want := range []string{`"1.2.3productionstaging"`, "near by", `from "node:fs"`, `.wasm"`} {
		if !strings.Contains(string(all[0].content), want) {
			t.Errorf("no %s in\n%s", want, all[0].content)
		}
	}
	all, err = made(t, files, Code{Directory: "dist", Rules: map[string]string{".dat": "data", ".txt": "data"}})
	if err != nil || len(all) != 3 || all[1].kind != "application/octet-stream" || all[2].kind != "application/octet-stream" {
		t.Errorf("a folder: %v %v", all, err)
	}
	work := func(c Code) string {
		digest, _ := c.digest(func(string) (reconcile.Asset, bool) { return reconcile.Asset{Digest: "same"}, true })
		return digest
	}
	if work(Code{Directory: "dist"}) == work(Code{Directory: "dist", Rules: map[string]string{".txt": "data"}}) {
		t.Error("another rule is no other code")
	}
}

// TestNodeByDate: what is built into Node has the names that the runtime knows on a date.
func TestNodeByDate(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"bare.js": `import fs from "fs"; export default fs;`, "prefixed.js": `import fs from "node:fs"; export default fs;`,
		"hooks.js": `import { AsyncLocalStorage } from "node:async_hooks"; export default AsyncLocalStorage;`,
	}
	for _, of := range []struct {
		date, flags string
		runs        []string
	}{
		{"2026-01-01", "nodejs_compat", []string{"bare.js", "prefixed.js", "hooks.js"}},
		{"2024-09-22", "nodejs_compat", []string{"prefixed.js", "hooks.js"}},
		{"2024-09-22", "nodejs_compat_v2", []string{"bare.js", "prefixed.js", "hooks.js"}},
		{"", "nodejs_compat", []string{"prefixed.js", "hooks.js"}},
		{"2026-01-01", "nodejs_als", []string{"hooks.js"}},
		{"2026-01-01", "url_standard", nil},
		{"2026-08-03", "", nil},
		{"2026-08-04", "", []string{"bare.js", "prefixed.js", "hooks.js"}},
		{"2026-08-04", "no_nodejs_compat_v2", []string{"prefixed.js", "hooks.js"}},
		{"2026-08-04", "no_nodejs_compat no_nodejs_compat_v2", nil},
	} {
		for name := range files {
			_, err := madeOn(t, of.date, files, Code{Bundle: name}, strings.Fields(of.flags)...)
			if runs := slices.Contains(of.runs, name); (err == nil) != runs || err != nil && !isBuild(err) {
				t.Errorf("%s on %q with %q: %v", name, of.date, of.flags, err)
			}
		}
	}
}

func isBuild(err error) bool {
	_, ok := errors.AsType[*asset.BuildError](err)
	return ok
}

// TestDirectory: the files of a folder are the modules, and nothing else may lie there but what tools keep.
func TestDirectory(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"dist/main.mjs": "export default {}", "dist/lib/a.js": "1", "other/index.js": "1", "other/README.md": "read me",
		"dist/wrangler.json": "{}", "dist/.vite/manifest.json": "{}", "dist/.wrangler/cache/account.json": "{}", "dist/node_modules/a/README.md": "", "dist/lib/.env": "SECRET=1",
	}
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
	for name, want := range map[string]string{
		"a/b.css": "text/css; charset=utf-8", "a/b.unknown": "application/null", "PHOTO.JPG": "image/jpeg", "film.mov": "video/quicktime",
	} {
		if got := contentType(name); got != want {
			t.Errorf("%s is served as %q, want %q", name, got, want)
		}
	}
}
