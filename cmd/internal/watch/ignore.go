package watch

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/asset"
)

// ignored knows the ignore files of trees: .gitignore, as git reads it. Those above a tree say nothing: a folder that a
// stack names counts, also where git ignores it as what a build makes.
type ignored struct {
	mu    sync.Mutex
	rules map[string]asset.Ignore // by folder
}

func newIgnored() *ignored { return &ignored{rules: map[string]asset.Ignore{}} }

// ignoreFile is the name of ignore files.
const ignoreFile = ".gitignore"

// passing are what editors and version control leave in folders, in passing, and packages that npm installs.
var passing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(node_modules|\.git|\.athanor|\.hg|\.svn|\.DS_Store|4913|.*~|\.#.*|#.*#|\..*\.sw[a-z]|.*\.tmp\.[0-9]+)$`)
})

// path reports that a path of a tree does not count: by its own name, or because a folder that it lies in does not.
func (g *ignored) path(tree, full string) bool {
	rel, err := filepath.Rel(tree, full)
	if err != nil || rel == "." {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i, name := range parts {
		if passing().MatchString(name) || g.excluded(tree, parts[:i+1], i < len(parts)-1 || isDir(full)) {
			return true
		}
	}
	return false
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// excluded goes through the ignore files from the tree's own down; of the rules that fit, the last one counts.
func (g *ignored) excluded(tree string, parts []string, folder bool) bool {
	out := false
	for i := range parts {
		dir := filepath.Join(append([]string{tree}, parts[:i]...)...)
		rel := strings.Join(parts[i:], "/")
		out = g.of(dir).Excludes(rel, folder, out)
	}
	return out
}

// of are the rules of a folder.
func (g *ignored) of(dir string) asset.Ignore {
	g.mu.Lock()
	defer g.mu.Unlock()
	rules, ok := g.rules[dir]
	if !ok {
		rules = asset.ReadIgnoreFile(context.Background(), filepath.Join(dir, ignoreFile))
		g.rules[dir] = rules
	}
	return rules
}

// forget has an ignore file read again.
func (g *ignored) forget(dir string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.rules, dir)
}
