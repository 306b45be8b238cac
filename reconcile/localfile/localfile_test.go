package localfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// TestChangedLink: a link that is changed at any moment between its check and the opening leads to nothing outside.
func TestChangedLink(t *testing.T) {
	root, _ := lay(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	at := filepath.Join(root, "moves")
	wait.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			aside := filepath.Join(root, "aside")
			_ = os.Symlink([]string{"in", "../outside/out"}[i%2], aside)
			_ = os.Rename(aside, at)
			os.Remove(filepath.Join(root, "sub", "d"))
		}
	})
	bounded := localfile.With(t.Context(), localfile.Bounds{Root: root})
	read := 0
	for range 20_000 {
		data, err := localfile.ReadFile(bounded, at)
		if string(data) == "out" {
			t.Error("a file outside was read")
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
}
