package athanor_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The laws of the project, read from the files themselves: a test that asks the go command for the import
// graph stays green from the test cache when another package breaks the law, while files and directories
// that a test opens are part of its cache key. Each law is a pure function from sources to breaches; the
// samples in laws_samples_test.go prove that each can fail.

// exceptions lists what may break a law about state, with the reason. Keys are those of the
// breach. An entry that excuses nothing any more is itself a failure.
var exceptions = map[string]string{
	"reconcile/token/values.go:durations":               "it is the way to read them",
	"statestore/remote/wire/wire.go:durations":          "the protocol has them as Go writes them",
	"adopt/from/terraform/hooks_zerotrust.go:durations": "Terraform reads them as Go does",
	"reconcile/attempt.go:waits":                        "a call in flight ends by itself when its service is silent",
	"reconcile/wait.go:waits":                           "it is the way to wait",
	"reconcile/rate/limiter.go:waits":                   "the timer serves those who wait, each of whom an interrupt ends",
	"engine/calls/slots.go:waits":                       "a slot is held for a twentieth of a call, and nobody waits for the timer",
	"statestore/journal.go:waits":                       "the heartbeat of the lease outlives an interrupt, and ends with the run",
	"statestore/follow.go:waits":                        "whoever follows a run's events is no run",
	"statestore/bolt/file.go:waits":                     "a file's lock is waited for during one call of the store, for milliseconds at a time",
	"statestore/postgres/store.go:waits":                "a server takes leave within a second",
	"statestore/remote/client.go:waits":                 "one call of the store is patient with its service, as long as the store says",
	"service/internal/sse/sse.go:waits":                 "a stream is looked after while somebody reads it, and ends with it",
	"statestore/postgres/patience.go:waits":             "one call of the store is patient with its server, as long as the store says",
	"statestore/internal/objects/store.go:waits":        "one call of the store is patient with its server, as long as the store says",
	"providers/local/process_child.go:waits":            "a supervised process restarts between runs, and ends within its own grace",
	"providers/cloudflare/miniflare/gate.go:waits":      "requests of a local server end before it changes, within two seconds",

	"cmd/athanor/terraform_cut_test.go:clock": "it gives up on a process that does not end",
	"cmd/athanor/tofu_cut_test.go:clock":      "it gives up on a process that does not end",

	"providers/aws/awstest.running":       "one emulator for each test binary; nothing but the process can own it",
	"providers/aws/awstest.secondRunning": "the same of the second emulator",
	"statestore/postgres/pgtest.running":  "one server for each test binary; nothing but the process can own it",
	"reconcile/props.initialisms":         "computed once from constants; nothing writes it",
	"reconcile/props.shapes":              "what a type looks like, by type, as encoding/json keeps it; entries never change",
	"reconcile/token.needles":             "computed once from constants; nothing writes it",
}

var laws = []struct {
	name string
	law  func([]source) []breach
}{
	{"imports point one way", importLaw},
	{"packages say what they know", packageCommentLaw},
	{"exported names are documented", exportedCommentLaw},
	{"packages hold no state", stateLaw},
	{"libraries do not print, log, sleep or exit", quietLaw},
	{"a run waits in one way", waitLaw},
	{"durations are read in one way", durationLaw},
	{"the largest types do not grow", func(tree []source) []breach { return sizeLaw(tree, largest) }},
	{"errors are never told apart by text", errorTextLaw},
	{"a test waits for what reports to it", reportLaw},
	{"a test is held to no clock of the machine", clockLaw},
	{"messages are in the words of the field", wordLaw},
	{"comments and names of tests are in the words of the field", commentLaw},
}

func TestLaws(t *testing.T) {
	tree, err := readTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) < 2 {
		t.Fatalf("found %d Go files: the laws must be read at the root of the repository", len(tree))
	}
	excused := map[string]bool{}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			for _, b := range l.law(tree) {
				if _, ok := exceptions[b.key]; ok {
					excused[b.key] = true
					continue
				}
				t.Error(b)
			}
		})
	}
	for key, reason := range exceptions {
		if !excused[key] {
			t.Errorf("exceptions[%q] excuses nothing (%s): take it out", key, reason)
		}
	}
}

// A breach is one place where a law does not hold.
type breach struct {
	key  string // what an exception names: a file or package.variable
	text string // file:line and what is wrong, with what would be right
}

func (b breach) String() string { return b.text }

// A source is one parsed Go file.
type source struct {
	path  string // from the repository's root, with slashes
	files *token.FileSet
	ast   *ast.File
}

func (s source) dir() string     { return path.Dir(s.path) }
func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) main() bool      { return s.ast.Name.Name == "main" }
func (s source) generated() bool { return ast.IsGenerated(s.ast) }

// harness says whether the file belongs to a conformance suite or simulation: code that runs inside
// tests only, and that tests of other packages import. A program below such a folder is its own.
func (s source) harness() bool { return harnessDir(s.dir()) }

func harnessDir(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return strings.HasSuffix(part, "test") })
}

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.files.Position(n.Pos()).Line)
}

// named resolves the X of X.Sel to an import path, "" when X is no import of this file.
func (s source) named(x ast.Expr) string {
	id, ok := x.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, imp := range s.ast.Imports {
		p := strings.Trim(imp.Path.Value, `"`)
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == id.Name {
			return p
		}
	}
	return ""
}

// called gives "import/path.Name" for a call of a package's function, else "".
func (s source) called(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if p := s.named(sel.X); p != "" {
		return p + "." + sel.Sel.Name
	}
	return ""
}

// readTree parses every Go file below the root, nested modules included; not testdata, nor what starts
// with a dot or an underscore, which the go command does not build either.
func readTree(root fs.FS) ([]source, error) {
	files := token.NewFileSet()
	var tree []source
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		hidden := p != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))
		if d.IsDir() {
			if hidden || name == "testdata" || name == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(files, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tree = append(tree, source{path: p, files: files, ast: parsed})
		return nil
	})
	slices.SortFunc(tree, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return tree, err
}

// TestUnracedTestsAreThere holds the list of tests that the nightly race detector leaves out to tests that there are, each in one of the packages
// that it runs.
func TestUnracedTestsAreThere(t *testing.T) {
	script, err := os.ReadFile(".ci/nightly")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)\nunraced=\((.*?)\n\)`).FindSubmatch(script)
	if list == nil {
		t.Fatal(".ci/nightly has no list of tests without the race detector")
	}
	tree, err := readTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	in := map[string][]string{}
	for _, s := range tree {
		room, _, _ := strings.Cut(s.path, "/")
		if !s.test() || room != "statestore" && room != "reconcile" && s.dir() != "engine" {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				in[f.Name.Name] = append(in[f.Name.Name], s.path)
			}
		}
	}
	for name := range strings.FieldsSeq(string(list[1])) {
		if len(in[name]) != 1 {
			t.Errorf("%s is a test in %q", name, in[name])
		}
	}
}

// TestNightlyTasksAreThere holds the tasks that .ci/nightly runs to those of Taskfile.yml: a long form that no night plays protects from nothing.
func TestNightlyTasksAreThere(t *testing.T) {
	script, err := os.ReadFile(".ci/nightly")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadFile("Taskfile.yml")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`\nfor name in (.+); do\n`).FindSubmatch(script)
	if list == nil {
		t.Fatal(".ci/nightly has no list of tasks")
	}
	for name := range strings.FieldsSeq(string(list[1])) {
		if !strings.Contains(string(tasks), "\n  "+name+":\n") {
			t.Errorf(".ci/nightly runs task %s, which Taskfile.yml does not have", name)
		}
	}
}
