package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers are the functions that assign the decision about an address, or a field of it that says what is done: which question
// each answers, see docs/decisions/who-decides.md. A question has one writer.
var writers = map[string]string{
	"Classifier.Begin":            "what is done to a declared resource: nothing yet, until classify has what was observed",
	"Classifier.classifySleeping": "classify: it lives in a dev session alone",
	"Classifier.classifyAbsent":   "classify: there is no object",
	"Classifier.classifyFound":    "classify: there is one that no entry has",
	"Classifier.classifyAdopted":  "classify: it is taken over",
	"Classifier.classifyLive":     "classify: there is the one in state",
	"Basis.compareRecord":         "classify: nothing was observed",
	"classifyMoved":               "classify: it is of another kind or in another location",
	"escalate":                    "classify: a path that nothing changes in place",
	"Classifier.request":          "classify: --replace",
	"Classifier.holdBack":         "classify: an upstream waits for somebody",

	"Believe":  "a declared resource that a narrow plan does not observe",
	"PassOver": "a declared resource that is not selected",

	"Leftovers.ClassifyLeftover": "what is done to an undeclared resource",
	"Leftovers.classifyRetained": "classifyLeftover: it is retained",
	"Leftovers.ClassifyDelete":   "classifyLeftover: it is there, and is to be deleted",

	"DeleteFirst.Spread": "whether a replacement deletes first, and is therefore certain",
	"Refusals.Block":     "that it cannot be planned: the last word on any of them",

	"Draft.planBeside": "an object that carries the owner tag of an address whose entry has another one",
	"moving.add":       "an entry that `state mv` moves",

	"Lines.All":   "none: the line in the document takes the place of an equal one",
	"Node.Amend":  "none: what a run has found beside it",
	"limit":       "what a plan document announces nothing for is left as it is",
	"planRemains": "an undeclared resource of which only condemned generations are left, each with a line of its own",
}

// TestEachDecisionHasOneWriter finds every assignment of a node's decision, of its action, and of whether that is certain or
// deletes first.
func TestEachDecisionHasOneWriter(t *testing.T) {
	var files []string
	for _, folder := range []string{".", "plan", "planner", "execute", "edit"} {
		inside, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(inside) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(inside), err)
		}
		files = append(files, inside...)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if a, ok := n.(*ast.AssignStmt); ok && slices.ContainsFunc(a.Lhs, decides) {
					found[functionName(f)] = true
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if writers[name] == "" {
			t.Errorf("%s assigns what is done to an address: let a pass that has the question do that, or name the question in writers", name)
		}
	}
	for name := range writers {
		if !found[name] {
			t.Errorf("%s assigns no decision any more", name)
		}
	}
}

// decides reports an expression that is the plan of a node, or the part of it that says what is done.
func decides(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if s.Sel.Name == "Plan" {
		v, ok := s.X.(*ast.Ident)
		return ok && v.Name == "n"
	}
	inner, ok := s.X.(*ast.SelectorExpr)
	return ok && inner.Sel.Name == "Plan" && slices.Contains([]string{"Action", "May", "DeleteFirst"}, s.Sel.Name)
}

// functionName is the name of a function, behind that of its receiver's type.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name + "." + f.Name.Name
}
