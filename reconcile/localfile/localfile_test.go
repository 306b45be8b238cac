package localfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

func lay(t *testing.T) (root, outside string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside = filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, dir := range []string{root, outside, filepath.Join(root, "sub")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(root, "in"): "in", filepath.Join(outside, "out"): "out", filepath.Join(outside, "beside"): "beside", filepath.Join(base, "root-other"): "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"link": "in", "absolute": filepath.Join(root, "in"), "sub/up": "../in", "leaves": "../outside/out", "chain": "leaves", "folder": "../outside",
		"dangles": "../outside/none", "self": "self",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root, outside
}

func TestOpen(t *testing.T) {
	root, outside := lay(t)
	for _, c := range []struct {
		path, allowed, want string
		outside             bool
	}{
		{"in", "", "in", false},
		{"link", "", "in", false},
		{"absolute", "", "in", false},
		{"sub/up", "", "in", false},
		{"sub/../in", "", "in", false},
		{"leaves", "", "", true},
		{"chain", "", "", true},
		{"folder/out", "", "", true},
		{"../outside/out", "", "", true},
		{"../root-other", "", "", true},
		{"dangles", "", "", true},
		{"/etc/hostname", "", "", true},
		{"leaves", "out", "out", false},
		{"folder/out", "out", "out", false},
		{"folder/beside", "out", "", true},
		{"folder/beside", ".", "beside", false},
	} {
		b := localfile.Bounds{Root: root}
		if c.allowed != "" {
			b.Allowed = []string{filepath.Join(outside, c.allowed)}
		}
		path := c.path
		if !filepath.IsAbs(path) {
			path = root + "/" + path
		}
		data, err := localfile.ReadFile(localfile.With(t.Context(), b), path)
		_, refused := errors.AsType[*localfile.OutsideError](err)
		if string(data) != c.want || refused != c.outside || err != nil && !refused {
			t.Errorf("%s with %q: %q, %v", c.path, c.allowed, data, err)
		}
	}
	if _, err := localfile.ReadFile(localfile.With(t.Context(), localfile.Bounds{Root: root}), filepath.Join(root, "self")); err == nil {
		t.Error("a link to itself is read")
	}
	if _, err := localfile.ReadFile(localfile.With(t.Context(), localfile.Bounds{Root: root}), filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is missing: %v", err)
	}
}

// TestResolve: a link that leads to nothing yet is followed as the system follows it, through folders that are links.
func TestResolve(t *testing.T) {
	root, outside := lay(t)
	for name, to := range map[string]string{
		"out": "folder/new", "up": "folder/../new", "in-up": "sub/../new", "deep": "sub/loop/../new", "sub/loop": "../folder", "again": "up", "none/x": "",
		"beyond": "nothing/../../new",
	} {
		if to != "" {
			if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	base := filepath.Dir(root)
	for name, want := range map[string]string{
		"out": filepath.Join(outside, "new"), "up": filepath.Join(base, "new"), "in-up": filepath.Join(root, "new"), "deep": filepath.Join(base, "new"),
		"again": filepath.Join(base, "new"), "none/x": filepath.Join(root, "none", "x"), "up/more": filepath.Join(base, "new", "more"),
		"beyond": filepath.Join(base, "new"),
	} {
		real, inside, err := localfile.Bounds{Root: root}.Resolve(filepath.Join(root, name))
		if err != nil || real != want || inside != localfile.Within(root, want) {
			t.Errorf("%s leads to %s, inside %t, %v; want %s", name, real, inside, err, want)
		}
	}
}

// TestChangedLink: a link that is changed at any moment between its check and the opening leads to nothing outside, be it
// one to a file or to a folder.
func TestChangedLink(t *testing.T) {
	for name, c := range map[string]struct {
		inside, outside string
		leaks           func(ctx context.Context, at string) (leaked bool, err error)
	}{
		"a file": {"in", "../outside/out", func(ctx context.Context, at string) (bool, error) {
			data, err := localfile.ReadFile(ctx, at)
			return string(data) == "out", err
		}},
		"a folder": {"sub", "../outside", func(ctx context.Context, at string) (bool, error) {
			entries, err := localfile.ReadDir(ctx, at)
			return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "beside" }), err
		}},
		"a file in a folder": {"sub", "../outside", func(ctx context.Context, at string) (bool, error) {
			data, err := localfile.ReadFile(ctx, filepath.Join(at, "out"))
			return string(data) == "out", err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, _ := lay(t)
			if err := os.WriteFile(filepath.Join(root, "sub", "out"), []byte("inside"), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wait sync.WaitGroup
			at := filepath.Join(root, "moves")
			wait.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					aside := filepath.Join(root, "aside")
					_ = os.Symlink([]string{c.inside, c.outside}[i%2], aside)
					_ = os.Rename(aside, at)
				}
			})
			bounded := localfile.With(t.Context(), localfile.Bounds{Root: root})
			read := 0
			for range 20_000 {
				leaked, err := c.leaks(bounded, at)
				if leaked {
					t.Error("what is outside was read")
					break
				}
				if err == nil {
					read++
				}
			}
			cancel()
			wait.Wait()
			if read == 0 {
				t.Error("nothing was ever read")
			}
		})
	}
}
