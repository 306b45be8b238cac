package athanor_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// stateLaw: a library keeps nothing between calls in package variables. What remains are values made once
// and never changed, known by their shape.
func stateLaw(tree []source) []breach {
	written := writtenNames(tree)
	var out []breach
	for _, s := range tree {
		if s.test() || s.main() || s.generated() {
			continue
		}
		for _, decl := range s.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				out = append(out, s.mutable(d, spec.(*ast.ValueSpec), written[s.dir()])...)
			}
		}
	}
	return out
}

func (s source) mutable(d *ast.GenDecl, spec *ast.ValueSpec, written map[string]bool) []breach {
	if embedded(d, spec) {
		return nil
	}
	var out []breach
	for i, id := range spec.Names {
		if id.Name == "_" || i < len(spec.Values) && s.constant(id.Name, spec.Values[i]) {
			continue
		}
		if i < len(spec.Values) && !id.IsExported() && table(spec.Values[i]) && !written[id.Name] {
			continue
		}
		key := s.dir() + "." + id.Name
		out = append(out, breach{key, fmt.Sprintf("%s: package variable %s: pass it, or make it a function, a constant, "+
			"a sentinel error, a compiled pattern, an embedded file, a table that nothing writes or a kind", s.at(id), id.Name)})
	}
	return out
}

func embedded(d *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// constant says whether a variable's initial value has the shape of something that nobody changes.
func (s source) constant(name string, value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.UnaryExpr:
		return v.Op == token.AND && s.constant(name, v.X)
	case *ast.CompositeLit:
		return s.kindType(v.Type)
	case *ast.CallExpr:
		return s.madeOnce(name, v) || !ast.IsExported(name) && (literalBytes(v) || s.attributeTable(v))
	case *ast.SelectorExpr: // a sentinel error of another of our packages, under its own name
		return strings.HasPrefix(name, "Err") && v.Sel.Name == name && strings.HasPrefix(s.named(v.X), module+"/")
	}
	return false
}

// kindType recognises the kinds of reconcile/kind.
func (s source) kindType(typ ast.Expr) bool {
	list, ok := typ.(*ast.IndexListExpr)
	if !ok {
		return false
	}
	t, ok := list.X.(*ast.SelectorExpr)
	return ok && s.named(t.X) == contract && (t.Sel.Name == "Kind" || t.Sel.Name == "StateKind")
}

// contract is the package with the contract of a kind.
const contract = module + "/reconcile/kind"

// attributeTable recognises kind.TableOf[P](…) and kind.TableOf[P](…).For(…).
func (s source) attributeTable(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.IndexExpr:
		sel, ok := fun.X.(*ast.SelectorExpr)
		return ok && s.named(sel.X) == contract && sel.Sel.Name == "TableOf"
	case *ast.SelectorExpr:
		of, ok := fun.X.(*ast.CallExpr)
		return ok && fun.Sel.Name == "For" && s.attributeTable(of)
	}
	return false
}

// madeOnce recognises constructors of values without methods that change them.
func (s source) madeOnce(name string, call *ast.CallExpr) bool {
	lower := strings.ToLower(name)
	switch fn := s.called(call); fn {
	case "errors.New", "fmt.Errorf":
		return strings.HasPrefix(lower, "err")
	case "regexp.MustCompile", "strings.NewReplacer", "encoding/base32.NewEncoding", "encoding/base64.NewEncoding":
		return true
	case "text/template.Must", "html/template.Must":
		return true
	case "sync.OnceValue", module + "/reconcile/props.Pattern", module + "/reconcile/rest.Kind": // a table or a pattern that is computed when first asked for, a kind
		return !ast.IsExported(name)
	}
	switch fun := call.Fun.(type) {
	case *ast.IndexExpr: // reflect.TypeFor[T]()
		sel, ok := fun.X.(*ast.SelectorExpr)
		return ok && s.named(sel.X) == "reflect" && sel.Sel.Name == "TypeFor"
	case *ast.SelectorExpr: // base32.NewEncoding(…).WithPadding(…), base64.StdEncoding.Strict()
		switch x := fun.X.(type) {
		case *ast.CallExpr:
			return strings.HasPrefix(path.Base(s.called(x)), "base") && s.madeOnce(name, x)
		case *ast.SelectorExpr:
			return strings.HasPrefix(s.named(x.X), "encoding/base")
		}
	}
	return false
}

// table recognises a filled array, slice or map.
func table(value ast.Expr) bool {
	lit, ok := value.(*ast.CompositeLit)
	if !ok || len(lit.Elts) == 0 {
		return false
	}
	switch lit.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// writtenNames lists, per directory, what some function assigns to, takes the address of, or hands to a
// builtin that writes. A local variable of the same name counts too: the law would rather ask for another
// name than miss a write.
func writtenNames(tree []source) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, s := range tree {
		if out[s.dir()] == nil {
			out[s.dir()] = map[string]bool{}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			for _, e := range targets(n) {
				if name := rootOf(e); name != "" {
					out[s.dir()][name] = true
				}
			}
			return true
		})
	}
	return out
}

func targets(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			return x.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{x.X}
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return []ast.Expr{x.X}
		}
	case *ast.CallExpr:
		fun, ok := x.Fun.(*ast.Ident)
		if ok && (fun.Name == "delete" || fun.Name == "clear" || fun.Name == "copy") && len(x.Args) > 0 {
			return x.Args[:1]
		}
	}
	return nil
}

// rootOf gives a of a, a[i], a.b[i].c, *a and a[1:].
func rootOf(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// literalBytes recognises []byte("…"): a key that no string constant can be for want of the type.
func literalBytes(call *ast.CallExpr) bool {
	arr, ok := call.Fun.(*ast.ArrayType)
	if !ok || arr.Len != nil || len(call.Args) != 1 {
		return false
	}
	elem, ok := arr.Elt.(*ast.Ident)
	_, lit := call.Args[0].(*ast.BasicLit)
	return ok && lit && elem.Name == "byte"
}
