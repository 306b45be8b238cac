package asset

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// goTree follows the sources of a program in Go from file to file as the go command does, within the bounds of a context,
// so that nothing outside of them is opened by that command: it follows links, and says in its errors what it read.
type goTree struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one walk
	root    string
	modules map[string]string // folders of modules by their paths
	seen    map[string]bool
}

// longestSource bounds a file of Go.
const longestSource = 32 << 20

// checkGo reports a file outside of what the stack may read that building a package would open.
func checkGo(ctx context.Context, dir, target string) error {
	bounds, bounded := localfile.BoundsOf(ctx)
	if !bounded {
		return nil
	}
	root, err := localfile.Real(bounds.Root)
	if err != nil {
		return err
	}
	if dir, err = localfile.Real(dir); err != nil {
		return err
	}
	t := &goTree{ctx: ctx, root: root, modules: map[string]string{}, seen: map[string]bool{}}
	for at := dir; ; at = filepath.Dir(at) {
		if err := t.module(at, true); err != nil {
			return err
		}
		if at == filepath.Dir(at) || !localfile.Within(root, filepath.Dir(at)) {
			break
		}
	}
	if target == "." {
		return t.folder(dir)
	}
	return t.imported(target)
}

// read reads a file that may be missing.
func (t *goTree) read(path string) ([]byte, error) {
	data, err := localfile.ReadAtMost(t.ctx, path, longestSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// module reads what says in a folder which modules there are. Only the module that is built, and a workspace, replace
// others.
func (t *goTree) module(dir string, main bool) error {
	if t.seen["module "+dir] {
		return nil
	}
	t.seen["module "+dir] = true
	for _, name := range []string{"go.sum", "go.work.sum", "vendor/modules.txt"} {
		if _, err := t.read(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.work"} {
		data, err := t.read(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, d := range directives(data) {
			if err := t.directive(dir, d, main); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *goTree) directive(dir string, words []string, main bool) error {
	at := slices.Index(words, "=>")
	switch {
	case words[0] == "module" && len(words) > 1:
		t.modules[words[1]] = dir
	case words[0] == "use" && len(words) > 1:
		return t.module(t.beside(dir, words[1]), true)
	case words[0] == "replace" && main && at > 1 && at+1 < len(words) && isFolderName(words[at+1]):
		to := t.beside(dir, words[at+1])
		if err := t.module(to, false); err != nil {
			return err
		}
		t.modules[words[1]] = to
	}
	return nil
}

func (t *goTree) beside(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func isFolderName(name string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return first == "." || first == ".." || filepath.IsAbs(filepath.FromSlash(name))
}

// directives are the lines of a go.mod or a go.work as words, those of a block with its name before them.
func directives(data []byte) [][]string {
	var all [][]string
	block := ""
	for line := range strings.SplitSeq(string(data), "\n") {
		words := lineWords(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case block != "":
			all = append(all, append([]string{block}, words...))
		case len(words) > 1 && words[1] == "(":
			block = words[0]
		default:
			all = append(all, words)
		}
	}
	return all
}

// lineWords are the words of a line, without quotes and comments.
func lineWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r,")
		if line == "" || strings.HasPrefix(line, "//") {
			return words
		}
		n := strings.IndexAny(line, " \t\r,()")
		switch quoted, err := strconv.QuotedPrefix(line); {
		case err == nil:
			text, _ := strconv.Unquote(quoted) // a prefix that is quoted
			words, line = append(words, text), line[len(quoted):]
			continue
		case n < 0:
			n = len(line)
		case n == 0:
			n = 1
		}
		if comment := strings.Index(line[:n], "//"); comment >= 0 {
			n = comment
		}
		words, line = append(words, line[:n]), line[n:]
	}
}

// imported follows the import of a package that lies in one of the modules.
func (t *goTree) imported(path string) error {
	for module, dir := range t.modules {
		rest, inside := strings.CutPrefix(path, module)
		if inside && (rest == "" || rest[0] == '/') {
			if err := t.folder(filepath.Join(dir, filepath.FromSlash(rest))); err != nil {
				return err
			}
		}
		if err := t.folder(filepath.Join(dir, "vendor", filepath.FromSlash(path))); err != nil {
			return err
		}
	}
	return nil
}

// folder follows the files of a package.
func (t *goTree) folder(dir string) error {
	if t.seen[dir] {
		return nil
	}
	t.seen[dir] = true
	entries, err := localfile.ReadDir(t.ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, localfile.ErrNotFile) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch ext := filepath.Ext(path); {
		case entry.IsDir():
		case ext == ".go":
			err = t.source(path)
		case ext == ".s" || ext == ".S" || ext == ".h":
			err = t.assembly(path)
		case !entry.Type().IsRegular() && slices.Contains([]string{".syso", ".pgo", ".c", ".sx"}, ext):
			err = localfile.Check(t.ctx, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *goTree) source(path string) error {
	data, err := t.read(path)
	if err != nil {
		return err
	}
	file, _ := parser.ParseFile(token.NewFileSet(), path, data, parser.ImportsOnly) // what is wrong with it the compiler says
	if file == nil {
		return nil
	}
	for _, spec := range file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			if err := t.imported(name); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	including = regexp.MustCompile(`(?s)#(?:\s|/\*.*?\*/)*include\b`)
	included  = regexp.MustCompile("(?s)#(?:\\s|/\\*.*?\\*/)*include(?:\\s|/\\*.*?\\*/)*" +
		"(\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`)")
)

// assembly follows what an assembly file includes: any file of the machine, of which the assembler's errors tell.
func (t *goTree) assembly(path string) error {
	if t.seen[path] {
		return nil
	}
	t.seen[path] = true
	data, err := t.read(path)
	if err != nil {
		return err
	}
	found := included.FindAllSubmatch(data, -1)
	if len(found) < len(including.FindAll(data, -1)) {
		return &PathError{path, "an #include that names no file"}
	}
	for _, m := range found {
		name, err := strconv.Unquote(string(m[1]))
		if err != nil {
			return &PathError{path, fmt.Sprintf("#include %s names no file", m[1])}
		}
		to := t.beside(filepath.Dir(path), name)
		if err := t.assembly(to); err != nil {
			return err
		}
	}
	return nil
}
