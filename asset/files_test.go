package asset

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestFilesOfArchives: an archive tells its files, which two machines tell alike, and a change of content, permission, or name changes
// what it tells of that file alone.
func TestFilesOfArchives(t *testing.T) {
	t.Parallel()
	sources := map[string]string{"src/a.js": "a", "src/b/c.js": "c", "src/d.js": "d"}
	work, elsewhere := stack(t, sources), stack(t, sources)
	before := zipped(t, work, "src")
	if other := zipped(t, elsewhere, "src"); !maps.Equal(before.Files.Digests, other.Files.Digests) || before.Files.Size != other.Size {
		t.Errorf("on one machine %+v, on another %+v", before.Files, other.Files)
	}
	write(t, filepath.Join(work.Dir, "src", "a.js"), "A, longer")
	if err := os.Chmod(filepath.Join(work.Dir, "src", "d.js"), 0o755); err != nil {
		t.Fatal(err)
	}
	after := zipped(t, work, "src")
	if have := differing(before, after); !slices.Equal(have, []string{"a.js", "d.js"}) || after.Files.Count != 3 || after.Files.Size != after.Size {
		t.Errorf("changed: %v of %+v", have, after.Files)
	}
}

func differing(before, after reconcile.Asset) []string {
	var names []string
	for name, digest := range after.Files.Digests {
		if before.Files.Digests[name] != digest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestFilesOfAnExistingArchive: an archive that somebody else made tells its files too, whatever its digest, and what is no archive
// tells none.
func TestFilesOfAnExistingArchive(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{"src/a.js": "a", "src/b.js": "b", "none.zip": "no archive"})
	before := zipped(t, work, "src")
	write(t, filepath.Join(work.Dir, "src", "b.js"), "B")
	var found []reconcile.Asset
	for _, path := range []string{before.Path, zipped(t, work, "src").Path, filepath.Join(work.Dir, "none.zip")} {
		made, err := Archive(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, made)
	}
	if have := differing(found[0], found[1]); !slices.Equal(have, []string{"b.js"}) || found[0].Digest != before.Digest || found[2].Files != nil {
		t.Errorf("changed: %v; %+v", have, found)
	}
}

// TestFilesOfABundle: of a bundle the sources count, and of what is installed the packages.
func TestFilesOfABundle(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{
		"src/index.ts": `import { a } from "./a"; import { big } from "big"; import { of } from "@my/of"; export default a + big + of;`,
		"src/a.ts":     `export const a: number = 1;`, "src/unused.ts": `export const b = 2;`,
		"node_modules/big/index.js": `export { big } from "./more.js";`, "node_modules/big/more.js": `export const big = 1;`,
		"node_modules/@my/of/index.js": `export const of = 1;`,
	})
	build := func() reconcile.Asset {
		files, err := Bundle{Entry: "src/index.ts", Name: "index", SourceMap: true}.Build(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		made, err := Zip(t.Context(), work, files)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	before := build()
	want := []string{"node_modules/@my/of", "node_modules/big", "src/a.ts", "src/index.ts"}
	if have := slices.Sorted(maps.Keys(before.Files.Digests)); !slices.Equal(have, want) {
		t.Errorf("the bundle is made of %v, want %v", have, want)
	}
	write(t, filepath.Join(work.Dir, "src", "a.ts"), `export const a: number = 3;`)
	write(t, filepath.Join(work.Dir, "node_modules", "big", "more.js"), `export const big = 3;`)
	if have := differing(before, build()); !slices.Equal(have, []string{"node_modules/big", "src/a.ts"}) {
		t.Errorf("changed: %v", have)
	}
}

// TestFilesOfAProgram: of a program in Go the files count that are compiled into it, embedded ones, and those that say which modules
// there are.
func TestFilesOfAProgram(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{
		"go.mod":                 "module example.com/shop\n\ngo 1.24\n",
		"worker/main.go":         "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/shop/orders\"\n)\n\n//go:embed text.txt\nvar text string\n\nfunc main() { orders.Take(text) }\n",
		"worker/main_test.go":    "package main\n",
		"worker/main_windows.go": "package main\n",
		"worker/text.txt":        "text",
		"orders/orders.go":       "package orders\n\nfunc Take(string) {}\n",
		"other/other.go":         "package other\n",
	})
	build := func() reconcile.Asset {
		program, err := Go{Package: "./worker", Arch: "arm64"}.Build(t.Context(), work, "bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		made, err := Zip(t.Context(), work, []File{program})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	before := build()
	want := []string{"go.mod", "orders/orders.go", "worker/main.go", "worker/text.txt"}
	if have := slices.Sorted(maps.Keys(before.Files.Digests)); !slices.Equal(have, want) {
		t.Errorf("the program is made of %v, want %v", have, want)
	}
	write(t, filepath.Join(work.Dir, "orders", "orders.go"), "package orders\n\nfunc Take(s string) { println(s) }\n")
	if have := differing(before, build()); !slices.Equal(have, []string{"orders/orders.go"}) {
		t.Errorf("changed: %v", have)
	}
}

// TestManyFilesAreCounted: what state keeps is bounded by the number of files and by the length of their names.
func TestManyFilesAreCounted(t *testing.T) {
	t.Parallel()
	list := func(n int, name string) *reconcile.Files {
		digests := map[string]string{}
		for i := range n {
			digests[fmt.Sprint(name, i)] = strings.Repeat("0a", 32)
		}
		return List(digests, 9)
	}
	for _, c := range []struct {
		files *reconcile.Files
		count int
		named bool
	}{
		{list(500, "a"), 500, true},
		{list(501, "a"), 501, false},
		{list(400, strings.Repeat("a", 60)), 400, true},
		{list(400, strings.Repeat("a", 90)), 400, false},
	} {
		if c.files.Count != c.count || c.files.Size != 9 || (len(c.files.Digests) == c.count) != c.named {
			t.Errorf("%d files of %d bytes, %d of them named", c.files.Count, c.files.Size, len(c.files.Digests))
		}
	}
}
