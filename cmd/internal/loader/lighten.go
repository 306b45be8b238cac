package loader

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

	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
)

// light are the names of package cmd that package stackprogram has too.
var light = []string{"Main", "Option", "Stack"}

// lightened are the sources of a program that import package cmd, by their paths, with package stackprogram in its place:
// their lines stay where they are. It reports false for a program that needs that package, or does not import it.
func lightened(dir string) (map[string][]byte, bool) {
	sources := map[string][]byte{}
	for _, file := range goFiles(dir) {
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

// goFiles are the Go files of a folder without its tests.
func goFiles(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go")) // no pattern is in the name, or nothing is found
	return slices.DeleteFunc(paths, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

// UsesKinds reports whether the program of a folder uses Kinds of package cmd, by that name or another.
func UsesKinds(dir string) bool {
	for _, path := range goFiles(dir) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler says it when the program is built
		}
		if spec, alias := commandPackage(file); spec != nil && slices.Contains(usedOf(file, alias), "Kinds") {
			return true
		}
	}
	return false
}

// callsMain reports whether a file of a folder calls Main of package cmd itself. A program may do so by another package too.
func callsMain(dir string) bool {
	for _, path := range goFiles(dir) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler says it when the program is built
		}
		if spec, alias := commandPackage(file); spec != nil && (alias == "." || slices.Contains(usedOf(file, alias), "Main")) {
			return true
		}
	}
	return false
}

// commandPackage is how a file imports package cmd, nil where it does not, and its name there.
func commandPackage(file *ast.File) (*ast.ImportSpec, string) {
	ours := gomodule.ModulePath() + "/cmd"
	at := slices.IndexFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(ours) })
	if at < 0 {
		return nil, ""
	}
	spec := file.Imports[at]
	if spec.Name != nil {
		return spec, spec.Name.Name
	}
	return spec, path.Base(ours)
}

// lightenedFile is a source with the import replaced. Uses: it imports package cmd; it is not ok if it needs more of it.
func lightenedFile(name string, text []byte) (with []byte, uses, ok bool) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, false, false
	}
	spec, alias := commandPackage(file)
	if spec == nil {
		return nil, false, true
	}
	if !usesOnly(file, alias) {
		return nil, false, false
	}
	from, to := files.Position(spec.Pos()).Offset, files.Position(spec.End()).Offset
	instead := alias + " " + strconv.Quote(reflect.TypeFor[stackprogram.Option]().PkgPath())
	return slices.Concat(text[:from], []byte(instead), text[to:]), true, true
}

// usesOnly reports whether a file uses of package cmd only what is light. A variable of its name counts as the package.
func usesOnly(file *ast.File, alias string) bool {
	return alias != "." && alias != "_" && !slices.ContainsFunc(usedOf(file, alias), func(name string) bool { return !slices.Contains(light, name) })
}

// usedOf are the names of a package that a file uses, by the name that the package has there.
func usedOf(file *ast.File, alias string) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == alias {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}
