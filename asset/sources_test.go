package asset

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
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
