package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// exampleFolder has a stack for each kind, as a function in Go and as a file. Its tests deploy them.
const exampleFolder = "examples/kinds"

// example is the stack of one kind in both languages.
type example struct {
	yaml string
	// code is the function that declares it, with the functions of the package that it calls.
	code string
}

// program is a function of the examples.
type program struct {
	text  string
	calls []string // names of functions of the package, in the order of their first call
}

// programs are the functions of the examples by name, and the names by kind.
type programs struct {
	functions map[string]program
	byKind    map[string]string
}

// programsOf reads the Go files of the examples.
func programsOf(root fs.FS) (*programs, error) {
	p := &programs{functions: map[string]program{}, byKind: map[string]string{}}
	names, err := fs.Glob(root, exampleFolder+"/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if err := p.add(set, file, f); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

// add takes a function, and from the list of examples which kind each is of.
func (p *programs) add(set *token.FileSet, file *ast.File, f *ast.FuncDecl) error {
	var out bytes.Buffer
	printed := &printer.CommentedNode{Node: f, Comments: file.Comments}
	if err := (&printer.Config{Mode: printer.TabIndent | printer.UseSpaces, Tabwidth: 8}).Fprint(&out, set, printed); err != nil {
		return err
	}
	one := program{text: out.String()}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.Ident); ok {
				one.calls = append(one.calls, called.Name)
			}
		case *ast.CompositeLit:
			if len(n.Elts) != 2 {
				break
			}
			kind, isKind := n.Elts[0].(*ast.BasicLit)
			function, isFunction := n.Elts[1].(*ast.Ident)
			if isKind && isFunction && f.Name.Name == "Examples" {
				if name, err := strconv.Unquote(kind.Value); err == nil {
					p.byKind[name] = function.Name
				}
			}
		}
		return true
	})
	p.functions[f.Name.Name] = one
	return nil
}

// exampleOf is the example of a kind. A kind without one is an error: its page would not show how it is used.
func exampleOf(root fs.FS, kind string, p *programs) (example, error) {
	text, err := fs.ReadFile(root, path.Join(exampleFolder, kind+".yaml"))
	if err != nil {
		return example{}, fmt.Errorf("%s has no example: %w", kind, err)
	}
	name, known := p.byKind[kind]
	if !known {
		return example{}, fmt.Errorf("%s has no example in Go", kind)
	}
	code, taken := p.functions[name].text, map[string]bool{name: true}
	for _, called := range p.functions[name].calls {
		if f, ok := p.functions[called]; ok && !taken[called] {
			code, taken[called] = code+"\n\n"+f.text, true
		}
	}
	return example{yaml: string(text), code: code}, nil
}

func (e example) write(out *strings.Builder) {
	if e.yaml == "" {
		return
	}
	fmt.Fprintf(out, "\n## Example\n\n```yaml\n%s```\n\n```go\n%s\n```\n", e.yaml, strings.TrimSuffix(e.code, "\n"))
}
