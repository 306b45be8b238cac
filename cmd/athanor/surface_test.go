//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// golden compares a text with a file under testdata/surface, or writes the file with -update.
func golden(t *testing.T, name, have string) {
	t.Helper()
	file := filepath.Join("testdata", "surface", name)
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == have {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(have, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("%s differs from line %d on:\nhave %q\nwant %q", file, i+1, upTo4(b, i), upTo4(a, i))
		}
	}
}

// upTo4 returns the four lines from i on, or those that there are.
func upTo4(lines []string, i int) []string { return lines[min(i, len(lines)):min(i+4, len(lines))] }

// printed runs the command and returns what it printed and its exit code.
func (w *world) printed(stdin string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	code = exitCode(w.t, cmd, cmd.Run())
	if flag := blames(errs.String(), args); flag != "" {
		w.t.Errorf("athanor %q names %s, which was not given: %s", args, flag, errs.String())
	}
	return out.String(), errs.String(), code
}

var (
	listedCommand = regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`)
	listedFlag    = regexp.MustCompile(`(?m)^ +(?:-([a-z]), |    )--([a-z-]+)(?: ([A-Z0-9…][^ ]*))?(?: |$)`)
	environment   = regexp.MustCompile(`\(also (\$[A-Z_]+)\)`)
)

// section returns the lines below a title of a help text, up to the next empty line.
func section(help, title string) string {
	_, below, _ := strings.Cut(help, "\n"+title+":\n")
	text, _, _ := strings.Cut(below, "\n\n")
	return text
}

// flagsIn lists the flags of a section: name, letter, value and variable.
func flagsIn(section string) []string {
	var all []string
	found := listedFlag.FindAllStringSubmatchIndex(section, -1)
	for i, m := range found {
		end := len(section)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		group := func(n int, before string) string {
			if m[2*n] < 0 {
				return ""
			}
			return before + section[m[2*n]:m[2*n+1]]
		}
		flag := group(2, "--") + group(1, " -") + group(3, " ")
		if env := environment.FindStringSubmatch(strings.Join(strings.Fields(section[m[0]:end]), " ")); env != nil {
			flag += " " + env[1]
		}
		all = append(all, flag)
	}
	return all
}

// Every command's help and every flag stay as they are: golden files hold both. A flag never changes its name, its
// letter, its kind of value or its variable; the words of help may change, in a commit that says so.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stack: none\n")
	var texts, flags strings.Builder
	var visit func(path []string)
	visit = func(path []string) {
		text, errs, code := w.printed("", append(slices.Clone(path), "--help")...)
		if code != 0 || errs != "" {
			t.Fatalf("%s --help exits %d: %s", path, code, errs)
		}
		fmt.Fprintf(&texts, "$ %s\n%s", strings.Join(append(append([]string{"athanor"}, path...), "--help"), " "), text)
		for _, title := range []string{"Flags", "Safety", "Flags of every command that works on a stage"} {
			for _, flag := range flagsIn(section(text, title)) {
				fmt.Fprintln(&flags, strings.Join(path, " "), flag)
			}
		}
		for _, title := range []string{"Commands", "Start", "Inspect", "Repair", "Teams", "More"} {
			for _, m := range listedCommand.FindAllStringSubmatch("\n"+section(text, title)+"\n", -1) {
				visit(append(slices.Clone(path), m[1]))
			}
		}
	}
	visit(nil)
	golden(t, "help.txt", texts.String())
	golden(t, "flags.txt", flags.String())
}

// TestFlagsWithNumbers: every flag with a duration or a count refuses what is below its least value, what no number can hold, and
// what is none, before the command does anything. Each used to take some of them for nothing given.
func TestFlagsWithNumbers(t *testing.T) {
	w := newWorld(t, "stack: none\n")
	flags, err := os.ReadFile(filepath.Join("testdata", "surface", "flags.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for line := range strings.Lines(string(flags)) {
		path, flag, _ := strings.Cut(strings.TrimSpace(line), " --")
		name, value, _ := strings.Cut(flag, " ")
		value = strings.TrimPrefix(value, "-n ") // its letter
		values := map[string]string{"-1": "at least ", "-9223372036854775809": "at least ", "9223372036854775808": "at most ", "many": "it is no "}
		switch word, _, _ := strings.Cut(value, " "); word {
		case "DURATION":
			values = map[string]string{"-1s": "at least ", "-106752d": "at least ", "999999999d": "at most ", "1d-2h": "it is no ", "5": "it is no "}
		case "N", "SEQ":
		default:
			continue
		}
		if tried[name] {
			continue
		}
		tried[name] = true
		for value, says := range values {
			_, errs, code := w.printed("", append(strings.Fields(path), "--"+name+"="+value)...)
			if want := "error: --" + name + " " + value + ": " + says; code != 1 || !strings.HasPrefix(errs, want) || !strings.Contains(errs, "hint: ") {
				t.Errorf("%s --%s=%s exits %d, want %q with a hint: %s", path, name, value, code, want, errs)
			}
		}
	}
	for _, zero := range []string{"deploy --parallel", "deploy --attempt-timeout", "token create --expires", "serve --connections", "serve --audit-keep", "serve --approval-ttl"} {
		args := strings.Fields(zero + "=0")
		if _, errs, code := w.printed("", args...); code != 1 || !strings.Contains(errs, " 0: at least ") {
			t.Errorf("%s exits %d: %s", args, code, errs)
		}
	}
	if len(tried) < 10 {
		t.Errorf("only %v were tried", tried)
	}
}

// surfaceStack has a resource for each way that JSON can look like: outputs, secrets, a log, something to update.
const surfaceStack = `stack: surface
config:
  greeting: {type: string, default: Hello}
secrets:
  key: {env: ATHANOR_SECRET_SURFACE_KEY}
resources:
  page: {kind: local.File, props: {path: page.txt, content: "${config.greeting}\n"}}
  word: {kind: random.Password, props: {length: 12}}
  after: {kind: local.Value, props: {input: "${page.digest}"}}
outputs:
  page: ${page.path}
  word: ${word.value}
`

// surfaceSteps are command lines, run one after the other in one folder. A line that begins with "=" writes a file.
const surfaceSteps = `plan --json
deploy --json
deploy --json --yes
plan --json
deploy --yes --json
=page.txt changed by somebody
drift --json
drift --json --repair --yes
plan --json -c greeting=Hi
deploy --json --yes -c greeting=Hi
output --json
output page --json
output pge --json
state list --json
state show page --json
state show pgae --json
state check --json
state export
state export --out export.json
state mv after later --yes --json
state mv later after --yes --json
state rm after --yes --json
state import export.json --json --yes
deploy --json --yes -c greeting=Hi
history --json
events --json
events 20260301-120000-ABCDEF --json
logs --json
cancel --json
unlock --json
unlock --json --why because
orphans --json
adopt --json --scan
adopt --json page elsewhere
adopt --json
secret set apiKey --json
secret list --json
secret rm apiKey --json
secret rm apiKey --json
secret rewrap --json --key-file other.key
graph --json
graph --json --stage other
plan --json --out saved.json
deploy --json saved.json
kinds --json
kinds local.File --json
kinds local.Fiel --json
version --json
plan --json --nonsense
plan --json --parallel 0
plan --json nowhere
plan --json --stage No/Way
plan --json --iam
deploy --json --yes --target nowhere
=broken/athanor.yaml stack: broken
plan --json broken
=bad/athanor.yaml stack: bad
plan --json bad
=partly/athanor.yaml stack: partly
deploy --json --yes partly
destroy --json --stack partly
destroy --json --stack partly --yes
destroy --json --dry-run
destroy --json --yes
destroy --json --yes
`

// surfaceFiles are what the "=" lines of surfaceSteps write.
var surfaceFiles = map[string]string{
	"page.txt":            "changed by somebody\n",
	"broken/athanor.yaml": "stack: broken\nresources: {a: {kind: local.Fiel}, b: {kind: local.File, props: {pth: x}}}\n",
	"bad/athanor.yaml":    "stack: bad\nresources: {a: {kind: local.File, props: {path: x, source: missing.txt}}}\n",
	"partly/athanor.yaml": "stack: partly\nresources: {a: {kind: local.Value, props: {input: 1}}, " +
		"bad: {kind: local.Command, props: {run: \"exit 7\"}}, needs: {kind: local.Value, props: {input: \"${bad.stdout}\"}}}\n",
}

// Names of JSON never change. The golden file has, for each command line, its exit code and the paths of all that it
// prints as JSON with what is there; lines of several types are told apart.
func TestJSONNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, surfaceStack)
	w.env = append(w.env, "ATHANOR_SECRET_SURFACE_KEY=some-secret")
	var text strings.Builder
	for step := range strings.Lines(surfaceSteps) {
		step = strings.TrimSpace(step)
		if file, ok := strings.CutPrefix(step, "="); ok {
			name, _, _ := strings.Cut(file, " ")
			if err := os.MkdirAll(filepath.Join(w.dir, filepath.Dir(name)), 0o700); err != nil {
				t.Fatal(err)
			}
			w.write(name, surfaceFiles[name])
			continue
		}
		stdout, _, code := w.printed("a-secret-value\n", strings.Fields(step)...)
		fmt.Fprintf(&text, "$ %s\n  exit %d\n%s", step, code, shapes(t, documents(t, stdout)))
	}
	golden(t, "json.txt", text.String())
}

// The lines of a dev session keep their names, too.
func TestDevJSONNames(t *testing.T) {
	w := newWorld(t, pages(2, "one"))
	s := w.dev("--destroy-on-exit")
	s.deployed(map[string]float64{"created": 2})
	w.save("athanor.yaml", "stack: broken [")
	s.next("problem")
	w.save("athanor.yaml", pages(2, "two"))
	s.deployed(map[string]float64{"updated": 1})
	s.stop(0)
	var lines []any
	for _, line := range s.seen {
		lines = append(lines, line)
	}
	golden(t, "dev.txt", shapes(t, lines))
}

// documents reads all JSON values of a text.
func documents(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		all = append(all, v)
	}
	return all
}

// shapes lists the paths of values, apart for each type of line.
func shapes(t *testing.T, values []any) string {
	t.Helper()
	byType := map[string]map[string]string{}
	for _, v := range values {
		kind := "document"
		if m, ok := v.(map[string]any); ok {
			if text, ok := m["type"].(string); ok {
				kind = text
			}
		}
		if byType[kind] == nil {
			byType[kind] = map[string]string{}
		}
		shape(byType[kind], "", v)
	}
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		fmt.Fprintf(&b, "  %s\n", kind)
		for _, path := range slices.Sorted(maps.Keys(byType[kind])) {
			fmt.Fprintf(&b, "    %s %s\n", path, byType[kind][path])
		}
	}
	return b.String()
}

// data are the names of objects whose keys are the user's or a kind's.
var data = []string{".outputs", ".attributes", ".props", ".values", ".fields", ".declared"}

func shape(into map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		into[path+"."] = "object"
		if slices.ContainsFunc(data, func(name string) bool { return strings.HasSuffix(path, name) }) {
			return
		}
		for key, inner := range v {
			shape(into, path+"."+key, inner)
		}
	case []any:
		into[path+"[]"] = "list"
		for _, inner := range v {
			shape(into, path+"[]", inner)
		}
	case nil:
		if into[path] == "" {
			into[path] = "null"
		}
	default:
		into[path] = reflect.TypeOf(v).Name()
	}
}

// Each struct of the command that becomes JSON has the tags that it had, wherever it stands. What only rare lines have
// is in here.
func TestJSONTags(t *testing.T) {
	var all []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			var tags []string
			for _, f := range s.Fields.List {
				if f.Tag == nil {
					continue
				}
				text, err := strconv.Unquote(f.Tag.Value)
				if tag, ok := reflect.StructTag(text).Lookup("json"); ok && err == nil {
					tags = append(tags, tag)
				}
			}
			if len(tags) > 0 {
				all = append(all, strings.Join(tags, " "))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	golden(t, "tags.txt", strings.Join(all, "\n")+"\n")
}
