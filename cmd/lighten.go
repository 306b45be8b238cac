package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/cmd/stackprogram"
)

// light are the names of this package that package stackprogram has too.
var light = []string{"Main", "Option", "Stack"}

// lightened are the sources of a program that import this package, by their paths, with package stackprogram in its place:
// their lines stay where they are. It reports false for a program that needs this package, or does not import it.
func lightened(dir string) (map[string][]byte, bool) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go")) // no pattern is in the name, or nothing is found
	sources := map[string][]byte{}
	for _, file := range paths {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, false
		}
		with, uses, ok := lightenedFile(file, text)
		if !ok {
			return nil, false
		}
		if uses {
			sources[file] = with
		}
	}
	return sources, len(sources) > 0
}

// lightenedFile is a source with the import replaced. Uses: it imports this package; it is not ok if it needs more of it.
func lightenedFile(name string, text []byte) (with []byte, uses, ok bool) {
	ours := reflect.TypeFor[Option]().PkgPath()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, false, false
	}
	at := slices.IndexFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(ours) })
	if at < 0 {
		return nil, false, true
	}
	spec := file.Imports[at]
	alias := path.Base(ours)
	if spec.Name != nil {
		alias = spec.Name.Name
	}
	if !usesOnly(file, alias) {
		return nil, false, false
	}
	from, to := files.Position(spec.Pos()).Offset, files.Position(spec.End()).Offset
	instead := alias + " " + strconv.Quote(reflect.TypeFor[stackprogram.Option]().PkgPath())
	return slices.Concat(text[:from], []byte(instead), text[to:]), true, true
}

// usesOnly reports whether a file uses of this package only what is light. A variable of its name counts as the package.
func usesOnly(file *ast.File, alias string) bool {
	only := alias != "." && alias != "_"
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == alias && !slices.Contains(light, s.Sel.Name) {
				only = false
			}
		}
		return only
	})
	return only
}
