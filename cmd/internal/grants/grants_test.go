package grants_test

import (
	"os"
	"path/filepath"
	"reflect"
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
		"endpoint=http://e@resources.q.settings.endpoint", "identity=x@resources.z.settings.anything", "env=B@secrets.b.env", "path=/d@secrets.d.file",
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

// TestEveryPath: every prop whose name says that it is a path on this machine is known as one, or is listed here with what
// it is instead.
func TestEveryPath(t *testing.T) {
	words := []string{"path", "file", "dir", "directory", "folder", "source", "bundle", "zip", "migrations", "inputs", "go"}
	other := map[string]string{
		"aws.route53.HealthCheck path": "of a URL", "local.Directory files": "names inside of the folder, and texts",
		"aws.iam.Role path": "of a name", "aws.iam.Policy path": "of a name", "aws.iam.User path": "of a name",
		"aws.eventbridge.Rule source": "of an event", "aws.lambda.EventSourceMapping source": "an ARN", "aws.sns.Subscription source": "an ARN",
		"local.Process ready.path": "of a URL", "aws.lambda.Permission source": "an ARN", "aws.lambda.Function fileSystems.*.path": "inside of the function",
	}
	for _, p := range providers.All() {
		for _, k := range p.Kinds {
			spec := k.Spec()
			fields, _, err := spec.Shape()
			if err != nil {
				continue
			}
			known := slices.Concat(spec.Files, grants.MorePaths(spec.Type))
			var walk func([]props.Field)
			walk = func(fields []props.Field) {
				for _, f := range fields {
					steps := f.Path.Steps()
					name := strings.ToLower(steps[len(steps)-1].Key)
					isKnown := slices.ContainsFunc(known, func(q tree.Path) bool { return f.Path.Within(q) || q.Within(f.Path) })
					if slices.Contains(words, name) && !isKnown && other[spec.Type+" "+string(f.Path)] == "" {
						t.Errorf("%s %s (%s): a path on this machine, or something else?", spec.Type, f.Path, f.Type)
					}
					walk(f.Fields)
				}
			}
			walk(fields)
		}
	}
}
