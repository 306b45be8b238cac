package watch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/watch"
)

// place is a folder that is watched.
type place struct {
	t      *testing.T
	dir    string
	w      *watch.Watcher
	before []string // what was told last
}

func newPlace(t *testing.T) *place {
	t.Helper()
	w, err := watch.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return &place{t: t, dir: t.TempDir(), w: w}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) write(name, text string) {
	p.t.Helper()
	p.do(os.MkdirAll(filepath.Dir(p.path(name)), 0o700))
	p.do(os.WriteFile(p.path(name), []byte(text), 0o600))
}

func (p *place) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// watch watches names: those that end in "/..." are trees, in "/*.go" packages.
func (p *place) watch(names ...string) {
	p.t.Helper()
	var s watch.Set
	for _, name := range names {
		if tree, ok := strings.CutSuffix(name, "/..."); ok {
			s.Trees = append(s.Trees, p.path(tree))
		} else if pkg, ok := strings.CutSuffix(name, "/*.go"); ok {
			s.Packages = append(s.Packages, p.path(pkg))
		} else {
			s.Files = append(s.Files, p.path(name))
		}
	}
	p.do(p.w.Watch(s, time.Now().Add(time.Hour)))
}

// next waits for a burst, as names.
func (p *place) next() []string {
	p.t.Helper()
	select {
	case paths := <-p.w.Changes():
		for i := range paths {
			rel, err := filepath.Rel(p.dir, paths[i])
			p.do(err)
			paths[i] = filepath.ToSlash(rel)
		}
		return paths
	case <-time.After(2 * time.Minute):
		p.t.Fatal("nothing is told")
		return nil
	}
}

// told waits until all of these names, and no others, were told. What was told last may be told once more: a write is two events,
// and on a machine with much to do a moment passes between them.
func (p *place) told(names ...string) {
	p.t.Helper()
	var all []string
	for !slices.Equal(all, names) {
		for _, name := range p.next() {
			if slices.Contains(names, name) {
				all = append(all, name)
			} else if !slices.Contains(p.before, name) {
				p.t.Fatalf("told of %s, want %v", name, names)
			}
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	p.before = names
}

func TestFiles(t *testing.T) {
	p := newPlace(t)
	p.write("a.yaml", "1")
	p.watch("a.yaml", "sub/deep/b.yaml")
	p.write("other.yaml", "1")
	p.write("a.yaml", "2")
	p.told("a.yaml")
	// An editor writes beside and renames over.
	for range 3 {
		p.write(".a.yaml.swp", "x")
		p.write("a.yaml.new", "3")
		p.do(os.Rename(p.path("a.yaml.new"), p.path("a.yaml")))
		p.told("a.yaml")
	}
	// One that moves the old one away, as vim does.
	p.do(os.Rename(p.path("a.yaml"), p.path("a.yaml~")))
	p.write("a.yaml", "4")
	p.told("a.yaml")
	p.do(os.Remove(p.path("a.yaml")))
	p.told("a.yaml")
	// What is not there comes, with its folders; and they go and come again.
	for range 2 {
		p.write("sub/deep/b.yaml", "1")
		p.told("sub/deep/b.yaml")
		p.write("sub/deep/b.yaml", "2")
		p.told("sub/deep/b.yaml")
		p.do(os.RemoveAll(p.path("sub")))
		p.told("sub/deep/b.yaml")
	}
	p.write("a.yaml", "5")
	p.told("a.yaml")
}

func TestPackages(t *testing.T) {
	p := newPlace(t)
	p.write("shop/main.go", "package main")
	p.watch("shop/*.go")
	p.write("shop/main_test.go", "package main")
	p.write("shop/readme.md", "x")
	p.write("shop/queues.go", "package main")
	p.told("shop/queues.go")
	p.do(os.Remove(p.path("shop/queues.go")))
	p.told("shop/queues.go")
}

func TestTrees(t *testing.T) {
	p := newPlace(t)
	p.write("site/index.html", "1")
	p.write("site/.gitignore", "# made\n*.log\n/out/\n!keep.log\nnode_modules/\n")
	p.write("site/node_modules/x/y.js", "1")
	p.watch("site/...")
	for _, name := range []string{"site/a.log", "site/sub/b.log", "site/node_modules/x/y.js", "site/out/z", "site/index.html~", "site/.index.html.swp", "site/.git/HEAD"} {
		p.do(os.MkdirAll(filepath.Dir(p.path(name)), 0o700))
	}
	p.told("site/sub") // a folder that counts; the others do not
	for _, name := range []string{"site/a.log", "site/sub/b.log", "site/node_modules/x/y.js", "site/out/z", "site/index.html~", "site/.index.html.swp", "site/.git/HEAD"} {
		p.write(name, "2")
	}
	p.write("site/keep.log", "1")
	p.told("site/keep.log")
	// In a new folder everything counts, however deep.
	for _, name := range []string{"site/new", "site/new/deep"} {
		p.do(os.Mkdir(p.path(name), 0o700))
		p.told(name)
	}
	p.write("site/new/deep/page.html", "1")
	p.told("site/new/deep/page.html")
	// An ignore file that changes is read again.
	p.write("site/.gitignore", "*.html\n")
	p.told("site/.gitignore")
	p.write("site/new/deep/page.html", "2")
	p.write("site/a.log", "3")
	p.told("site/a.log")
	// A folder is moved away, and another one put in its place.
	p.write("next/index.txt", "1")
	p.do(os.Rename(p.path("site"), p.path("was")))
	p.do(os.Rename(p.path("next"), p.path("site")))
	p.told("site")
	p.write("was/a.log", "4")
	p.write("site/index.txt", "2")
	p.told("site/index.txt")
	p.do(os.Chmod(p.path("site/index.txt"), 0o700))
	p.told("site/index.txt")
}

func TestLinks(t *testing.T) {
	p := newPlace(t)
	p.write("real/a.yaml", "1")
	p.write("tree/x", "1")
	p.do(os.Symlink(p.path("real/a.yaml"), p.path("a.yaml")))
	p.do(os.Symlink(p.path("tree"), p.path("site")))
	p.watch("a.yaml", "site/...")
	p.write("real/a.yaml", "2")
	p.told("a.yaml")
	p.write("tree/x", "2")
	p.told("site/x")
}

// What comes while nobody listens is not lost. How a burst becomes one is in TestTell.
func TestBursts(t *testing.T) {
	p := newPlace(t)
	names := []string{"a", "b", "c", "d"}
	p.watch(names...)
	for _, name := range names {
		p.write(name, "1")
	}
	p.told(names...)
	for range 50 {
		p.write("a", strings.Repeat("x", 100))
	}
	p.write("d", "last")
	p.told("a", "d")
}

// What is watched anew and was written since it was read counts as changed.
func TestWrittenBeforeItWasWatched(t *testing.T) {
	p := newPlace(t)
	read := time.Now()
	p.write("late.yaml", "1")
	p.do(p.w.Watch(watch.Set{Files: []string{p.path("late.yaml")}}, read))
	p.told("late.yaml")
	p.do(p.w.Watch(watch.Set{Files: []string{p.path("late.yaml"), p.path("other.yaml")}}, read))
	p.write("other.yaml", "1")
	p.told("other.yaml")
}

// The same in folders, where what is ignored, or is no Go file, does not count.
func TestWrittenInFoldersBefore(t *testing.T) {
	p := newPlace(t)
	read := time.Now()
	for _, name := range []string{"pkg/a.md", "pkg/b_test.go", "shop/c.go", "deep/sub/x", "quiet/x~", "quiet/.gitignore"} {
		p.write(name, "1")
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"deep", "deep/sub", "quiet", "quiet/.gitignore"} {
		p.do(os.Chtimes(p.path(name), long, long))
	}
	p.do(p.w.Watch(watch.Set{Packages: []string{p.path("pkg"), p.path("shop")}, Trees: []string{p.path("deep"), p.path("quiet")}}, read))
	p.told("deep", "shop")
}
