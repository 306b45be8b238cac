package asset

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// told are the paths that a build tells of, as seen from the stack's directory.
func told(t *testing.T, work reconcile.Workspace, build func(context.Context, reconcile.Workspace) error) []string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(work.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	work.Told = func(path string) {
		if rel, err := filepath.Rel(dir, path); err == nil {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	_ = build(t.Context(), work) // what does not build tells as well
	slices.Sort(paths)
	return slices.Compact(paths)
}

func TestBuildsTellWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go.mod":                     "module example.com/shop\n\ngo 1.26\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n",
		"lib/go.mod":                 "module example.com/lib\n\ngo 1.26\n",
		"lib/lib.go":                 "package lib\n\nconst Text = \"\"\n",
		"worker/main.go":             "package main\n\nimport (\n\t\"embed\"\n\n\t\"example.com/lib\"\n\t\"example.com/shop/parts\"\n)\n\n//go:embed text/*.txt note.md\nvar files embed.FS\n\nfunc main() { _, _, _ = files, lib.Text, parts.Text }\n",
		"worker/note.md":             "x",
		"worker/text/a.txt":          "x",
		"parts/parts.go":             "package parts\n\nconst Text = \"\"\n",
		"js/index.ts":                "import { a } from \"./a\"; import b from \"b\"; export const handler = () => a + b",
		"js/a.ts":                    "export const a = 1",
		"js/node_modules/b/index.js": "export default 1",
	}
	compile := func(pkg string) func(context.Context, reconcile.Workspace) error {
		return func(ctx context.Context, work reconcile.Workspace) error {
			_, err := Go{Package: pkg, Arch: "amd64"}.Build(ctx, work, "bootstrap")
			return err
		}
	}
	bundle := func(ctx context.Context, work reconcile.Workspace) error {
		_, err := Bundle{Entry: "js/index.ts", Name: "index", Node: "24"}.Build(ctx, work)
		return err
	}
	program := []string{"go.mod", "go.sum", "go.work", "lib", "lib/go.mod", "lib/go.sum", "lib/go.work", "parts", "worker", "worker/note.md", "worker/text", "worker/text/a.txt"}
	for _, tt := range []struct {
		name   string
		broken string
		build  func(context.Context, reconcile.Workspace) error
		want   []string
	}{
		{"Go", "", compile("./worker"), program},
		{"Go that does not build", "parts/parts.go", compile("./worker"), program},
		{"a package by its import path", "", compile("example.com/shop/worker"), program},
		{"a bundle", "", bundle, []string{"js/a.ts", "js/index.ts"}},
		{"a bundle that cannot be made", "js/a.ts", bundle, []string{"js/index.ts"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := stack(t, files)
			if tt.broken != "" {
				write(t, filepath.Join(work.Dir, tt.broken), "package parts\n\nconst Text = {\n")
			}
			if have := told(t, work, tt.build); !slices.Equal(have, tt.want) {
				t.Errorf("it tells of %v, want %v", have, tt.want)
			}
		})
	}
}

// TestCheckGo: what the go command would open outside is found before it is started, however it is written.
func TestCheckGo(t *testing.T) {
	t.Parallel()
	const main, other = "package main\n\nimport _ \"example.com/y/in\"\n\nfunc main() {}\n", "package in\n"
	for name, c := range map[string]struct {
		files, links map[string]string
		outside      bool
	}{
		"nothing":              {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n"}},
		"a long comment":       {files: map[string]string{"go.mod": "module example.com/x\n//" + strings.Repeat("x", 1<<17) + "\nreplace example.com/y => ../out\n", "main.go": main}, outside: true},
		"quotes and slashes":   {files: map[string]string{"go.mod": "module example.com/x\nreplace \"example.com/y\" v1.0.0 => \"..//out\" // here\n", "main.go": main}, outside: true},
		"a raw string":         {files: map[string]string{"go.mod": "module example.com/x\nreplace(\n\texample.com/y => `../out`\n)\n", "main.go": main}, outside: true},
		"a module inside":      {files: map[string]string{"go.mod": "module example.com/x\nreplace example.com/y => ./y\n", "main.go": main, "y/go.mod": "module example.com/y\n", "y/in/in.go": other}},
		"one that replaces":    {files: map[string]string{"go.mod": "module example.com/x\nreplace example.com/y => ./y\n", "main.go": main, "y/go.mod": "module example.com/y\nreplace example.com/z => ../../out\n", "y/in/in.go": other}},
		"a workspace":          {files: map[string]string{"go.mod": "module example.com/x\n", "go.work": "use (\n./y\n../out\n)\n", "main.go": main}, outside: true},
		"a link of a link":     {files: map[string]string{"go.mod": "module example.com/x\nreplace example.com/y => ./y\n", "main.go": main, "y/go.mod": "module example.com/y\n"}, links: map[string]string{"y/in": "../a", "a": "../out"}, outside: true},
		"vendored":             {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": main}, links: map[string]string{"vendor/example.com/y/in": "../../../../out"}, outside: true},
		"a profile":            {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n"}, links: map[string]string{"default.pgo": "../out/in.go"}, outside: true},
		"go.sum":               {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n"}, links: map[string]string{"go.sum": "../out/in.go"}, outside: true},
		"an absolute #include": {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n", "f.s": "#include \"textflag.h\"\n# /* a\n */ include \"/etc/hostname\"\n"}, outside: true},
		"a comment, #include":  {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n", "f.s": "/**/#include `../out/in.go`\n"}, outside: true},
		"its own #include":     {files: map[string]string{"go.mod": "module example.com/x\n", "main.go": "package main\n", "f.s": "#include \"textflag.h\"\n#include \"g.h\"\n", "g.h": "#define X 1\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(base, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write("out/in.go", other)
			write("out/go.mod", "module example.com/y\n")
			for name, text := range c.files {
				write(filepath.Join("root", name), text)
			}
			for name, to := range c.links {
				path := filepath.Join(base, "root", name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
					t.Fatal(err)
				}
			}
			root := filepath.Join(base, "root")
			err := checkGo(localfile.With(t.Context(), localfile.Bounds{Root: root}), root, ".")
			if _, outside := errors.AsType[*localfile.OutsideError](err); outside != c.outside || err != nil && !outside {
				t.Errorf("outside %v: %v", outside, err)
			}
		})
	}
}

// TestSourcesAreListedOnce checks that a build asks the go command once what it is made of, also where several parts
// want to know.
func TestSourcesAreListedOnce(t *testing.T) {
	work := stack(t, program)
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	calls := filepath.Join(bin, "calls")
	write(t, filepath.Join(bin, "go"), "#!/bin/sh\necho \"$1\" >> '"+calls+"'\nexec '"+real+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	work.Told = func(string) {}
	ctx := localfile.With(t.Context(), localfile.Bounds{Root: work.Dir})
	if _, err := (Go{Package: "./worker", Arch: "amd64"}).Build(ctx, work, "bootstrap"); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(calls); err != nil || string(said) != "list\nbuild\n" {
		t.Errorf("the go command was asked for %q (%v)", said, err)
	}
}
