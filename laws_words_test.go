package athanor_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"regexp"
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

// commentLaw: comments, and the names of tests, are in the words of the field. Identifiers keep their names: a
// capitalised one anywhere, any other where a comment begins with it. Where code is tested, "the world" is what a test
// made, and calls are recorded.
func commentLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		if s.generated() || strings.HasSuffix(s.path, ".pb.go") {
			continue
		}
		used := map[string]bool{}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
		say := func(n ast.Node, text string) {
			if s.test() || s.harness() {
				text = ofTests.ReplaceAllString(text, "")
			}
			if word, use := privateWord(text); word != "" {
				out = append(out, breach{s.path, fmt.Sprintf("%s says %q: say %s", s.at(n), word, use)})
			}
		}
		for _, group := range s.ast.Comments {
			say(group, prose(group, used))
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test() && testName.MatchString(f.Name.Name) {
				say(f, strings.ToLower(camel.ReplaceAllString(f.Name.Name, "$1 $2")))
			}
		}
	}
	return out
}

var (
	ofTests  = regexp.MustCompile(`(?i)\b(the world|recorded)\b`)
	testName = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)[A-Z]`)
	camel    = regexp.MustCompile(`([a-z])([A-Z])`)
	word     = regexp.MustCompile(`\b[A-Za-z]+\b`)
	quoted   = regexp.MustCompile(`"[^"]{0,80}"`)
)

// prose is what a comment says, without code, quotations and identifiers that its file uses.
func prose(group *ast.CommentGroup, used map[string]bool) string {
	var lines []string
	for _, c := range group.List {
		lines = append(lines, strings.Trim(c.Text, "/* "))
	}
	text := code.ReplaceAllString(docLink.ReplaceAllString(strings.Join(lines, " "), ""), "")
	first := true
	return word.ReplaceAllStringFunc(quoted.ReplaceAllString(text, ""), func(w string) string {
		isName := used[w] && (first || token.IsExported(w))
		first = false
		if isName {
			return ""
		}
		return w
	})
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

// TestScriptsAreInPlainWords holds the comments of the command's scripts, of the tools and of the recipes to the words of the field.
func TestScriptsAreInPlainWords(t *testing.T) {
	code, scripts := regexp.MustCompile(`(?m)^[ \t]*[^# \t\n].*$`), 0
	for _, pattern := range []string{"cmd/athanor/testdata/script/*.txtar", "tools/*.sh", "install.sh", "Taskfile.yml", ".ci/*", "ci/*/*.yml", "ci/*/*/*.yml", "ci/*/*/*/*.yml"} {
		paths, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			scripts++
			for _, b := range pageBreaches(path, code.ReplaceAllString(string(text), "")) {
				t.Error(b)
			}
		}
	}
	if scripts < 40 {
		t.Errorf("found %d scripts: the laws must be read at the root of the repository", scripts)
	}
}

func TestCommentLaw(t *testing.T) {
	const text = "// Package aws is a thing.\npackage aws\n\n" +
		"// Mark is the owner tag, see [Marked] and Mark.\ntype Mark struct {\n\t// Name marks it.\n\tName string\n\t// own things.\n\town int\n}\n\n" +
		"// Gone is `gone`, whoever asks.\nfunc Gone() {} // \"the world is gone\" is said\n\n// hidden is recorded.\nfunc hidden() {}\n"
	all := []string{`says "thing"`, `says "marks"`, `says "things"`, `says "whoever"`}
	expect(t, commentLaw(read(t, "providers/aws/x.go", text)), append(all, `says "recorded"`)...)
	expect(t, commentLaw(read(t, "providers/kindtest/x.go", text)), all...)
	expect(t, commentLaw(read(t, "providers/aws/x_test.go", "package aws\n\n// TestGone finds what is deleted.\nfunc TestZoneGone(t *testing.T) {}\n")), `says "gone"`)
	expect(t, commentLaw(read(t, "providers/aws/x_test.go", "package aws\n\n// The world ends.\nfunc TestZoneEnds(t *testing.T) {}\n")))
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
