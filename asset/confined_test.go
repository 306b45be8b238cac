package asset

import (
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// TestBundleStaysInside: whatever a source, its source map, or a description of a package leads to, the bundler reads
// nothing outside of the project. OUT stands for a folder there.
func TestBundleStaysInside(t *testing.T) {
	const entry = "export default 1;\n"
	named := func(sources string) string {
		return `{"version":3,"mappings":"AAAA","names":[],"sources":` + sources + `}`
	}
	inline := func(text string) string {
		return "\n//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(text)) + "\n"
	}
	for name, c := range map[string]struct {
		files, links map[string]string
		alias        map[string]string
		inside       bool
	}{
		"a source map":              {files: map[string]string{"a.js": entry + "//# sourceMappingURL=../out/in.json\n"}},
		"a source map as a URL":     {files: map[string]string{"a.js": entry + "//# sourceMappingURL=file://OUT/in.json\n"}},
		"an escaped source map":     {files: map[string]string{"a.js": entry + "//@ sourceMappingURL=%2e%2e/out/in.json\n"}},
		"a source map in a comment": {files: map[string]string{"a.js": entry + "/*# sourceMappingURL=../out/in.json */\n"}},
		"a source map that is a link": {
			files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n"}, links: map[string]string{"a.js.map": "OUT/in.json"},
		},
		"what a source map names": {files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": named(`["OUT/in.json"]`)}},
		"a URL that one names":    {files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": named(`["file://OUT/in.json"]`)}},
		"a path that one names":   {files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": named(`["../out/in.json"]`)}},
		"a root of one": {files: map[string]string{
			"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": strings.Replace(named(`["in.json"]`), "{", `{"sourceRoot":"file://OUT",`, 1),
		}},
		"a section of one": {files: map[string]string{
			"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": `{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":` + named(`["OUT/in.json"]`) + `}]}`,
		}},
		"one in the source":          {files: map[string]string{"a.js": entry + inline(named(`["../out/in.json"]`))}},
		"one in the source, escaped": {files: map[string]string{"a.js": entry + "//# sourceMappingURL=data:application/json," + url.PathEscape(named(`["../out/in.json"]`)) + "\n"}},
		"one of an import":           {files: map[string]string{"a.js": "import './b.js';\n", "b.js": entry + "//# sourceMappingURL=../out/in.json\n"}},
		"one of a package":           {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/index.js": entry + "//# sourceMappingURL=../../../out/in.json\n"}},
		"a package.json":             {files: map[string]string{"a.js": entry}, links: map[string]string{"package.json": "OUT/in.json"}},
		"one of a folder":            {files: map[string]string{"a.js": "import './b/c.js';\n", "b/c.js": entry}, links: map[string]string{"b/package.json": "OUT/in.json"}},
		"one of another package":     {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/index.js": entry}, links: map[string]string{"node_modules/b/package.json": "OUT/in.json"}},
		"one inside of a package": {
			files: map[string]string{"a.js": "import '@x/b/c';\n", "node_modules/@x/b/c/index.js": entry}, links: map[string]string{"node_modules/@x/b/c/package.json": "OUT/in.json"},
		},
		"a module of the runtime": {files: map[string]string{"a.js": "import 'runtime:x';\n" + entry}, links: map[string]string{"node_modules": "OUT"}, inside: true},
		"a module of Node":        {files: map[string]string{"a.js": "import 'node:fs';\n" + entry}, links: map[string]string{"node_modules": "OUT"}, inside: true},
		"what is no such module":  {files: map[string]string{"a.js": "import 'runtime';\n" + entry}, links: map[string]string{"node_modules": "OUT"}},
		"an alias":                {files: map[string]string{"a.js": "import 'b';\n"}, alias: map[string]string{"b": "OUT/in.json"}},
		"an alias by a path":      {files: map[string]string{"a.js": "import 'b';\n"}, alias: map[string]string{"b": "../out/in.json"}},
		"a package's main":        {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/package.json": `{"main": "../../../out/in.json"}`}},
		"one without an ending":   {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/package.json": `{"main": "../../../out/in"}`}},
		"a package's exports":     {files: map[string]string{"a.js": "import 'b/x';\n", "node_modules/b/package.json": `{"exports": {"./*": {"import": "./../../../out/*"}}}`}},
		"an index":                {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/package.json": `{}`}, links: map[string]string{"node_modules/b/index.js": "OUT/in.json"}},
		"a main's index":          {files: map[string]string{"a.js": "import 'b';\n", "node_modules/b/package.json": `{"main": "lib"}`}, links: map[string]string{"node_modules/b/lib/index.js": "OUT/in.json"}},
		"a path":                  {files: map[string]string{"a.js": "import 'b';\n", "tsconfig.json": `{"compilerOptions": {"paths": {"b": ["../out/in.json"]}}} // x`}},
		"a path of a pattern":     {files: map[string]string{"a.js": "import 'b/in.json';\n", "tsconfig.json": `{"compilerOptions": {"paths": {"b/*": ["OUT/*"]}}}`}},
		"a base of paths":         {files: map[string]string{"a.js": "import 'in.json';\n", "tsconfig.json": `{"compilerOptions": {"baseUrl": "../out"}}`}},
		"paths inside":            {files: map[string]string{"a.js": "import 'b/c.js';\n", "lib/c.js": entry, "tsconfig.json": `{"compilerOptions": {"baseUrl": ".", "paths": {"b/*": ["lib/*", "gone/*"]}}}`}, inside: true},
		"packages inside": {
			files: map[string]string{
				"a.js": "import 'b';\nimport 'c/d';\nimport './e';\n", "node_modules/b/package.json": `{"main": "lib/", "browser": {"fs": false, "./x": "./y"}}`, "node_modules/b/lib/index.js": entry,
				"node_modules/c/package.json": `{"exports": {"./*": ["./src/*.js"]}, "main": "gone"}`, "node_modules/c/src/d.js": entry, "e/index.js": entry,
			}, inside: true,
		},
		"a source map inside":  {files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": named(`["a.ts", "gone.ts", "webpack://x/y"]`), "a.ts": entry}, inside: true},
		"a map with its texts": {files: map[string]string{"a.js": entry + "//# sourceMappingURL=a.js.map\n", "a.js.map": strings.Replace(named(`["../out/in.json"]`), "{", `{"sourcesContent":["x"],`, 1)}, inside: true},
		"a text that says so":  {files: map[string]string{"a.js": "export default '//# sourceMappingURL=' + 1 + \"sourceMappingURL=\\0\";\n"}, inside: true},
		"an alias inside":      {files: map[string]string{"a.js": "import 'b';\n", "c.js": entry}, alias: map[string]string{"b": "./c.js"}, inside: true},
		"a package inside":     {files: map[string]string{"a.js": "import 'b/c';\n", "node_modules/b/package.json": "{}", "node_modules/b/c.js": entry}, inside: true},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(base, "out")
			fill := func(text string) string { return strings.ReplaceAll(text, "OUT", out) }
			lay := func(name string, do func(path string) error) {
				path := filepath.Join(base, "root", name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), do(path)); err != nil {
					t.Fatal(err)
				}
			}
			lay("../out/in.json", func(path string) error {
				return os.WriteFile(path, []byte(`{"version":3,"sources":["x"],"sourcesContent":["canary-4f1b"],"mappings":"AAAA","names":[]}`), 0o600)
			})
			for name, text := range c.files {
				lay(name, func(path string) error { return os.WriteFile(path, []byte(fill(text)), 0o600) })
			}
			for name, to := range c.links {
				lay(name, func(path string) error { return os.Symlink(fill(to), path) })
			}
			for name, to := range c.alias {
				c.alias[name] = fill(to)
			}
			root := filepath.Join(base, "root")
			ctx := localfile.With(t.Context(), localfile.Bounds{Root: root})
			files, err := Bundle{Name: "index", Entry: "a.js", Node: "24", SourceMap: true, Alias: c.alias, External: []string{"runtime:*"}}.Build(ctx, reconcile.Workspace{Dir: root, Cache: t.TempDir()})
			if c.inside && err != nil || !c.inside && (err == nil || !strings.Contains(err.Error(), "outside of the project")) {
				t.Errorf("%v", err)
			}
			if hints := strings.Join(reconcile.Hints(err), "; "); !c.inside && !strings.Contains(hints, "--allow path=") {
				t.Errorf("%v: the hint is %q, and does not say how a user allows the path", err, hints)
			}
			for _, file := range files {
				if strings.Contains(string(file.Data), "canary-4f1b") {
					t.Errorf("%s holds what is outside", file.Name)
				}
			}
		})
	}
}
