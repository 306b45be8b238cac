package athanor_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

const shortestComment = 60 // bytes; less cannot say what a package knows and what it does not

// packageCommentLaw: every package has exactly one comment, and it is one of substance.
func packageCommentLaw(tree []source) []breach {
	comments := map[string][]source{}
	for _, s := range tree {
		if s.test() {
			continue
		}
		dir := s.dir()
		if _, ok := comments[dir]; !ok {
			comments[dir] = nil
		}
		if s.ast.Doc != nil {
			comments[dir] = append(comments[dir], s)
		}
	}
	var out []breach
	for dir, with := range comments {
		switch {
		case len(with) == 0:
			out = append(out, breach{dir, dir + ": no package comment: say what the package knows and what it does not know"})
		case len(with) > 1:
			out = append(out, breach{dir, fmt.Sprintf("%s: %d package comments (%s, %s): keep one", dir, len(with), with[0].path, with[1].path)})
		case len(with[0].ast.Doc.Text()) < shortestComment && !with[0].main():
			out = append(out, breach{dir, with[0].path + ": the package comment says too little: what does the package know, and what not?"})
		}
	}
	slices.SortFunc(out, func(a, b breach) int { return strings.Compare(a.text, b.text) })
	return out
}

// exportedCommentLaw: what others may name is explained where it is declared.
func exportedCommentLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.test() || s.main() || s.generated() {
			continue
		}
		for _, decl := range s.ast.Decls {
			for _, id := range undocumented(decl) {
				out = append(out, breach{s.path, fmt.Sprintf("%s: exported %s has no comment", s.at(id), id.Name)})
			}
		}
	}
	return out
}

// undocumented gives the exported names of a declaration that no comment explains. A comment over a group
// of constants or variables explains them all; types and functions need their own.
func undocumented(decl ast.Decl) []*ast.Ident {
	var bare []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && !selfEvident(d) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch sp := spec.(type) {
			case *ast.TypeSpec:
				if sp.Name.IsExported() && sp.Doc == nil && (d.Lparen.IsValid() || d.Doc == nil) {
					bare = append(bare, sp.Name)
				}
			case *ast.ValueSpec:
				if sp.Doc == nil && sp.Comment == nil && d.Doc == nil {
					bare = append(bare, exported(sp.Names)...)
				}
			}
		}
	}
	return bare
}

func exported(names []*ast.Ident) []*ast.Ident {
	return slices.DeleteFunc(slices.Clone(names), func(id *ast.Ident) bool { return !id.IsExported() })
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	name := receiver(d.Recv.List[0].Type)
	return name == "" || ast.IsExported(name)
}

// selfEvident methods are those whose meaning the standard library's interfaces fix.
func selfEvident(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "Unwrap", "Is", "As", "String", "GoString", "LogValue",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText":
		return true
	}
	return false
}

// quietLaw: libraries return errors and emit events; who prints, logs, waits or exits is the command.
func quietLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.test() || s.main() || roomOf(s.dir()) == "cmd" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			name := s.called(n)
			if loud(name) {
				out = append(out, breach{s.path, fmt.Sprintf("%s calls %s: return an error or emit an event; waiting "+
					"is a timer with a context", s.at(n), name)})
			}
			if id, ok := builtinPrint(n); ok {
				out = append(out, breach{s.path, fmt.Sprintf("%s calls the builtin %s", s.at(n), id)})
			}
			return true
		})
	}
	return out
}

// durationLaw: what people write is read by token.ParseDuration, which takes days.
func durationLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.test() || s.harness() || roomOf(s.dir()) == "tools" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if s.called(n) == "time.ParseDuration" {
				out = append(out, breach{s.path + ":durations", s.at(n) + " calls time.ParseDuration: token.ParseDuration takes days too, as everywhere"})
			}
			return true
		})
	}
	return out
}

// waitLaw: a run waits through reconcile.Wait alone, which an interrupt ends. Timers elsewhere are excused by name. Commands
// draw and watch files beside runs, and harnesses wait for what they start.
func waitLaw(tree []source) []breach {
	timers := []string{"time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "time.Sleep"}
	var out []breach
	for _, s := range tree {
		if s.test() || s.harness() || s.main() || roomOf(s.dir()) == "cmd" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if name := s.called(n); slices.Contains(timers, name) {
				out = append(out, breach{s.path + ":waits", fmt.Sprintf("%s calls %s: wait through reconcile.Wait, which an interrupt ends", s.at(n), name)})
			}
			return true
		})
	}
	return out
}

func loud(name string) bool {
	switch name {
	case "time.Sleep", "os.Exit", "fmt.Print", "fmt.Println", "fmt.Printf":
		return true
	}
	fn, ok := strings.CutPrefix(name, "log/slog.")
	if !ok {
		fn, ok = strings.CutPrefix(name, "log.")
	}
	return ok && !strings.HasPrefix(fn, "New") // a logger of one's own, for those who ask for one, says nothing by itself
}

func builtinPrint(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, id.Name == "println" || id.Name == "print"
}

// errorTextLaw: an error is told apart by errors.Is or errors.As, never by its words.
func errorTextLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.test() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if s.readsErrorText(n) {
				out = append(out, breach{s.path, s.at(n) + " looks into the text of an error: use errors.Is, errors.As or a code"})
			}
			return true
		})
	}
	return out
}

// reportLaw: a goroutine that reports to a test is started with sync.WaitGroup.Go, and so has somebody who waits for it. One that a test
// does not wait for may be cancelled at its last call by the end of the test, which then fails for nothing, or reports to nobody.
func reportLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if !s.test() && !s.harness() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			start, ok := n.(*ast.GoStmt)
			if !ok {
				return true
			}
			ast.Inspect(start.Call, func(n ast.Node) bool {
				if s.reportsToTest(n) {
					out = append(out, breach{s.path, s.at(n) + " reports to a test from a goroutine that nobody waits for: start it with sync.WaitGroup.Go"})
				}
				return true
			})
			return true
		})
	}
	return out
}

// reportsToTest recognises a call of a test's method, by the names that tests and fixtures have.
func (s source) reportsToTest(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Error", "Errorf", "Log", "Logf", "Fatal", "Fatalf"}, sel.Sel.Name) {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "tb", "f"}, x.Name)
}

func (s source) readsErrorText(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		// Two texts against each other are how the same line is not printed twice.
		return (x.Op == token.EQL || x.Op == token.NEQ) && errorText(x.X) != errorText(x.Y)
	case *ast.CallExpr:
		pkg, fn := path.Split(strings.ReplaceAll(s.called(x), ".", "/"))
		searches := slices.Contains([]string{
			"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Index", "EqualFold",
			"Cut", "CutPrefix", "CutSuffix", "Split",
		}, fn)
		return pkg == "strings/" && searches && slices.ContainsFunc(x.Args, errorText)
	}
	return false
}

// errorText recognises x.Error().
func errorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error"
}

// clockLaw: a test is not held to how fast the machine is. Outside of bench, how long something took may be bounded from above within
// synctest alone, whose time passes for those who wait for it. A function is within where it calls synctest.Test, or one that does, or
// is called by one.
func clockLaw(tree []source) []breach {
	var out []breach
	dirs := map[string][]source{}
	for _, s := range tree {
		if first, _, _ := strings.Cut(s.path, "/"); s.test() && first != "bench" {
			dirs[s.dir()] = append(dirs[s.dir()], s)
		}
	}
	for _, files := range dirs {
		within := bubbled(files)
		for _, s := range files {
			for _, decl := range s.ast.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil || within[f.Name.Name] {
					continue
				}
				for _, n := range boundsOnTime(s, f) {
					out = append(out, breach{s.path + ":clock", fmt.Sprintf("%s: %s fails on a slow machine: let time pass in synctest.Test", s.at(n), f.Name.Name)})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b breach) int { return strings.Compare(a.text, b.text) })
	return out
}

// bubbled are the names of the functions of a package's tests that run within synctest.
func bubbled(files []source) map[string]bool {
	calls, within := map[string]map[string]bool{}, map[string]bool{}
	for _, s := range files {
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			named := map[string]bool{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					named[n.Sel.Name] = true
					if s.named(n.X) == "testing/synctest" {
						within[f.Name.Name] = true
					}
				case *ast.Ident:
					named[n.Name] = true
				}
				return true
			})
			calls[f.Name.Name] = named
		}
	}
	spread := func(of func(caller, called string) (from, to string)) {
		for grown := true; grown; {
			grown = false
			for caller, named := range calls {
				for called := range calls {
					if from, to := of(caller, called); named[called] && within[from] && !within[to] {
						within[to], grown = true, true
					}
				}
			}
		}
	}
	spread(func(caller, called string) (string, string) { return called, caller }) // it hands a function over
	spread(func(caller, called string) (string, string) { return caller, called })
	return within
}

// boundsOnTime are the comparisons of a function that hold where something was fast enough.
func boundsOnTime(s source, f *ast.FuncDecl) []ast.Node {
	since := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Since" && s.named(sel.X) == "time"
	}
	took := map[string]bool{}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, e := range a.Rhs {
				if id, named := a.Lhs[i].(*ast.Ident); named && since(e) {
					took[id.Name] = true
				}
			}
		}
		return true
	})
	var out []ast.Node
	ast.Inspect(f.Body, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok {
			return true
		}
		passed := func(e ast.Expr) bool {
			id, named := e.(*ast.Ident)
			return since(e) || named && took[id.Name]
		}
		switch b.Op {
		case token.GTR, token.GEQ, token.EQL, token.NEQ:
			ok = passed(b.X)
		case token.LSS, token.LEQ:
			ok = passed(b.Y)
		default:
			ok = false
		}
		if ok {
			out = append(out, b)
		}
		return true
	})
	return out
}
