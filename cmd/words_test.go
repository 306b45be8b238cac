package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWarningsArePlain: every warning of the command goes through the one function that says errors plainly and escapes what a terminal
// obeys. No other text begins with the word.
func TestWarningsArePlain(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "internal/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	warns := 0
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "Warn" || n.Sel.Name == "Warning" {
					warns++
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.HasPrefix(text, "warning:") {
					t.Errorf("%s: %q is to be written by Terminal.Warn", file, text)
				}
			}
			return true
		})
	}
	if warns < 10 {
		t.Errorf("%d warnings were found", warns)
	}
}
