package athanor_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// read parses sources written in a test: path, text, path, text …
func read(t *testing.T, pairs ...string) []source {
	t.Helper()
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	tree, err := readTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// expect compares breaches with what each must say, in order.
func expect(t *testing.T, got []breach, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d breaches %q, want %d", len(got), got, len(want))
	}
	for i, w := range want {
		if !strings.Contains(got[i].text, w) {
			t.Errorf("breach %d is %q, want one that says %q", i, got[i], w)
		}
	}
}

func TestImportLaw(t *testing.T) {
	const ours = module
	tests := []struct {
		name, file, imports, want string // want "": allowed
	}{
		{"stdlib", "reconcile/a.go", "context", ""},
		{"somebody else", "reconcile/a.go", "github.com/cenkalti/backoff/v4", ""},
		{"alike in name", "reconcile/a.go", ours + "-plugins/engine", ""},
		{"reconcile, own room", "reconcile/a.go", ours + "/reconcile/ref", ""},
		{"reconcile to statestore", "reconcile/a.go", ours + "/statestore", "only its own room (reconcile)"},
		{"statestore to reconcile", "statestore/bolt/a.go", ours + "/reconcile", "statestore/bolt/a.go:3 imports"},
		{"statestore test to engine", "statestore/a_test.go", ours + "/engine", "only its own room (statestore)"},
		{"adopt to reconcile", "adopt/a.go", ours + "/reconcile", ""},
		{"adopt to engine", "adopt/a.go", ours + "/engine", "its own room (adopt), reconcile, statestore"},
		{"engine to adopt", "engine/plan/a.go", ours + "/adopt", ""},
		{"executing to deciding", "engine/execute/a.go", ours + "/engine/plan", ""},
		{"deciding to executing", "engine/plan/a.go", ours + "/engine/execute", "of ours engine/plan imports only"},
		{"deciding to the engine", "engine/plan/a.go", ours + "/engine", "of ours engine/plan imports only"},
		{"executing to the engine", "engine/execute/a.go", ours + "/engine", "of ours engine/execute imports only"},
		{"executing to editing", "engine/execute/a.go", ours + "/engine/edit", "of ours engine/execute imports only"},
		{"deciding to I/O", "engine/plan/a.go", "context", "never context"},
		{"engine to root", "engine/a.go", ours, "imports \"" + ours + "\""},
		{"engine to provider", "engine/causes/a.go", ours + "/providers/local", "imports"},
		{"root to engine", "a.go", ours + "/engine", ""},
		{"root to provider", "a.go", ours + "/providers/local", "its own room (.)"},
		{"provider to root", "providers/aws/sqs/a.go", ours, ""},
		{"provider to its cloud", "providers/aws/sqs/a.go", ours + "/providers/aws", ""},
		{"provider to engine", "providers/aws/sqs/a.go", ours + "/engine", "providers/aws/sqs/a.go:3 imports"},
		{"provider test to engine", "providers/aws/sqs/a_test.go", ours + "/engine", ""},
		{"suite to engine", "providers/kindtest/a.go", ours + "/engine", ""},
		{"suite to cmd", "providers/kindtest/a.go", ours + "/cmd", "imports"},
		{"provider to provider", "providers/aws/a.go", ours + "/providers/cloudflare", "the root package"},
		{"provider to this machine", "providers/cloudflare/a.go", ours + "/providers/local", ""},
		{"list of kinds", "providers/all.go", ours + "/providers/aws/sqs", ""},
		{"list of kinds to engine", "providers/all.go", ours + "/engine", "any provider"},
		{"product to suite", "cmd/a.go", ours + "/statestore/storetest", "only tests and conformance suites"},
		{"test to suite", "statestore/bolt/a_test.go", ours + "/statestore/storetest", ""},
		{"cmd to provider", "cmd/athanor/a.go", ours + "/providers", ""},
		{"cmd to the documentation", "cmd/a.go", ours + "/docs", ""},
		{"documentation to cmd", "docs/a.go", ours + "/cmd", "imports"},
		{"cmd to examples", "cmd/a.go", ours + "/examples/shop", "imports"},
		{"examples to cmd", "examples/shop/a.go", ours + "/cmd", ""},
		{"bench to anything", "bench/a.go", ours + "/examples/shop", ""},
		{"anything to bench", "cmd/a.go", ours + "/bench", "imports"},
		{"tools to ours", "tools/x/a.go", ours + "/reconcile", "imports"},
		{"render to documents", "cmd/render/a.go", ours + "/engine/plan/operation", ""},
		{"render to a store", "cmd/render/a.go", ours + "/statestore/bolt", "of ours cmd/render imports only"},
		{"render to I/O", "cmd/render/a.go", "context", "never context, os"},
		{"render test to I/O", "cmd/render/a_test.go", "os", ""},
		{"command line to command", "cmd/cli/a.go", ours + "/cmd/render", "of ours cmd/cli imports only"},
		{"what is wrapped", "cmd/a.go", "github.com/urfave/cli/v2", "only cmd/cli may, which wraps it"},
		{"what wraps it", "cmd/cli/a.go", "github.com/urfave/cli/v2", ""},
		{"no room", "helpers/a.go", "fmt", "no room of the house"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := importLaw(read(t, tt.file, "package a\n\nimport _ \""+tt.imports+"\"\n"))
			if tt.want == "" {
				expect(t, got)
				return
			}
			expect(t, got, tt.want)
		})
	}
}

func TestPackageCommentLaw(t *testing.T) {
	const good = "// Package a knows how long a queue is. It does not know who waits in it.\npackage a\n"
	expect(t, packageCommentLaw(read(t, "reconcile/a/a.go", good, "reconcile/a/a_test.go", "package a_test\n")))
	expect(t, packageCommentLaw(read(t,
		"reconcile/none/a.go", "package none\n",
		"reconcile/short/a.go", "// Package short is short.\npackage short\n",
		"reconcile/twice/a.go", good,
		"reconcile/twice/b.go", good,
	)), "reconcile/none: no package comment", "reconcile/short/a.go: the package comment says too little",
		"reconcile/twice: 2 package comments")
	expect(t, packageCommentLaw(read(t, "cmd/a/main.go", "// Command a is short.\npackage main\n")))
}

func TestExportedCommentLaw(t *testing.T) {
	expect(t, exportedCommentLaw(read(t, "reconcile/a.go", `package a

// Kept is kept.
type Kept struct{}

func (Kept) String() string { return "" }

// These are the colors.
const (
	Red = iota
	Green
)

var Loose = 1 // Loose is explained behind.

type hidden struct{}

func (hidden) Shown() {}
`, "cmd/x/main.go", "package main\n\nfunc Shown() {}\n", "reconcile/a_test.go", "package a\n\nfunc Shown() {}\n",
		"reconcile/gen.go", "// Code generated by x. DO NOT EDIT.\n\npackage a\n\nfunc Made() {}\n")))

	expect(t, exportedCommentLaw(read(t, "reconcile/a.go", `package a

func Bare() {}

type Type struct{}

// A group's comment explains no type in it.
type (
	Inner struct{}
)

func (*Type) Method() {}

func (*Inner[T]) Deep() {}

const A, b = 1, 2

func String() string { return "" }
`)), "a.go:3: exported Bare", "exported Type", "exported Inner", "exported Method", "exported Deep", "exported A", "exported String")
}

func TestStateLaw(t *testing.T) {
	const head = "package a\n\nimport (\n\t\"errors\"\n\t\"regexp\"\n\t\"reflect\"\n\t\"encoding/base32\"\n\t\"encoding/base64\"\n\t\"sync\"\n\trec \"" + module + "/reconcile\"\n\t\"" + module + "/reconcile/props\"\n\t\"" + module + "/reconcile/kind\"\n\t\"" + module + "/reconcile/rest\"\n)\n"
	expect(t, stateLaw(read(t, "adopt/a.go", head+`
// ErrGone is a sentinel.
var ErrGone = errors.New("gone")

var ErrKept = rec.ErrKept

var (
	errHidden = errors.New("hidden")
	pattern   = regexp.MustCompile("x")
	_         = ErrGone
	text      = reflect.TypeFor[string]()
	letters   = base32.NewEncoding("").WithPadding(base32.NoPadding)
	strict    = base64.RawURLEncoding.Strict()
	rows      = []byte("rows")
	digits    = [...]string{"one", "two"}
	byCode    = sync.OnceValue(table)
	form      = props.Pattern("x")
)

//go:embed a.txt
var page string

// Thing is a kind.
var Thing = kind.Kind[P, L, A]{}
var other = &kind.Kind[P, L, A]{}
var kept = &kind.StateKind[P, A]{}
var completed = rest.Kind(rest.Documents{}, kind.Kind[P, L, A]{})
var rows = kind.TableOf[P](codec())
var named = kind.TableOf[P]().For(kind.Both(names()))
`, "cmd/x/main.go", "package main\n\nvar version string\n", "adopt/a_test.go", "package a\n\nvar update = false\n")))

	got := stateLaw(read(t, "adopt/a.go", head+`
var cache map[string]int
var known = map[string]bool{"a": true}
var Shown = map[string]bool{"a": true}
var empty = map[string]bool{}
var slots, flags, spare = []int{1}, []int{1}, []int{1}
var count, limit = 1, 2
var Bytes = []byte("exported bytes can be written by anybody")
var mutex sync.Mutex
var Lazy = sync.OnceValue(table)
var Form = props.Pattern("x")
var wrong = errors.New("not named as an error")
var Thing = Kind[P, L, A]{}
var Rows = kind.TableOf[P]()
var ErrTaken = rec.ErrKept
var last = kind.Kind[P, L, A]{}.Last()
var found = rec.TableOf[P]().For()

func f() {
	known["b"] = true
	slots[0]++
	clear(flags[1:])
	g(&spare)
}
`))
	expect(t, got, "cache", "known", "Shown", "empty", "slots", "flags", "spare", "count", "limit", "Bytes", "mutex", "Lazy", "Form", "wrong", "Thing", "Rows", "ErrTaken", "last", "found")
	if got[0].key != "adopt.cache" {
		t.Errorf("key %q, want adopt.cache", got[0].key)
	}
}

func TestQuietLaw(t *testing.T) {
	const bad = `package a

import (
	"fmt"
	stdlog "log"
	"log/slog"
	"os"
	"time"
)

func f() {
	fmt.Println()
	stdlog.Fatal()
	slog.Info("")
	os.Exit(1)
	time.Sleep(1)
	println()
	_ = fmt.Sprint()
	fmt.Fprintln(os.Stderr)
	_ = stdlog.New(nil, "", 0)
}
`
	expect(t, quietLaw(read(t, "engine/a.go", bad)), "fmt.Println", "log.Fatal", "log/slog.Info", "os.Exit", "time.Sleep", "builtin println")
	expect(t, quietLaw(read(t, "engine/a_test.go", bad, "cmd/a.go", bad, "tools/a/main.go", strings.Replace(bad, "package a", "package main", 1))))
	waits := "package a\n\nimport \"time\"\n\nfunc f() { <-time.After(1); time.NewTimer(1); time.NewTicker(1); time.Sleep(1); time.AfterFunc(1, f); time.Now() }\n"
	expect(t, waitLaw(read(t, "engine/a.go", waits)), "time.After:", "time.NewTimer", "time.NewTicker", "time.Sleep", "time.AfterFunc")
	expect(t, waitLaw(read(t, "engine/a_test.go", waits, "cmd/a.go", waits, "engine/simtest/a.go", waits)))
	spans := "package a\n\nimport \"time\"\n\nfunc f() { time.ParseDuration(\"1h\") }\n"
	expect(t, durationLaw(read(t, "service/a.go", spans, "cmd/a.go", spans)), "cmd/a.go:5 calls time.ParseDuration", "service/a.go:5 calls")
	expect(t, durationLaw(read(t, "service/a_test.go", spans, "tools/a.go", spans)))
	expect(t, quietLaw(read(t, "engine/a.go", "package a\n\nfunc f(log, time T) { log.Print(); time.Sleep() }\n")))
}

func TestErrorTextLaw(t *testing.T) {
	const bad = `package a

import "strings"

func f(err error) bool {
	return strings.Contains(err.Error(), "x") || err.Error() == "x" || strings.HasPrefix("x", err.Error())
}
`
	expect(t, errorTextLaw(read(t, "engine/a.go", bad)), "a.go:6 looks into", "a.go:6", "a.go:6")
	expect(t, errorTextLaw(read(t, "engine/a_test.go", bad)))
	expect(t, errorTextLaw(read(t, "engine/a.go", `package a

import "strings"

func same(a, b error) bool { return a.Error() == b.Error() }

func f(err error) string { return strings.TrimSpace(err.Error()) + strings.ToLower("x") }
`)))
}

func TestReportLaw(t *testing.T) {
	const bad = `package a

func TestX(t *testing.T) {
	go func() { t.Error("late") }()
	go func() { done <- err }()
	go serve(listener)
	var group sync.WaitGroup
	group.Go(func() { t.Error("awaited") })
	go watch(func(err error) { t.Logf("%v", err) })
}
`
	expect(t, reportLaw(read(t, "engine/a_test.go", bad, "statestore/storetest/b.go", bad)), "a_test.go:4 reports", "a_test.go:9", "b.go:4", "b.go:9")
	expect(t, reportLaw(read(t, "engine/a.go", bad)))
}

func TestClockLaw(t *testing.T) {
	const begin = `package a
import (
	"testing"
	"testing/synctest"
	"time"
)
`
	const fast = `func TestFast(t *testing.T) {
	since := time.Now()
	if took := time.Since(since); took < time.Second || took > time.Minute {
		t.Error(took)
	}
	if time.Second <= time.Since(since) {
		t.Error("slow")
	}
}
`
	const least = `func TestLeast(t *testing.T) {
	since := time.Now()
	if took := time.Since(since); took < time.Second {
		t.Error(took)
	}
}
`
	const within = `func in(t *testing.T, do func()) { synctest.Test(t, func(t *testing.T) { do() }) }
func spent() bool { return time.Since(time.Time{}) > 0 }
func TestIn(t *testing.T) {
	in(t, func() {
		if spent() || time.Since(time.Time{}) != time.Second {
			t.Error()
		}
	})
}
`
	expect(t, clockLaw(read(t, "engine/a_test.go", begin+fast)), "a_test.go:12: TestFast", "a_test.go:9: TestFast")
	expect(t, clockLaw(read(t, "engine/a_test.go", begin+fast+within)), "a_test.go:12: TestFast", "a_test.go:9: TestFast")
	expect(t, clockLaw(read(t, "engine/a_test.go", begin+least+within, "bench/a_test.go", begin+fast, "engine/a.go", begin+fast)))
}

func TestReadTreeSkipsWhatGoSkips(t *testing.T) {
	const a = "package a\n"
	tree := read(t, "a.go", a, "x/testdata/a.go", "no Go at all", ".venv/a.go", a, "_old/a.go", a, "x/_a.go", a, "tools/x/a.go", a)
	var got []string
	for _, s := range tree {
		got = append(got, s.path)
	}
	if want := "a.go tools/x/a.go"; strings.Join(got, " ") != want {
		t.Errorf("read %q, want %q", got, want)
	}
}
