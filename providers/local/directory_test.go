package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestDirectoryLeavesOtherFilesAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, directoryKind.Erase())
	b.must(map[string]any{"path": "out", "files": map[string]any{"a.txt": "a", "sub/b.txt": "b"}})
	b.write("out/theirs.txt", "x")
	b.write("out/sub/theirs.txt", "x")
	out := b.must(map[string]any{"path": "out", "files": map[string]any{"a.txt": "a"}})
	if b.exists("out/sub/b.txt") || !b.exists("out/sub/theirs.txt") || !b.exists("out/theirs.txt") {
		t.Error("want b.txt gone and what is not ours kept")
	}
	if files := out.Attrs["files"]; !tree.Equal(files, []any{"a.txt"}) {
		t.Errorf("files are %v", files)
	}
	if err := b.delete(); err != nil {
		t.Fatal(err)
	}
	if b.exists("out/a.txt") || !b.exists("out/theirs.txt") {
		t.Error("want a.txt gone and what is not ours kept")
	}
}

func TestDirectoryForeignFilesDiffer(t *testing.T) {
	t.Parallel()
	b := newBench(t, directoryKind.Erase())
	b.write("out/a.txt", "theirs")
	look, err := b.look(map[string]any{"path": "out", "files": map[string]any{"a.txt": "ours", "b.txt": "b"}})
	if err != nil || look.Absent || len(look.Steps) != 2 {
		t.Errorf("a foreign file: %+v (%v)", look, err)
	}
	b.write("out/a.txt", "ours")
	look, err = b.look(map[string]any{"path": "out", "files": map[string]any{"a.txt": "ours", "b.txt": "b"}})
	if err != nil || !look.Absent {
		t.Errorf("a creation that was cut short: %+v (%v)", look, err)
	}
}

func TestDirectorySources(t *testing.T) {
	t.Parallel()
	b := newBench(t, directoryKind.Erase())
	b.write("src/a.txt", "a")
	if err := os.Symlink("a.txt", b.at("src/link")); err != nil {
		t.Fatal(err)
	}
	_, err := b.job(map[string]any{"path": "out", "source": "src"})
	if shape, ok := errors.AsType[*ShapeError](err); !ok || shape.Path != "link" || len(reconcile.Hints(err)) == 0 {
		t.Errorf("a symbolic link in the source: %v", err)
	}
	if _, err := b.job(map[string]any{"path": "src/out", "source": "src"}); err == nil {
		t.Error("a source that holds its own copy is taken")
	}
	for _, name := range []string{"../a", "/a", "a/../b", ".", "a/"} {
		if _, err := b.job(map[string]any{"path": "out", "files": map[string]any{name: "x"}}); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	if _, err := b.job(map[string]any{"path": "out", "files": map[string]any{"a": "x", "a/b": "y"}}); err == nil {
		t.Error("a file below a file is taken")
	}
}

// A link inside the folder that leads out of it must not be written through.
func TestDirectoryDoesNotFollowLinksOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, directoryKind.Erase())
	outside := t.TempDir()
	if err := os.Mkdir(b.at("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, b.at("out/sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.settle(map[string]any{"path": "out", "files": map[string]any{"sub/a.txt": "x"}}); err == nil {
		t.Error("written through a link")
	}
	if inside, _ := os.ReadDir(outside); len(inside) > 0 {
		t.Errorf("outside there is now %v", inside)
	}
}

func TestDirectoryOfTenThousandFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, directoryKind.Erase())
	const n = 10_000
	for i := range n {
		b.write(fmt.Sprintf("src/%02d/%04d.txt", i%100, i), fmt.Sprint(i))
	}
	props := map[string]any{"path": "out", "source": "src"}
	for _, phase := range []string{"create", "again"} {
		begin := time.Now()
		out := b.must(props)
		t.Logf("%s: %s", phase, time.Since(begin).Round(time.Millisecond))
		if files, _ := out.Attrs["files"].([]any); len(files) != n {
			t.Fatalf("%s: %d files", phase, len(files))
		}
	}
	b.write("out/07/0007.txt", "edited")
	look, err := b.look(props)
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != `files["07/0007.txt"]` {
		t.Errorf("drift of one in %d: %v (%v)", n, look.Steps, err)
	}
	begin := time.Now()
	if err := b.delete(); err != nil {
		t.Fatal(err)
	}
	t.Logf("delete: %s", time.Since(begin).Round(time.Millisecond))
	if _, err := os.Stat(filepath.Join(b.dir, "out")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
}
