package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/docs"
)

// unseen are errors that no user meets, each with the reason.
var unseen = map[string]string{
	"an older value may be shown":                     "reads are repeated until it is not",
	"the row was changed by another writer":           "another writer is refused by its lease before",
	"the write has an invalid structure":              "a write of athanor itself would be wrong",
	"the batch is not the next one and not a replay":  "as above",
	"the journal is finished":                         "as above",
	"no such object":                                  "an answer of a bucket, and not the end of a command",
	"the object has not changed":                      "as above",
	"known only later":                                "a value in a plan, shown as known after",
	"absent":                                          "an answer of a read",
	"a write while looking":                           "a kind would be wrong, which its own tests find",
	"it cannot be moved to this kind":                 "said with the answer of the provider, which tells why",
	"the dev session has ended":                       "said by a process of a session that is over",
	"not ready":                                       "the call waits for its turn at the service once more",
	"want a duration of 106751d at most":              "said of a value, beside the place where it stands",
	"tracing a process needs Linux on amd64":          "of tests",
	"the sealed bytes are not those that were sealed": "of states that a service keeps for other tools, which say it in their words",
}

// source is what the repository's Go files say: the string literals of all, and the texts of exported errors.
type source struct {
	literals []string
	errors   []string
}

// readSource reads the packages whose messages reach a user.
func readSource(t *testing.T) (s source) {
	t.Helper()
	for _, room := range []string{"engine", "statestore", "reconcile", "adopt", "asset", "cmd", "service"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool { s.note(n); return true })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *source) note(n ast.Node) {
	switch x := n.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
			s.literals = append(s.literals, text)
		}
	case *ast.ValueSpec:
		for i, name := range x.Names {
			if !strings.HasPrefix(name.Name, "Err") || i >= len(x.Values) {
				continue
			}
			call, ok := x.Values[i].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				continue
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(lit.Value)
				s.errors = append(s.errors, text)
			}
		}
	}
}

var (
	blanks = regexp.MustCompile(`\s+`)
	holes  = regexp.MustCompile(`%[a-z]|…`)
	// exitCode is a constant of the exit codes.
	exitCode = regexp.MustCompile(`Exit[A-Z]\w* += (\d+)`)
)

// TestTroubleshooting: every exported error has an entry or a reason to have none, every entry is a message that athanor prints,
// and every exit code is explained.
func TestTroubleshooting(t *testing.T) {
	text, err := docs.Page("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	page := blanks.ReplaceAllString(strings.ToLower(text), " ")
	s := readSource(t)
	if len(s.errors) < 50 {
		t.Fatalf("%d exported errors were found", len(s.errors))
	}
	for _, message := range s.errors {
		first, _, _ := strings.Cut(message, ":")
		_, excused := unseen[message]
		if found := strings.Contains(page, strings.ToLower(first)); found == excused {
			t.Errorf("%q: on the page %t, excused %t", message, found, excused)
		}
	}
	for message := range unseen {
		if !slices.Contains(s.errors, message) {
			t.Errorf("%q is excused and no message", message)
		}
	}
	entries := 0
	for line := range strings.Lines(text) {
		heading, ok := strings.CutPrefix(strings.TrimSpace(line), "### ")
		if !ok {
			continue
		}
		entries++
		parts := holes.Split(strings.Trim(heading, "`"), -1)
		if !slices.ContainsFunc(s.literals, func(literal string) bool { return inOrder(literal, parts) }) {
			t.Errorf("athanor never prints %s", heading)
		}
	}
	if entries < 50 {
		t.Errorf("%d entries", entries)
	}
	exits, err := os.ReadFile(filepath.Join("..", "cmd", "cli", "exit.go"))
	if err != nil {
		t.Fatal(err)
	}
	codes := exitCode.FindAllStringSubmatch(string(exits), -1)
	if len(codes) < 7 {
		t.Errorf("%d exit codes were found", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(text, "- **"+code[1]+"**") {
			t.Errorf("exit code %s is not explained", code[1])
		}
	}
}

// inOrder reports whether a text has all parts, one after the other.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, rest, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = rest
	}
	return true
}
