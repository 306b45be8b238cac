package asset

import (
	"os"
	"strings"
	"testing"
)

// TestBundleForOthers: where there is no Node, packages are taken by the conditions that hold there, and files that are no
// scripts lie beside the output.
func TestBundleForOthers(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{
		"src/worker.ts": `import text from "./a.txt"; import { where } from "both"; export class Room {} export default (): string => text + where;`, "src/a.txt": "hello",
		"node_modules/both/package.json": `{"name": "both", "exports": {"edge": "./edge.js", "browser": "./browser.js", "default": "./other.js"}}`,
		"node_modules/both/edge.js":      `export const where = "at the edge";`, "node_modules/both/browser.js": `export const where = "in a browser";`,
		"node_modules/both/other.js": `export const where = "elsewhere";`,
	})
	b := Bundle{Entry: "src/worker.ts", Name: "worker", Conditions: []string{"edge", "browser"}, Beside: []string{".txt"}, Minify: true}
	files := bundled(t, work, b)
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		switch text := string(f.Data); {
		case strings.HasSuffix(f.Name, ".txt"):
			if text != "hello" || !strings.HasPrefix(f.Name, "a-") {
				t.Errorf("%s holds %q", f.Name, text)
			}
		case f.Name != "worker.js" || !strings.Contains(text, "at the edge") || !strings.Contains(text, `"Room"`) || strings.Contains(text, "createRequire"):
			t.Errorf("%s: %s", f.Name, text)
		}
	}
	if again := bundled(t, work, b); string(again[0].Data) != string(files[0].Data) || again[1].Name != files[1].Name {
		t.Error("bundled twice it differs")
	}
}

// TestKeep: data lies under its digest, once.
func TestKeep(t *testing.T) {
	t.Parallel()
	work := stack(t, nil)
	one, err := Keep(t.Context(), work, "kept", []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := Keep(t.Context(), work, "kept", []byte("data"))
	text, read := os.ReadFile(one.Path)
	if err != nil || read != nil || one != two || string(text) != "data" || !strings.HasSuffix(one.Path, one.Digest) {
		t.Errorf("%+v %+v %q", one, two, text)
	}
	if other, err := Keep(t.Context(), work, "kept", []byte("other")); err != nil || other.Path == one.Path {
		t.Errorf("%+v %v", other, err)
	}
}
