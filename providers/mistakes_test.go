package providers

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	tokens "github.com/athanor-dev/athanor/reconcile/token"
)

var (
	mistakesOf       = flag.String("mistakes", "", "seed each mistake that an author can make in a tag, in the packages that match, one by one: a regular expression")
	mistakesInSuites = flag.Bool("suites", false, "with -mistakes: what no golden body finds, all tests of the package are to find")
	mistakesOnly     = flag.String("mistake", "", "of these the ones whose description matches: a regular expression")
)

// sample is what each run of the tests seeds, by package: a package without a service, whose binary is built in seconds.
// TestMistakes with -mistakes=. seeds all (task proof:mistakes).
var sample = map[string]string{"random": "."}

// A mistake is what an author of a kind may write in the tags of props: the tags as they would be with it.
type mistake struct {
	sort  string            // what kind of mistake
	where string            // struct and field
	tags  map[string]string // by struct and field
}

func (m mistake) String() string { return m.sort + " in " + m.where }

// TestMistakes seeds mistakes in the tables of real kinds, and each must be found by the tests of its package, or by the
// registry of AWS. The binary of the tests is built once for each package, with a reader of tags that takes the mistaken ones
// from the environment: so documentation, checks, comparison and calls are all as if the author had written them.
func TestMistakes(t *testing.T) {
	t.Parallel()
	counts, instead, seeded := map[string]map[string]int{}, overlay(t), 0
	for _, dir := range tablesIn(t) {
		pattern := sample[dir]
		if *mistakesOf != "" {
			pattern = "."
			if !regexp.MustCompile(*mistakesOf).MatchString(dir) {
				continue
			}
		}
		if pattern == "" {
			continue
		}
		s := &seeds{t: t, dir: dir, overlay: instead}
		all := slices.DeleteFunc(mistakesIn(t, dir), func(m mistake) bool {
			return !regexp.MustCompile(pattern).MatchString(m.String()) || !regexp.MustCompile(*mistakesOnly).MatchString(m.String())
		})
		if len(all) == 0 && *mistakesOnly == "" {
			t.Errorf("%s: no mistake to seed", dir)
		} else if len(all) == 0 {
			t.Logf("%s: no mistake matches %s", dir, *mistakesOnly)
		}
		seeded += len(all)
		for _, m := range all {
			by := s.foundBy(m)
			if by == "" {
				t.Errorf("%s: nothing finds: %s: %v", dir, m, m.tags)
			}
			t.Logf("| %s | %s | %s | %s |", dir, m.sort, m.where, by)
			if counts[m.sort] == nil {
				counts[m.sort] = map[string]int{}
			}
			counts[m.sort][strings.SplitN(by, "/", 2)[0]]++
		}
	}
	if seeded == 0 {
		t.Logf("no package has a mistake that matches: nothing was tried")
	}
	for _, sort := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %v", sort, counts[sort])
	}
}

// tablesIn are the folders of packages whose kinds have tables.
func tablesIn(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*/*.go")
	more, _ := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kind.TableOf[") && !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "kindtest") {
			dirs[filepath.ToSlash(filepath.Dir(file))] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// tagged is a field of a struct with tags.
type tagged struct {
	of, name, typ string
	prop, wire    []string // words
}

func (f tagged) with(prop, wire []string) string {
	var tag []string
	if len(prop) > 0 {
		tag = append(tag, "prop:"+strconv.Quote(strings.Join(prop, ",")))
	}
	if len(wire) > 0 {
		tag = append(tag, "wire:"+strconv.Quote(strings.Join(wire, ",")))
	}
	return strings.Join(tag, " ")
}

func (f tagged) sent() bool { return len(f.wire) > 0 && f.wire[0] != "" && f.wire[0] != "-" }

// value is what a word of the prop tag says, and where it stands.
func (f tagged) value(key string) (string, int) {
	for i, word := range f.prop {
		if have, value, _ := strings.Cut(word, "="); have == key {
			return value, i
		}
	}
	return "", -1
}

// mistakesIn are all mistakes for the fields of a package, by its source.
func mistakesIn(t *testing.T, dir string) (all []mistake) {
	t.Helper()
	parsed, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok && spec.TypeParams == nil {
					all = append(all, mistakesOfStruct(fieldsOf(spec.Name.Name, s))...)
				}
			}
			return true
		})
	}
	return all
}

func fieldsOf(name string, s *ast.StructType) (all []tagged) {
	words := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, ",")
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil || len(f.Names) != 1 {
			continue
		}
		text, _ := strconv.Unquote(f.Tag.Value)
		tag := reflect.StructTag(text)
		typ := strings.TrimPrefix(fmt.Sprint(typeText(f.Type)), " ")
		all = append(all, tagged{name, f.Names[0].Name, typ, words(tag.Get("prop")), words(tag.Get("wire"))})
	}
	return all
}

// typeText is a type as it is written, as far as names, pointers and lists go.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	}
	return "other"
}

func mistakesOfStruct(fields []tagged) (all []mistake) {
	for i, f := range fields {
		where := f.of + "." + f.name
		add := func(sort string, prop, wire []string) {
			all = append(all, mistake{sort, where, map[string]string{where: f.with(prop, wire)}})
		}
		instead := func(words []string, at int, with ...string) []string {
			return slices.Concat(words[:at:at], with, words[at+1:])
		}
		if _, at := f.value("immutable"); at >= 0 {
			add("immutable left out", instead(f.prop, at), f.wire)
		}
		if _, at := f.value("set"); at >= 0 {
			add("set compared as list", instead(f.prop, at), f.wire)
		}
		if other, at := otherDefault(f); other != "" {
			add("wrong default", instead(f.prop, at, "default="+other), f.wire)
		}
		if _, at := f.value("default"); at >= 0 && f.typ[0] == '*' && f.sent() {
			add("default left out", instead(f.prop, at), f.wire)
		}
		if !f.sent() {
			continue
		}
		if unit, at := otherUnit(f); unit != "" {
			prop := append(slices.Clone(f.prop), "unit="+unit)
			if at >= 0 {
				prop = instead(f.prop, at, "unit="+unit)
			}
			add("wrong unit", prop, f.wire)
		}
		if joined := strings.HasSuffix(f.wire[0], "*"); !joined {
			add("wrong name", f.prop, instead(f.wire, 0, f.wire[0]+"s"))
		}
		for _, o := range fields[i+1:] {
			if !o.sent() {
				continue
			}
			if o.typ == f.typ && slices.Equal(o.wire[1:], f.wire[1:]) {
				all = append(all, mistake{"names exchanged", where + " and " + o.name, map[string]string{
					where: f.with(f.prop, o.wire), o.of + "." + o.name: o.with(o.prop, f.wire),
				}})
			}
			if !strings.HasSuffix(o.wire[0], "*") && !strings.HasSuffix(f.wire[0], "*") {
				add("two props on one attribute", f.prop, instead(f.wire, 0, o.wire[0]))
			}
			break
		}
	}
	return all
}

// otherUnit is a unit that is not that of a field; a duration or a size without one is sent in seconds, or in bytes.
func otherUnit(f tagged) (string, int) {
	unit, at := f.value("unit")
	switch strings.TrimPrefix(f.typ, "*") {
	case "time.Duration":
		return map[string]string{"": "1ms", "1s": "1ms", "1ms": "1s", "24h": "1h"}[unit], at
	case "props.Size":
		return map[string]string{"": "1KiB", "1MiB": "1KiB"}[unit], at
	}
	return "", at
}

// otherDefault is another value that a default could have.
func otherDefault(f tagged) (string, int) {
	have, at := f.value("default")
	if at < 0 || f.typ[0] != '*' {
		return "", -1 // a plain field has its zero value: Validate refuses another
	}
	if words, is := f.value("enum"); is >= 0 {
		others := slices.DeleteFunc(strings.Split(words, "|"), func(w string) bool { return w == have })
		return others[0], at
	}
	switch f.typ {
	case "*bool":
		return map[string]string{"true": "false", "false": "true"}[have], at
	case "*string":
		return have + "x", at
	case "*int":
		n, _ := strconv.Atoi(have)
		if low, is := f.value("min"); is >= 0 && low != have {
			return strconv.Itoa(n - 1), at
		}
		return strconv.Itoa(n + 1), at
	case "*time.Duration":
		d, _ := tokens.ParseDuration(have)
		if high, is := f.value("max"); is >= 0 && high == have {
			return (d / 2).String(), at
		}
		return cmp.Or(2*d, time.Hour).String(), at
	case "*props.Size":
		n, _ := props.ParseSize(have)
		if high, is := f.value("max"); is >= 0 && high == have {
			return (n / 2).String(), at
		}
		return cmp.Or(2*n, props.GiB).String(), at
	}
	return "", -1
}

// mistaken is the file that reads tags from the environment.
const mistaken = `package props

import (
	"encoding/json"
	"os"
	"reflect"
	"sync"
)

var mistakes = sync.OnceValue(func() (m map[string]string) {
	if err := json.Unmarshal([]byte(os.Getenv("ATHANOR_MISTAKE")), &m); err != nil {
		panic(err)
	}
	return m
})

func mistaken(t reflect.Type, f reflect.StructField) reflect.StructTag {
	if tag, ok := mistakes()[t.PkgPath()+"."+t.Name()+"."+f.Name]; ok {
		return reflect.StructTag(tag)
	}
	return f.Tag
}
`

// overlay is the file that puts the mistaken reader of tags in the place of the real one.
func overlay(t *testing.T) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	put := func(name, text string) {
		shipped, err := filepath.Abs(filepath.Join("../reconcile/props", name))
		if err != nil {
			t.Fatal(err)
		}
		replace[shipped] = filepath.Join(dir, name)
		if err := os.WriteFile(replace[shipped], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("mistaken.go", mistaken)
	for name, patch := range map[string][2]string{
		"shape.go": {"sf := t.Field(i)\n", "sf := t.Field(i)\nsf.Tag = mistaken(t, sf)\n"},
		"tags.go":  {"field := t.FieldByIndex(f.index)\n", "field := t.FieldByIndex(f.index)\nfield.Tag = mistaken(f.owner, field)\n"},
	} {
		text, err := os.ReadFile("../reconcile/props/" + name)
		if err != nil || strings.Count(string(text), patch[0]) != 1 {
			t.Fatalf("%s no longer reads tags as the test expects: %v", name, err)
		}
		put(name, strings.Replace(string(text), patch[0], patch[1], 1))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// seeds are the mistakes of one package.
type seeds struct {
	t            *testing.T
	dir, overlay string
	built        map[string]string // test binaries, by folder
}

// binary is the built test of a folder, with the mistaken reader.
func (s *seeds) binary(dir string) string {
	s.t.Helper()
	if file, ok := s.built[dir]; ok {
		return file
	}
	if s.built == nil {
		s.built = map[string]string{}
	}
	file := filepath.Join(s.t.TempDir(), "seeded.test")
	build := exec.CommandContext(s.t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", s.overlay, "-o", file, "./"+dir)
	if out, err := build.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", dir, err, out)
	}
	s.built[dir] = file
	if by, out := s.run(dir, "^Test(Golden|ReplacementsAgree)", nil); by != "" {
		s.t.Fatalf("%s fails without a mistake: %s\n%s", dir, by, out)
	}
	return file
}

// A mistake that keeps every object from becoming as declared ends with the time of the tests: the one that waits has
// found it.
var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	waited = regexp.MustCompile(`(?m)^\s*running tests:\n\s*(\S+)`)
)

// run runs tests with a mistake, and is the innermost that failed first.
func (s *seeds) run(dir, pattern string, tags map[string]string) (by, out string) {
	s.t.Helper()
	full := map[string]string{}
	for field, tag := range tags {
		full["github.com/athanor-dev/athanor/providers/"+s.dir+"."+field] = tag
	}
	text, err := json.Marshal(full)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), s.binary(dir), "-test.run="+pattern, "-test.failfast", "-test.timeout=10m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ATHANOR_MISTAKE="+string(text))
	said, err := cmd.CombinedOutput()
	if err == nil {
		return "", string(said)
	}
	names := failed.FindAllStringSubmatch(string(said), -1)
	if len(names) == 0 {
		names = waited.FindAllStringSubmatch(string(said), -1)
	}
	if len(names) == 0 {
		return "registration", string(said) // a table that means nothing ends the program that registers the kind
	}
	by = names[0][1]
	for _, n := range names {
		if strings.HasPrefix(n[1], by) {
			by = n[1]
		}
	}
	return by, string(said)
}

// foundBy is the first test that finds a mistake, "" when none does: golden bodies are the cheapest, all of the package's own
// the dearest.
func (s *seeds) foundBy(m mistake) string {
	s.t.Helper()
	if by, _ := s.run(s.dir, "^TestGolden", m.tags); by != "" {
		return by
	}
	if strings.Contains(s.dir, "/") && m.sort == "immutable left out" { // of a cloud
		if by, _ := s.run(".", "^TestReplacementsA(gree|reListed)$", m.tags); by != "" {
			return by
		}
	}
	if *mistakesOf != "" && strings.Contains(m.sort, "default") { // every day the suite of a package without a service is cheaper than this binary
		if by, _ := s.run(".", "^TestDefaultsAreListed$", m.tags); by != "" {
			return by
		}
	}
	if *mistakesOf != "" && !*mistakesInSuites {
		return ""
	}
	by, _ := s.run(s.dir, ".", m.tags)
	return by
}
