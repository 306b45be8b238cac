package athanor_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// size is how large a type is: its methods, and its fields, an embedded one being one. Types without methods are documents.
type size struct{ methods, fields int }

// largest is what the largest types of a folder have, or of all that is below one of the root, where one object had grown to hold
// everything. These numbers may only fall: a type that would grow is taken apart instead. `task sizes` shows all types.
var largest = map[string]size{
	"engine": {25, 22}, "cmd/internal/loader": {32, 10}, "cmd/internal/session": {36, 21}, "cmd/internal/terminal": {35, 15},
}

// sizeLaw: the largest types of the listed folders do not grow.
func sizeLaw(tree []source, most map[string]size) []breach {
	var out []breach
	for _, t := range sizes(tree) {
		allowed, ok := most[t.dir]
		if !ok {
			allowed, ok = most[t.folder]
		}
		if !ok || t.methods <= allowed.methods && t.fields <= allowed.fields {
			continue
		}
		out = append(out, breach{t.name, fmt.Sprintf("%s has %d methods and %d fields; the largest types of %s have %d and %d: take it apart",
			t.name, t.methods, t.fields, t.dir, allowed.methods, allowed.fields)})
	}
	return out
}

// sized is one type.
type sized struct {
	dir, folder, name string
	size
}

// sizes measures the types that have methods.
func sizes(tree []source) []sized {
	all := map[string]*sized{}
	of := func(s source, name string) *sized {
		folder, _, _ := strings.Cut(s.dir(), "/")
		id := s.dir() + "." + name
		if all[id] == nil {
			all[id] = &sized{dir: s.dir(), folder: folder, name: id}
		}
		return all[id]
	}
	for _, s := range tree {
		if s.test() || s.generated() || s.harness() {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					of(s, receiver(d.Recv.List[0].Type)).methods++
				}
			case *ast.GenDecl:
				if d.Tok == token.TYPE {
					for _, spec := range d.Specs {
						t, _ := spec.(*ast.TypeSpec)
						of(s, t.Name.Name).fields = fields(t.Type)
					}
				}
			}
		}
	}
	var out []sized
	for _, t := range all {
		if t.methods > 0 {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b sized) int { return strings.Compare(a.name, b.name) })
	return out
}

// receiver is the name of a receiver's type, "" where it has none.
func receiver(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func fields(t ast.Expr) int {
	s, ok := t.(*ast.StructType)
	if !ok {
		return 0
	}
	n := 0
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// TestSizeLaw proves that the law can fail.
func TestSizeLaw(t *testing.T) {
	tree := read(t,
		"engine/a.go", "package engine\n\ntype small struct{ a, b int }\n\nfunc (small) one() {}\n\ntype document struct{ a, b, c, d int }\n",
		"engine/part/b.go", "package part\n\ntype large[T any] struct {\n\tsmall\n\ta, b T\n}\n\nfunc (l *large[T]) one() {}\nfunc (l *large[T]) two() {}\n",
		"engine/part/b_test.go", "package part\n\ntype inTests struct{ a, b, c, d int }\n\nfunc (inTests) one() {}\n",
	)
	for _, c := range []struct {
		most size
		want []string
	}{
		{size{2, 3}, nil},
		{size{1, 3}, []string{"engine/part.large has 2 methods and 3 fields"}},
		{size{2, 2}, []string{"engine/part.large has 2 methods and 3 fields"}},
		{size{2, 1}, []string{"engine.small has 1 methods", "engine/part.large has 2 methods"}},
	} {
		expect(t, sizeLaw(tree, map[string]size{"engine": c.most}), c.want...)
	}
}
