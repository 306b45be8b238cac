package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// bench is one resource in a stack's directory, with its record.
type bench struct {
	t         *testing.T
	kind      reconcile.Any
	dir       string
	last, had map[string]any
	secret    map[tree.Path]bool
	force     bool
	dev       *reconcile.Dev
}

func newBench(t *testing.T, kind reconcile.Any) *bench {
	return &bench{t: t, kind: kind, dir: t.TempDir()}
}

func (b *bench) job(props map[string]any) (*reconcile.Job, error) {
	job := &reconcile.Job{
		Address: "thing", Props: props, Dir: b.dir, Cloud: machine{}, Place: reconcile.Place{Provider: "local"},
		Last: b.last, Had: b.had, Secret: b.secret, Force: b.force, Dev: b.dev, Mark: reconcile.Mark{Stack: "shop", Stage: "test"},
		Derive: func(info string, n int) []byte {
			sum := sha256.Sum256([]byte("key " + info))
			return sum[:n]
		},
	}
	if props == nil {
		return job, nil
	}
	if err := b.kind.Decode(job); err != nil {
		return nil, err
	}
	return job, b.kind.Prepare(b.t.Context(), job, reconcile.Workspace{Dir: b.dir})
}

// settle makes the world match and keeps the state.
func (b *bench) settle(props map[string]any) (reconcile.Outcome, error) {
	return b.settleIn(b.t.Context(), props)
}

func (b *bench) settleIn(ctx context.Context, props map[string]any) (reconcile.Outcome, error) {
	job, err := b.job(props)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	out, err := b.kind.Settle(ctx, job, reconcile.Hooks{})
	if err == nil {
		b.last, b.had = out.Attrs, maps.Clone(props)
	}
	return out, err
}

func (b *bench) must(props map[string]any) reconcile.Outcome {
	b.t.Helper()
	out, err := b.settle(props)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) look(props map[string]any) (reconcile.Look, error) {
	job, err := b.job(props)
	if err != nil {
		return reconcile.Look{}, err
	}
	return b.kind.Look(b.t.Context(), job)
}

func (b *bench) delete() error {
	job, err := b.job(nil)
	if err != nil {
		return err
	}
	return b.kind.Delete(b.t.Context(), job)
}

func (b *bench) at(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.at(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.at(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) exists(name string) bool {
	_, err := os.Lstat(b.at(name))
	return err == nil
}

func TestFileIsLeftAloneWhenEqual(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	props := map[string]any{"path": "a.txt", "content": "hello"}
	out := b.must(props)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("hello"))); out.Attrs["digest"] != want || out.Attrs["path"] != "a.txt" {
		t.Errorf("attributes %v, want digest %s", out.Attrs, want)
	}
	before, err := os.Stat(b.at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b.last = nil // equal bytes and mode are ours without state too
	if out := b.must(props); out.Created || len(out.Changed) > 0 {
		t.Errorf("an equal file was written: %+v", out)
	}
	after, err := os.Stat(b.at("a.txt"))
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the file is another one: %v", err)
	}
}

func TestFileKeepsReadersWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	b.must(map[string]any{"path": "a.txt", "content": "old"})
	reader, err := os.Open(b.at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	b.must(map[string]any{"path": "a.txt", "content": "new and longer"})
	text := make([]byte, 64)
	if n, _ := reader.Read(text); string(text[:n]) != "old" {
		t.Errorf("a reader of the old file sees %q", text[:n])
	}
	if inside, _ := os.ReadDir(b.dir); len(inside) != 1 {
		t.Errorf("left behind: %v", inside)
	}
}

func TestFileDriftIsReadable(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	props := map[string]any{"path": "a.txt", "content": "hello"}
	b.must(props)
	b.write("a.txt", "edited")
	look, err := b.look(props)
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Have != "edited" || look.Steps[0].Want != "hello" {
		t.Errorf("drift shows as %v (%v)", look.Steps, err)
	}
	b.write("a.txt", strings.Repeat("x", readable+1))
	look, err = b.look(props)
	if err != nil {
		t.Fatal(err)
	}
	if have, ok := look.Steps[0].Have.(map[string]any); !ok || have["size"] != int64(readable+1) {
		t.Errorf("drift of a long file shows as %v", look.Steps[0].Have)
	}
}

// The digest of a secret must not let anybody guess it, yet change with it.
func TestFileDigestOfSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	b.secret = map[tree.Path]bool{"content": true}
	one := b.must(map[string]any{"path": "a.txt", "content": "1234"}).Attrs["digest"]
	if one == fmt.Sprintf("%x", sha256.Sum256([]byte("1234"))) {
		t.Error("the plain digest of a secret is an attribute")
	}
	if look, err := b.look(nil); err != nil || look.Attrs["digest"] != one {
		t.Errorf("a look without a declaration shows digest %v, want %v (%v)", look.Attrs["digest"], one, err)
	}
	if two := b.must(map[string]any{"path": "a.txt", "content": "1235"}).Attrs["digest"]; two == one {
		t.Error("the digest stays when the secret changes")
	}
}

func TestFileRefusesOtherShapes(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(b *bench) error{
		"a symbolic link": func(b *bench) error { return os.Symlink("elsewhere", b.at("a.txt")) },
		"a folder":        func(b *bench) error { return os.Mkdir(b.at("a.txt"), 0o755) },
	} {
		b := newBench(t, fileKind.Erase())
		if err := put(b); err != nil {
			t.Fatal(err)
		}
		_, err := b.settle(map[string]any{"path": "a.txt", "content": "x"})
		shape, ok := errors.AsType[*ShapeError](err)
		if !ok || shape.Is != name || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		b.last = map[string]any{"path": "a.txt", "digest": ""}
		if err := b.delete(); !errors.As(err, &shape) || !b.exists("a.txt") {
			t.Errorf("%s: delete: %v", name, err)
		}
	}
}

// A file that appears between the look and the creation is not overwritten.
func TestFileCreationIsExclusive(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	job, err := b.job(map[string]any{"path": "deep/er/a.txt", "content": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	foreign := errors.New("foreign")
	hooks := reconcile.Hooks{
		Intend: func(context.Context) error { b.write("deep/er/a.txt", "theirs"); return nil },
		Permit: func(reconcile.Look) error { return foreign },
	}
	if _, err := b.kind.Settle(t.Context(), job, hooks); !errors.Is(err, foreign) {
		t.Errorf("settle: %v", err)
	}
	if text, _ := os.ReadFile(b.at("deep/er/a.txt")); string(text) != "theirs" {
		t.Errorf("the file holds %q", text)
	}
}

func TestFilePrunesFoldersInsideTheStack(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	b.must(map[string]any{"path": "out/deep/a.txt", "content": "x"})
	b.write("out/theirs.txt", "x")
	if err := b.delete(); err != nil {
		t.Fatal(err)
	}
	if b.exists("out/deep") || !b.exists("out/theirs.txt") {
		t.Error("want out/deep gone and out/theirs.txt kept")
	}
	outside := t.TempDir()
	b = newBench(t, fileKind.Erase())
	b.must(map[string]any{"path": filepath.Join(outside, "sub/a.txt"), "content": "x"})
	if err := b.delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "sub")); err != nil {
		t.Errorf("a folder outside the stack was removed: %v", err)
	}
}

func TestFileProps(t *testing.T) {
	t.Parallel()
	for name, props := range map[string]map[string]any{
		"both":            {"path": "a", "content": "x", "source": "y"},
		"no file":         {"path": ".."},
		"words for mode":  {"path": "a", "mode": "rw"},
		"setuid":          {"path": "a", "mode": "4755"},
		"unreadable mode": {"path": "a", "mode": "0200"},
		"no path":         {"content": "x"},
	} {
		b := newBench(t, fileKind.Erase())
		if _, err := b.job(props); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	b := newBench(t, fileKind.Erase())
	if _, err := b.job(map[string]any{"path": "a", "source": "nowhere"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing source: %v", err)
	}
	b.must(map[string]any{"path": "./x/../a", "mode": "644"})
	if out := b.must(map[string]any{"path": "a", "mode": "0644"}); len(out.Changed) > 0 {
		t.Errorf("two spellings of one declaration differ: %v", out.Changed)
	}
}

// What is written is what was hashed, or nothing.
func TestSourceThatChangesIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	b.write("src", "one")
	job, err := b.job(map[string]any{"path": "a", "source": "src"})
	if err != nil {
		t.Fatal(err)
	}
	b.write("src", "two")
	if _, err := b.kind.Settle(t.Context(), job, reconcile.Hooks{}); err == nil || !strings.Contains(err.Error(), "changed while") {
		t.Errorf("settle: %v", err)
	}
	if inside, _ := os.ReadDir(b.dir); len(inside) != 1 {
		t.Errorf("left behind: %v", inside)
	}
}

// A source that becomes a link out of the project after it was prepared is not opened.
func TestSourceLinkedAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, fileKind.Erase())
	b.write("src", "equal")
	job, err := b.job(map[string]any{"path": "a", "source": "src"})
	if err != nil {
		t.Fatal(err)
	}
	source, outside := filepath.Join(b.dir, "src"), filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.Rename(source, outside), os.Symlink(outside, source)); err != nil {
		t.Fatal(err)
	}
	_, err = b.kind.Settle(localfile.With(t.Context(), localfile.Bounds{Root: b.dir}), job, reconcile.Hooks{})
	if _, refused := errors.AsType[*localfile.OutsideError](err); !refused {
		t.Errorf("settle: %v", err)
	}
}

// A run that is cut between the removal of a file and that of the folder above it leaves an empty folder, and the next one
// removes that.
func TestFoldersLeftEmptyByACut(t *testing.T) {
	for name, left := range map[string]string{"the folder": "out/sub", "the one above it": "out"} {
		t.Run(name, func(t *testing.T) {
			for kind, drop := range map[string]func(dir string) error{
				"local.File": func(dir string) error {
					return deleteFile(t.Context(), fileSite{Facts: kind.Facts{Dir: dir}, Last: &File{Path: "out/sub/a"}})
				},
				"local.Directory": func(dir string) error {
					return deleteDirectory(t.Context(), directorySite{Facts: kind.Facts{Dir: dir}, Last: &Directory{Path: "out/sub/a", Files: []string{"x"}}})
				},
			} {
				dir := t.TempDir()
				if err := os.MkdirAll(filepath.Join(dir, left), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := drop(dir); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
				if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
					t.Errorf("%s left %v, %v", kind, entries, err)
				}
			}
			if !fileKind.CleansUp || !directoryKind.CleansUp {
				t.Error("a deletion that was cut is not finished")
			}
		})
	}
}
