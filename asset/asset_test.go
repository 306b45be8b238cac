package asset

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/scratch"
)

// stack is a stack's directory with files in it, and a cache of its own.
func stack(t *testing.T, files map[string]string) reconcile.Workspace {
	t.Helper()
	work := reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}
	for name, text := range files {
		write(t, filepath.Join(work.Dir, filepath.FromSlash(name)), text)
	}
	return work
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, work reconcile.Workspace, dir string) reconcile.Asset {
	t.Helper()
	files, err := Tree(t.Context(), filepath.Join(work.Dir, dir))
	if err != nil {
		t.Fatal(err)
	}
	asset, err := Zip(t.Context(), work, files)
	if err != nil {
		t.Fatal(err)
	}
	return asset
}

func TestZipIsReproducible(t *testing.T) {
	t.Parallel()
	sources := map[string]string{"src/index.mjs": "export const handler = 1", "src/lib/a.txt": strings.Repeat("a", 5<<20)}
	one, two := stack(t, sources), stack(t, sources)
	old := time.Now().Add(-1000 * time.Hour)
	if err := os.Chtimes(filepath.Join(two.Dir, "src/lib/a.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	first, second := zipped(t, one, "src"), zipped(t, two, "src")
	if first.Digest != second.Digest || first.Path == second.Path || first.Size == 0 {
		t.Errorf("%+v and %+v", first, second)
	}
	if again := zipped(t, one, "src"); !reflect.DeepEqual(again, first) {
		t.Errorf("again %+v", again)
	}
	if err := os.Chmod(filepath.Join(two.Dir, "src/index.mjs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if changed := zipped(t, two, "src"); changed.Digest == first.Digest {
		t.Error("a file that has become executable changes nothing")
	}
}

func TestZipHolds(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{"src/run.sh": "#!/bin/sh", "src/b/c.txt": "c"})
	if err := os.Chmod(filepath.Join(work.Dir, "src/run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../run.sh", filepath.Join(work.Dir, "src/b/run")); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(zipped(t, work, "src").Path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	have := map[string]fs.FileMode{}
	for _, f := range archive.File {
		have[f.Name] = f.Mode()
	}
	if len(have) != 3 || have["run.sh"] != 0o755 || have["b/c.txt"] != 0o644 || have["b/run"] != fs.ModeSymlink|0o777 {
		t.Errorf("holds %v", have)
	}
}

func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{"src/a": "a", "secret": "s"})
	if err := os.Symlink("../secret", filepath.Join(work.Dir, "src/out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(work.Dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"src", "empty", "secret"} {
		_, err := Tree(t.Context(), filepath.Join(work.Dir, dir))
		if _, ok := errors.AsType[*PathError](err); !ok {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := Tree(t.Context(), filepath.Join(work.Dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

var program = map[string]string{
	"go.mod":         "module example.com/worker\n\ngo 1.26\n",
	"worker/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(greeting) }\n",
	"worker/word.go": "package main\n\nvar greeting = \"hello\"\n",
	"lib/lib.go":     "package lib\n",
	"bad/main.go":    "package main\n\nfunc main() { undefined() }\n",
}

func TestGoIsReproducible(t *testing.T) {
	t.Parallel()
	var digests []string
	for range 2 {
		work := stack(t, program)
		for range 2 { // the second time from what the first left
			f, err := Go{Package: "./worker", Arch: "arm64"}.Build(t.Context(), work, "bootstrap")
			if err != nil {
				t.Fatal(err)
			}
			asset, err := Zip(t.Context(), work, []File{f})
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, asset.Digest)
		}
	}
	if len(slices.Compact(digests)) != 1 {
		t.Errorf("built twice in two folders: %v", digests)
	}
}

func TestGoBuildsForLinux(t *testing.T) {
	t.Parallel()
	work := stack(t, program)
	for arch, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64} {
		f, err := Go{Package: "./worker", Arch: arch, LDFlags: "-X main.greeting=bye"}.Build(t.Context(), work, "bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		file, err := elf.Open(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if file.Machine != machine || !f.Executable || f.Name != "bootstrap" {
			t.Errorf("%s: %s %+v", arch, file.Machine, f)
		}
		if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("%s needs %v (%v)", arch, libraries, err)
		}
		_ = file.Close()
	}
}

func TestGoBuildsAnewWhatChanged(t *testing.T) {
	t.Parallel()
	work := stack(t, program)
	built := func() string {
		f, err := Go{Package: "./worker", Arch: "amd64"}.Build(t.Context(), work, "bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		asset, err := Existing(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		return asset.Digest
	}
	before := built()
	write(t, filepath.Join(work.Dir, "worker/word.go"), "package main\n\nvar greeting = \"bye\"\n")
	if after := built(); after == before {
		t.Error("the program changed, and the output did not")
	}
}

// TestCutProgram: a program of which the disk has lost the end is linked again, and what killed builds have left goes.
func TestCutProgram(t *testing.T) {
	t.Parallel()
	work := stack(t, program)
	build := func() ([]byte, string) {
		t.Helper()
		f, err := Go{Package: "./worker", Arch: "amd64"}.Build(t.Context(), work, "bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		return data, f.Path
	}
	whole, path := build()
	if err := os.Mkdir(filepath.Join(filepath.Dir(path), "build-killed"), 0o700); err != nil {
		t.Fatal(err)
	}
	living, err := scratch.New(filepath.Dir(path), "build-")
	if err != nil {
		t.Fatal(err)
	}
	defer living.Remove()
	for _, size := range []int{len(whole) / 2, 0} {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if again, _ := build(); !bytes.Equal(again, whole) {
			t.Errorf("of a program that was cut at %d bytes there are %d of %d", size, len(again), len(whole))
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "build-*")); err != nil || !slices.Equal(left, []string{living.Path}) {
		t.Errorf("left are %q (%v)", left, err)
	}
}

func TestGoRefuses(t *testing.T) {
	t.Parallel()
	work := stack(t, program)
	for pkg, want := range map[string]string{
		"./bad": "main.go:3:15: undefined: undefined", "./lib": "want package main", "./none": "./none", "example.com/none": "example.com/none",
	} {
		_, err := Go{Package: pkg, Arch: "amd64"}.Build(t.Context(), work, "bootstrap")
		if _, ok := errors.AsType[*BuildError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pkg, err, want)
		}
	}
}

var scripts = map[string]string{
	"src/handler.ts": `
		import { S3 } from "@aws-sdk/client-s3";
		import { greet } from "./greet";
		import old from "old";
		export const handler = async (event: { name: string }): Promise<string> => greet(event.name) + old() + typeof S3;`,
	"src/greet.ts":                  `export const greet = (name: string) => "hello " + name; export const unused = () => "not used by anybody";`,
	"node_modules/old/package.json": `{"name": "old", "main": "main.js"}`,
	"node_modules/old/main.js":      `const path = require("path"); module.exports = () => path.posix.join("/", "a");`,
	"src/common.js":                 `const { greet } = require("./greet"); exports.handler = async () => greet("you");`,
	"src/wrong.ts":                  "export const handler = () => {\n  return 1 +;\n};\n",
	"src/missing.ts":                `import "./not-there"; export const handler = 1;`,
}

func bundled(t *testing.T, work reconcile.Workspace, b Bundle) []File {
	t.Helper()
	files, err := b.Build(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestBundleIsReproducible(t *testing.T) {
	t.Parallel()
	b := Bundle{Entry: "src/handler.ts", Name: "index", Node: "20", External: []string{"@aws-sdk/*"}, SourceMap: true}
	one, two := bundled(t, stack(t, scripts), b), bundled(t, stack(t, scripts), b)
	if len(one) != 2 || len(two) != 2 {
		t.Fatalf("%d and %d files", len(one), len(two))
	}
	for i := range one {
		if one[i].Name != two[i].Name || string(one[i].Data) != string(two[i].Data) {
			t.Errorf("%s and %s differ between two folders", one[i].Name, two[i].Name)
		}
	}
	text := string(one[slices.IndexFunc(one, func(f File) bool { return f.Name == "index.mjs" })].Data)
	if !strings.Contains(text, `from "@aws-sdk/client-s3"`) || strings.Contains(text, "not used by anybody") {
		t.Errorf("want what is external imported, and what is unused left out:\n%s", text)
	}
	b.Minify = true
	if short := bundled(t, stack(t, scripts), b); len(short[1].Data) >= len(one[1].Data) {
		t.Errorf("minified it has %d bytes, and else %d", len(short[1].Data), len(one[1].Data))
	}
}

// TestBundleRuns runs what was bundled: with an import of CommonJS in a module, and with an entry that is CommonJS.
func TestBundleRuns(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node to run bundles with")
	}
	for entry, c := range map[string]struct{ file, want string }{
		"src/handler.ts": {"index.mjs", "hello you/afunction"}, "src/common.js": {"index.cjs", "hello you"},
	} {
		files := bundled(t, stack(t, scripts), Bundle{Entry: entry, Name: "index", Node: "20", External: []string{"@aws-sdk/*"}})
		if len(files) != 1 || files[0].Name != c.file {
			t.Fatalf("%s: bundled into %v", entry, files)
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, c.file), string(files[0].Data))
		write(t, filepath.Join(dir, "node_modules/@aws-sdk/client-s3/index.mjs"), "export class S3 {}")
		write(t, filepath.Join(dir, "node_modules/@aws-sdk/client-s3/package.json"), `{"main": "index.mjs"}`)
		write(t, filepath.Join(dir, "run.mjs"), `import { handler } from "./`+c.file+`"; console.log(await handler({ name: "you" }));`)
		out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, "run.mjs")).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != c.want {
			t.Errorf("%s says %s (%v), want %s", entry, out, err, c.want)
		}
	}
}

func TestBundleRefuses(t *testing.T) {
	t.Parallel()
	work := stack(t, scripts)
	for entry, want := range map[string]string{
		"src/wrong.ts": `src/wrong.ts:2:13: Unexpected ";"`, "src/missing.ts": `src/missing.ts:1:8: Could not resolve "./not-there"`, "none.ts": "none.ts",
	} {
		_, err := Bundle{Entry: entry, Name: "index", Node: "20"}.Build(t.Context(), work)
		if _, ok := errors.AsType[*BuildError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}
