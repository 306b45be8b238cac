package grants_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestAllows(t *testing.T) {
	ask := grants.Ask{Kind: grants.Store, Value: "postgres://u@h/db", Place: "refs.x.store"}
	for _, c := range []struct {
		kind   grants.Kind
		text   string
		placed bool
		want   bool
	}{
		{grants.Store, "postgres://u@h/db", false, true},
		{grants.Store, "postgres://u@h/db@refs.x.store", false, true},
		{grants.Store, "postgres://u@h/db@refs.y.store", false, false},
		{grants.Store, "postgres://u@h/db", true, false}, // in the user's file the place must be there
		{grants.Store, "postgres://u@h/db@refs.x.store", true, true},
		{grants.Store, "postgres://u", false, false},
		{grants.Store, "postgres://u@h", false, false},
		{grants.Store, "", false, false},
		{grants.Endpoint, "postgres://u@h/db", false, false},
	} {
		if have := (grants.Permission{Kind: c.kind, Text: c.text, Placed: c.placed}).Allows(ask); have != c.want {
			t.Errorf("%s %q placed %t: %t", c.kind, c.text, c.placed, have)
		}
	}
}

func TestSplitList(t *testing.T) {
	have := grants.SplitList("endpoint=http://a/?x=1,2, path=/b,c,env=D")
	if want := []string{"endpoint=http://a/?x=1,2", "path=/b,c", "env=D"}; !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
	if list, err := grants.Parse(have...); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	for _, bad := range []string{"endpoint", "endpoint=", "=x", "file=/a", "x"} {
		if _, err := grants.Parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestFile: what is remembered is read back, for its own project alone, and what else stands in the file stays.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "athanor", "config.yaml")
	asks := []grants.Ask{
		{Kind: grants.Path, Value: "/a b/c", Place: "resources.out.source"},
		{Kind: grants.Env, Value: "KEY", Place: "secrets.k.env"},
		{Kind: grants.Endpoint, Value: "http://x/", Place: "providers.aws.endpoint"},
		{Kind: grants.Identity, Value: "prod", Place: "providers.aws.profile"},
		{Kind: grants.Store, Value: "bolt:/x", Place: "refs.x.store"},
		{Kind: grants.Program, Value: "-x", Place: "resources.fn.code.ldFlags"},
	}
	if err := grants.Remember(path, "/p", asks[:1]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("# mine\neditor: vi\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := grants.Remember(path, "/p", asks); err != nil {
			t.Fatal(err)
		}
	}
	allowed, err := grants.Read(path, "/p", "/p/sub")
	if err != nil || len(allowed) != len(asks) || len(grants.Missing(asks, allowed)) > 0 {
		t.Errorf("%v, %v", allowed, err)
	}
	if other, err := grants.Read(path, "/q"); err != nil || len(grants.Missing(asks, other)) != len(asks) {
		t.Errorf("another project: %v, %v", other, err)
	}
	if text, err = os.ReadFile(path); err != nil || !strings.Contains(string(text), "# mine") || !strings.Contains(string(text), "editor: vi") {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := grants.Read(path, "/p"); err == nil {
		t.Error("a file that others can read is taken for the user's word")
	}
}

// TestAsks is about what stands in a graph in unusual places.
func TestAsks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	u := grants.User{
		Bounds: localfile.Bounds{Root: dir}, Store: "own", StoreOf: func(name string) string { return name },
		Files:    func(string) []tree.Path { return []tree.Path{"source", "inputs"} },
		Settings: map[string][]string{"aws.profile": {"mine"}},
	}
	in := func(store string) string {
		return token.Plain.Output(token.Stack{Name: "s", Stage: "p", Store: store}, "x", false)
	}
	inner, err := token.Plain.JSON(map[string]any{"a": in("in-json")})
	if err != nil {
		t.Fatal(err)
	}
	url, err := token.Plain.URL("https://%s/", []any{in("in-url")})
	if err != nil {
		t.Fatal(err)
	}
	g := &engine.Graph{
		Dir:     dir,
		Secrets: map[string]graph.SecretSource{"a": {Env: "ATHANOR_SECRET_A"}, "b": {Env: "B"}, "c": {File: "c.txt"}, "d": {File: "/d"}, "e": {Sealed: true}},
		Resources: []graph.Resource{
			{Address: "a/b[c]", Kind: "local.Process", Props: map[string]any{"inputs": []any{"in", "../out", in("own")}, "dir": "/elsewhere"}},
			{Address: "j", Kind: "x.Y", Props: map[string]any{"t": inner, "u": "before " + url, "n": map[string]any{"l": []any{in("in-list")}}}},
			{Address: "q", Kind: "AWS::SQS::Queue", Settings: map[string]any{"profile": "mine", "endpoint": "http://e"}},
			{Address: "w", Kind: "aws.ecr.Image", Props: map[string]any{"source": map[string]any{"go": "./w", "base": "reg.example/base:1", "ldFlags": "-extld=x"}}},
			{Address: "z", Kind: "other.Kind", Settings: map[string]any{"anything": "x"}},
			{Address: "f", Kind: "local.File", Props: map[string]any{"path": "f", "source": token.Plain.Ref(token.Ref{Address: "j", Path: "p"})}, Options: graph.Options{Adopt: "/adopted"}},
		},
		Outputs: map[string]any{"o": in("in-output")},
	}
	var have []string
	for _, a := range grants.Asks(grants.Document{Graph: g}, u) {
		have = append(have, a.String())
	}
	want := []string{
		"store=in-output@outputs.o", "path=" + filepath.Dir(dir) + "/out@resources.a/b[c].inputs[1]", "path=/elsewhere@resources.a/b[c].dir",
		"path=/adopted@resources.f.options.adopt", "store=in-list@resources.j.n.l[0]", "store=in-json@resources.j.t.a", "store=in-url@resources.j.u",
		"endpoint=http://e@resources.q.settings.endpoint", "endpoint=reg.example/base:1@resources.w.source.base",
		"program=-extld=x@resources.w.source.ldFlags", "identity=x@resources.z.settings.anything", "env=B@secrets.b.env", "path=/d@secrets.d.file",
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// TestEverySetting: every setting of every provider is judged, so that a new one cannot reach out unseen.
func TestEverySetting(t *testing.T) {
	for _, p := range providers.All() {
		if p.Settings == nil {
			continue
		}
		fields, err := props.Fields(reflect.TypeOf(p.Settings).Elem(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if _, judged := grants.Setting(p.Name, string(f.Path)); !judged {
				t.Errorf("nobody has judged what the setting %s of %s lets a stack reach", f.Path, p.Name)
			}
		}
	}
}

// reaching are words in the names of props that may make a stack reach out: files, servers, programs and their parts.
var reaching = strings.Fields(`path paths file files dir directory directories folder source sources bundle zip archive migrations inputs go
	entry entrypoint root config template script scripts image url urls uri endpoint endpoints host hostname hosts origin origins server
	servers address domain command commands cmd run undo exec program programs shell hook hooks start build flags args plugin plugins
	loader loaders alias define module modules env profile region store log logs output webhook callback redirect location main rules`)

// TestEveryReach: every prop whose name says that it may be a path, a server, a command or a program is a path that the
// stack is held to, or is listed in testdata/reach.txt with what else it is:
//
//	data     sent to the service as it is, or compared with what that has
//	deploy   a program that deploy starts after it was approved, or its environment; no plan does
//	program  flags of a tool, which need a permission
//	inside   names inside of a folder that is held to the project
//	bundler  what the bundler reads in its place, which is held to the project file by file
func TestEveryReach(t *testing.T) {
	text, err := os.ReadFile("testdata/reach.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || !slices.Contains([]string{"data", "deploy", "program", "inside", "bundler"}, words[2]) {
			t.Fatalf("reach.txt: %q", line)
		}
		listed[words[0]+" "+words[1]] = words[2]
	}
	for _, p := range providers.All() {
		for _, k := range p.Kinds {
			spec := k.Spec()
			fields, _, err := spec.Shape()
			if err != nil {
				t.Fatalf("%s: %v", spec.Type, err)
			}
			known := slices.Concat(spec.Files, grants.MorePaths(spec.Type))
			var walk func([]props.Field)
			walk = func(fields []props.Field) {
				for _, f := range fields {
					isKnown := slices.ContainsFunc(known, f.Path.Overlaps)
					name := spec.Type + " " + string(f.Path)
					if reaches(f) && !isKnown && listed[name] == "" {
						t.Errorf("%s (%s): what does it let a stack reach? %s", name, f.Type, "it is no path that is held to the project, and not in reach.txt")
					}
					delete(listed, name)
					walk(f.Fields)
				}
			}
			walk(fields)
		}
	}
	for name := range listed {
		t.Errorf("reach.txt has %s, which is no prop", name)
	}
}

// reaches reports whether the name of a prop that holds text has a word for something outside.
func reaches(f props.Field) bool {
	if len(f.Fields) > 0 || !strings.Contains(f.Type, "string") && !strings.Contains(f.Type, "any") {
		return false
	}
	steps := f.Path.Steps()
	words := camel.ReplaceAllString(steps[len(steps)-1].Key, " $0")
	return slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(word string) bool { return slices.Contains(reaching, word) })
}

var camel = regexp.MustCompile(`[A-Z]`)

// TestEmptySettings asks for nothing where a setting names nothing, however it is written, and for all else.
func TestEmptySettings(t *testing.T) {
	list, none := func(v ...any) []any { return v }, map[string]any{}
	for _, c := range []struct {
		setting string
		value   any
		asked   bool
	}{
		{"config", nil, false},
		{"config", none, false},
		{"config", map[string]any{"features": none, "hosts": list(), "token": nil}, false},
		{"config", map[string]any{"features": map[string]any{"on": false}}, true},
		{"config", map[string]any{"hosts": list("")}, true},
		{"config", map[string]any{"retries": int64(0)}, true},
		{"env", list(), false},
		{"env", list("HOME"), true},
		{"unheard", none, false},
		{"unheard", map[string]any{"a": "b"}, true},
	} {
		asks := grants.User{}.Settled("terraform", map[string]any{c.setting: c.value})
		if (len(asks) == 1) != c.asked {
			t.Errorf("%s: %v asks for %v, want one %t", c.setting, c.value, asks, c.asked)
		}
	}
	resource := graph.Resource{Address: "a", Kind: "tf.random_id", Settings: map[string]any{"config": none, "env": list()}}
	if asks := grants.Asks(grants.Document{Graph: &engine.Graph{Resources: []graph.Resource{resource}}}, grants.User{}); len(asks) > 0 {
		t.Errorf("a resource with empty settings asks for %v", asks)
	}
}
