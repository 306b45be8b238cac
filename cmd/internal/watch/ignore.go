package watch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// ignored knows the ignore files of trees: .gitignore, as git reads it. Those above a tree say nothing: a folder that a
// stack names counts, also where git ignores it as what a build makes.
type ignored struct {
	mu    sync.Mutex
	rules map[string][]rule // by folder
}

// rule is one line of an ignore file.
type rule struct {
	matches *regexp.Regexp // on the path from the file's folder
	folder  bool           // only folders
	not     bool
}

func newIgnored() *ignored { return &ignored{rules: map[string][]rule{}} }

// ignoreFile is the name of ignore files.
const ignoreFile = ".gitignore"

// passing are what editors and version control leave in folders, in passing.
var passing = regexp.MustCompile(`^(\.git|\.athanor|\.hg|\.svn|\.DS_Store|4913|.*~|\.#.*|#.*#|\..*\.sw[a-z]|.*\.tmp\.[0-9]+)$`)

// path reports that a path of a tree does not count: by its own name, or because a folder that it lies in does not.
func (g *ignored) path(tree, full string) bool {
	rel, err := filepath.Rel(tree, full)
	if err != nil || rel == "." {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i, name := range parts {
		if passing.MatchString(name) || g.excluded(tree, parts[:i+1], i < len(parts)-1 || isDir(full)) {
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
		for _, r := range g.of(dir) {
			if (!r.folder || folder) && r.matches.MatchString(rel) {
				out = !r.not
			}
		}
	}
	return out
}

// of are the rules of a folder.
func (g *ignored) of(dir string) []rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	rules, ok := g.rules[dir]
	if !ok {
		rules = readRules(filepath.Join(dir, ignoreFile))
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

// readRules reads an ignore file; one that is not there says nothing.
func readRules(file string) []rule {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var rules []rule
	for line := range strings.Lines(string(data)) {
		if r, ok := readRule(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func readRule(line string) (rule, bool) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line, r.not = strings.CutPrefix(line, "!"); line == "" {
		return rule{}, false
	}
	line, r.folder = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if _, err := path.Match(strings.ReplaceAll(line, "**", "*"), ""); err != nil || line == "" {
		return rule{}, false // git takes no notice of it either
	}
	text := pattern(line)
	if !anchored {
		text = "(?:.*/)?" + text
	}
	matches, err := regexp.Compile("^" + text + "$")
	r.matches = matches
	return r, err == nil
}

// pattern is a line of an ignore file as a regular expression.
func pattern(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(rest, "/**") && len(rest) == 3:
			b.WriteString("/.+")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			class := rest[1:end]
			if class != "" && class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += end
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String()
}
