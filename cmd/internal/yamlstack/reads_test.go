package yamlstack_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// TestFilesOfWebsite: a folder outside of the project is not read until it is allowed, however it is named.
func TestFilesOfWebsite(t *testing.T) {
	root := t.TempDir()
	project, outside := filepath.Join(root, "project"), filepath.Join(root, "outside")
	for _, dir := range []string{filepath.Join(project, "dist"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside", filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	load := func(files string, allowed ...string) *yamlstack.Stack {
		t.Helper()
		ctx := localfile.With(t.Context(), localfile.Bounds{Root: project, Allowed: allowed})
		s, err := yamlstack.Load(ctx, catalog(t), yamlstack.Input{
			Path: filepath.Join(project, "athanor.yaml"), Stage: "dev",
			Data: []byte("stack: shop\nresources: {site: {kind: aws.Website, props: {files: " + files + "}}}\n"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	files := func(s *yamlstack.Stack) (all []any) {
		for _, r := range s.Declared.Resources {
			if r.Kind == "aws.s3.Object" {
				all = append(all, r.Props["key"])
			}
		}
		return all
	}
	if s := load("dist"); s.Unread() || s.Graph == nil || !slices.Equal(files(s), []any{"index.html"}) {
		t.Errorf("a folder of the project: %v, outside %v", files(s), s.Outside)
	}
	for _, name := range []string{"../outside", outside, "link"} {
		s := load(name)
		want := []yamlstack.Outside{{Path: outside, Place: "resources.site.files"}}
		if !s.Unread() || s.Graph != nil || len(files(s)) > 0 || !slices.Equal(s.Outside, want) {
			t.Errorf("%s: %v, outside %v, want %v", name, files(s), s.Outside, want)
		}
		if s := load(name, outside); s.Unread() || s.Graph == nil || len(files(s)) != 1 {
			t.Errorf("%s, which is allowed: %v, outside %v", name, files(s), s.Outside)
		}
	}
}
