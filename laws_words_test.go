package athanor_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// privateWords are words of athanor's own dialect, which nobody outside can search for, with the word of the field.
var privateWords = []struct {
	form *regexp.Regexp
	use  string
}{
	{regexp.MustCompile(`(?i)\b(on record|recorded|(?:lost|without|without a|without the) record)\b`), "state, in state, written to state"},
	{regexp.MustCompile(`(?i)\bthings?\b`), "resource (what is declared) or object (what exists)"},
	{regexp.MustCompile(`(?i)\b(un)?mark(s|ed)?\b`), "owner tag"},
	{regexp.MustCompile(`(?i)\bsettle[sd]?\b`), "reconcile, become as declared"},
	{regexp.MustCompile(`(?i)\bthe world\b`), "the cloud, outside athanor"},
	{regexp.MustCompile(`(?i)\bgone\b`), "deleted, missing"},
	{regexp.MustCompile(`(?i)\blawful\b`), "valid"},
	{regexp.MustCompile(`(?i)\b(whoever|how-manieth|lets? go)\b`), "a plain subject, number, retain"},
}

// privateWord returns the first word of the dialect in a text, with what to say in its place.
func privateWord(text string) (word, use string) {
	for _, w := range privateWords {
		if found := w.form.FindString(text); found != "" {
			return found, w.use
		}
	}
	return "", ""
}

// wordLaw: messages and help are in the words of the field. Text with a space in it is meant for people.
func wordLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.test() || s.harness() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			if word, use := privateWord(text); word != "" {
				out = append(out, breach{s.path, fmt.Sprintf("%s says %q: say %s", s.at(n), word, use)})
			}
			return true
		})
	}
	return out
}

// userDirs begin the directories of the packages that a program imports. What they say of props is also what `athanor kinds` and the
// pages of kinds print.
var userDirs = []string{"asset", "providers", "reconcile/kind", "reconcile/props"}

// docLaw: the comments of what users import are in the words of the field. A comment may begin with the name that it explains.
func docLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		dir := s.dir()
		imported := dir == "." || slices.ContainsFunc(userDirs, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") })
		if !imported || s.test() || s.harness() || s.generated() || strings.Contains(dir, "internal") {
			continue
		}
		check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
			if doc == nil || len(names) > 0 && len(exported(names)) == 0 {
				return
			}
			text := doc.Text()
			for _, name := range names {
				text = strings.TrimPrefix(text, name.Name+" ")
			}
			if word, use := privateWord(code.ReplaceAllString(docLink.ReplaceAllString(text, ""), "")); word != "" {
				out = append(out, breach{s.path, fmt.Sprintf("%s says %q: say %s", s.at(doc), word, use)})
			}
		}
		check(s.ast.Doc)
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if exportedReceiver(d) {
					check(d.Doc, d.Name)
				}
				return false
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch sp := spec.(type) {
					case *ast.TypeSpec:
						check(cmp.Or(sp.Doc, d.Doc), sp.Name)
						return sp.Name.IsExported()
					case *ast.ValueSpec:
						check(cmp.Or(sp.Doc, d.Doc), sp.Names...)
					}
				}
			case *ast.Field:
				check(d.Doc, d.Names...)
			}
			return true
		})
	}
	return out
}

// docLink is a name in a comment that leads to its own.
var docLink = regexp.MustCompile(`\[[A-Za-z.]+\]`)

// code is what a page shows and does not say: fenced blocks, inline code and the targets of links.
var code = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\]\\([^)]*\\)")

// pageBreaches are the words of the dialect in a page.
func pageBreaches(path, page string) []breach {
	prose := code.ReplaceAllStringFunc(page, func(shown string) string { return strings.Repeat("\n", strings.Count(shown, "\n")) })
	var out []breach
	for i, line := range strings.Split(prose, "\n") {
		if word, use := privateWord(line); word != "" {
			out = append(out, breach{path, fmt.Sprintf("%s:%d says %q: say %s", path, i+1, word, use)})
		}
	}
	return out
}

// TestPagesAreInPlainWords holds the documentation to the words of the field.
func TestPagesAreInPlainWords(t *testing.T) {
	pages := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md", "bench/README.md", "examples/*/README.md", "ci/*/*.md"} {
		paths, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, b := range pageBreaches(path, string(page)) {
				t.Error(b)
			}
		}
	}
	if pages < 10 {
		t.Errorf("found %d pages: the laws must be read at the root of the repository", pages)
	}
}

func TestDocLaw(t *testing.T) {
	const text = "// Package aws is a thing.\npackage aws\n\n" +
		"// Mark is the owner tag, see [Marked].\ntype Mark struct {\n\t// Name marks it.\n\tName string\n\t// own things.\n\town int\n}\n\n" +
		"// Gone is `gone`, whoever asks.\nfunc Gone() {}\n\n// hidden is gone.\nfunc hidden() {}\n"
	expect(t, docLaw(read(t, "providers/aws/x.go", text)), `says "thing"`, `says "marks"`, `says "whoever"`)
	expect(t, docLaw(read(t, "engine/x.go", text)))
	expect(t, docLaw(read(t, "providers/aws/internal/x/x.go", text)))
}

func TestWordLaw(t *testing.T) {
	tests := []struct{ literal, want string }{
		{`"the thing is there"`, `says "thing"`},
		{`"nothing is on record"`, `says "on record"`},
		{"`a file\nis gone`", `says "gone"`},
		{`"thing:jar"`, ""},
		{`"something and nothing remarkable, marketed"`, ""},
		{`"a record of type A"`, ""},
	}
	for _, tt := range tests {
		tree := read(t, "engine/x.go", "package engine\n\nvar x = "+tt.literal+"\n")
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		expect(t, wordLaw(tree), want...)
	}
	page := "Plain words.\n\n```\na thing\n```\nIt is `gone`, see [this](marked.md).\nThe world ends.\n"
	expect(t, pageBreaches("docs/x.md", page), `docs/x.md:7 says "The world"`)
}
