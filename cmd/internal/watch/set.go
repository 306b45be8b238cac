package watch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Set is what is watched. All paths are absolute, and may name what is not there yet.
type Set struct {
	// Files are single files. A file that is replaced by another one of its name is still the same to watch.
	Files []string
	// Packages are folders whose Go files count, tests aside.
	Packages []string
	// Trees are files, or folders of which everything counts but what is ignored.
	Trees []string
}

// Join is what two sets name together.
func (s Set) Join(t Set) Set {
	both := func(a, b []string) []string {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return slices.Compact(all)
	}
	return Set{both(s.Files, t.Files), both(s.Packages, t.Packages), both(s.Trees, t.Trees)}
}

// Has reports that a path is one that the set names, or lies in one.
func (s Set) Has(path string) bool {
	return slices.Contains(s.Files, path) || goFile(path) && slices.Contains(s.Packages, filepath.Dir(path)) ||
		slices.ContainsFunc(s.Trees, func(tree string) bool { return within(path, tree) })
}

func goFile(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(filepath.Base(path), ".")
}

// within reports that a path is another or lies in it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || dir[len(dir)-1] == filepath.Separator)
}

// wanted is a set with everything that follows from it.
type wanted struct {
	Set
	// links are where symbolic links lead, with the path that is named.
	links map[string]string
	// above are the folders in which something named lies, however far below.
	above   map[string]bool
	ignored *ignored
}

func newWanted(s Set) *wanted {
	w := &wanted{Set: s, links: map[string]string{}, above: map[string]bool{}, ignored: newIgnored()}
	for _, path := range slices.Concat(s.Files, s.Packages, s.Trees) {
		for dir := filepath.Dir(path); !w.above[dir]; dir = filepath.Dir(dir) {
			w.above[dir] = true
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			w.links[target] = path
		}
	}
	return w
}

// named is the path by which a change of another one is told, "" for one that does not count.
func (w *wanted) named(path string) string {
	for target, link := range w.links {
		if within(path, target) {
			return link + strings.TrimPrefix(path, target)
		}
	}
	switch {
	case slices.Contains(w.Files, path), slices.Contains(w.Packages, path), goFile(path) && slices.Contains(w.Packages, filepath.Dir(path)):
		return path
	}
	for _, tree := range w.Trees {
		if within(path, tree) && !w.ignored.path(tree, path) {
			return path
		}
	}
	return ""
}

// below are the named paths that lie in a folder.
func (w *wanted) below(dir string) []string {
	var all []string
	for _, path := range slices.Concat(w.Files, w.Packages, w.Trees) {
		if within(path, dir) {
			all = append(all, path)
		}
	}
	return all
}

// folders are all folders that must be watched: those in which something named lies, or the nearest one above that is
// there, and all of trees.
func (w *wanted) folders() []string {
	all := map[string]bool{}
	for _, path := range slices.Concat(w.Files, slices.Collect(maps.Keys(w.links))) {
		all[nearest(filepath.Dir(path))] = true
	}
	for _, dir := range w.Packages {
		all[nearest(dir)] = true
	}
	trees := slices.Clone(w.Trees)
	for target, link := range w.links {
		if slices.Contains(w.Trees, link) {
			trees = append(trees, target)
		}
	}
	for _, tree := range trees {
		all[nearest(filepath.Dir(tree))] = true
		w.walk(tree, tree, func(dir string) { all[dir] = true })
	}
	return slices.Sorted(maps.Keys(all))
}

// walk visits the folders of a tree that are not ignored.
func (w *wanted) walk(tree, dir string, visit func(string)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it is no folder, or deleted again
	}
	visit(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && !w.ignored.path(tree, path) {
			w.walk(tree, path, visit)
		}
	}
}

// written reports that a named path, or of a folder anything that counts, was written after a time.
func (w *wanted) written(path string, after time.Time) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case !info.IsDir():
		return info.ModTime().After(after)
	case !slices.Contains(w.Trees, path):
		entries, err := os.ReadDir(path)
		return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return goFile(e.Name()) && w.written(filepath.Join(path, e.Name()), after)
		})
	}
	found := false
	w.walk(path, path, func(dir string) {
		if found = found || newer(dir, after); found {
			return
		}
		entries, err := os.ReadDir(dir)
		found = err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			full := filepath.Join(dir, e.Name())
			return !w.ignored.path(path, full) && newer(full, after)
		})
	})
	return found
}

func newer(path string, after time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && info.ModTime().After(after)
}

// nearest is a folder, or the nearest one above it that is there.
func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}
