package athanor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// here is the folder of these tests, so that places are short.
func here(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller")
	}
	return filepath.Dir(file)
}

func evaluate(t testing.TB, program athanor.Program, spelling athanor.Spelling) (*engine.Graph, error) {
	t.Helper()
	return athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev", Dir: here(t), Spelling: spelling})
}

func mustEvaluate(t testing.TB, program athanor.Program) *engine.Graph {
	t.Helper()
	g, err := evaluate(t, program, athanor.Plain)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDeclare(t *testing.T) {
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		net := s.With("test", map[string]any{"region": "north"}).Scope("net")
		dead := newQueue(net, "dead", queueProps{VisibilityTimeout: new(90 * time.Second)})
		newQueue(s, "a", queueProps{DeadLetter: dead.ARN, Port: dead.Port, Zones: append(dead.Zones, "x"), Name: "q-" + dead.URL}, athanor.DependsOn(dead))
		athanor.Declare(net.With("test", map[string]any{"zone": 1}), ledgerKind(), "t", ledgerProps{Key: string(dead.Live)})
		s.Output("zones", dead.Zones)
		return nil
	})
	want := []engine.Resource{
		{Address: "a", Kind: "test.Queue", Options: engine.Options{DependsOn: []string{"net/dead"}}, Props: map[string]any{
			"deadLetter": "⟦net/dead.arn⟧", "port": "⟦net/dead.port⟧", "zones": []any{"⟦net/dead.zones...⟧", "x"}, "name": "q-⟦net/dead.url⟧",
		}},
		{Address: "net/dead", Kind: "test.Queue", Props: map[string]any{"visibilityTimeout": "1m30s"}, Settings: map[string]any{"region": "north"}},
		{Address: "net/t", Kind: "Test::Data::Table", Props: map[string]any{"key": "⟦net/dead.live⟧"}, Settings: map[string]any{"region": "north", "zone": int64(1)}},
	}
	for i := range g.Resources {
		if at := g.Resources[i].Source; !strings.HasPrefix(at, "evaluate_test.go:") && !strings.HasPrefix(at, "world_test.go:") {
			t.Errorf("%s is at %q", g.Resources[i].Address, at)
		}
		g.Resources[i].Source = ""
	}
	if !reflect.DeepEqual(g.Resources, want) {
		t.Errorf("got  %+v\nwant %+v", g.Resources, want)
	}
	if out := fmt.Sprint(g.Outputs["zones"]); out != "[⟦net/dead.zones...⟧]" {
		t.Errorf("output %s", out)
	}
}

func TestGraphIsADocument(t *testing.T) {
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		q := newQueue(s, "q", queueProps{Policy: s.JSON(map[string]any{"n": athanor.Num(3)})}, athanor.Timeout(time.Minute), athanor.IgnoreChanges("tags.*"))
		athanor.Read(s, ledgerKind(), "t", "id-1")
		s.Output("n", map[string]any{"url": q.URL, "n": 3})
		s.Forget("old")
		s.Secret("pw", athanor.FromFile("pw.txt"))
		athanor.Config(s, "wait", athanor.Default(time.Hour))
		return nil
	})
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	again, err := engine.ReadGraph(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := athanor.Check(g, again); err != nil {
		t.Error(err)
	}
	first, _ := g.Digest()
	second, _ := again.Digest()
	if first == "" || first != second {
		t.Errorf("digests %q and %q", first, second)
	}
}

// The order in which a program declares does not matter.
func TestOrderDoesNotMatter(t *testing.T) {
	program := func(names ...string) athanor.Program {
		return func(s *athanor.Stack) error {
			for _, n := range names {
				newQueue(s, n, queueProps{Name: n})
				s.Forget("old-" + n)
			}
			return nil
		}
	}
	first, _ := mustEvaluate(t, program("a", "b", "c")).Digest()
	second, _ := mustEvaluate(t, program("c", "a", "b")).Digest()
	if first != second {
		t.Error("another order is another graph")
	}
}

func TestMistakesComeTogether(t *testing.T) {
	var other queue
	mustEvaluate(t, func(s *athanor.Stack) error {
		other = newQueue(s, "elsewhere", queueProps{})
		return nil
	})
	tests := []struct {
		name    string
		program func(s *athanor.Stack)
		want    string
	}{
		{"twice", func(s *athanor.Stack) {
			newQueue(s, "a", queueProps{})
			newQueue(s, "a", queueProps{Name: "other"})
		}, "a: declared twice: world_test.go:"},
		{"address", func(s *athanor.Stack) { newQueue(s, "1", queueProps{}) }, `bad address "1"`},
		{"address with a reference", func(s *athanor.Stack) { newQueue(s, other.URL, queueProps{}) }, "bad address: it holds a reference"},
		{"scope", func(s *athanor.Stack) { s.Scope("a b") }, `scope: bad address "a b"`},
		{"props", func(s *athanor.Stack) { newQueue(s, "a", queueProps{Port: "many"}) }, "a: port: want a whole number"},
		{"nil kind", func(s *athanor.Stack) {
			athanor.Declare[queueProps, queue](s, nil, "a", queueProps{})
		}, "a: declared with a nil kind"},
		{"settings", func(s *athanor.Stack) { s.With("test", 3) }, "settings of test: want a struct or a map"},
		{"settings with a reference", func(s *athanor.Stack) { s.With("test", map[string]any{"region": other.URL}) }, "settings of test: region: a reference: places must be known"},
		{"depends on nothing", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, athanor.DependsOn(3)) }, "a: dependsOn: a int speaks of no resource"},
		{"deleted with several", func(s *athanor.Stack) {
			newQueue(s, "a", queueProps{}, athanor.DeletedWith([]string{"⟦b.x⟧", "⟦c.x⟧"}))
		}, "a: deletedWith: want one resource"},
		{"renamed", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, athanor.RenamedFrom("b/")) }, `a: renamedFrom: bad address "b/"`},
		{"adopt", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, athanor.Adopt(other.URL)) }, "a: adopt: takes no reference"},
		{"path", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, athanor.IgnoreChanges("a[")) }, "a: ignoreChanges: "},
		{"timeout", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, athanor.Timeout(-1)) }, "a: timeout: a negative span"},
		{"hook", func(s *athanor.Stack) {
			newQueue(s, "a", queueProps{}, athanor.Before(athanor.Run("echo "+other.URL)))
		}, "a: before: the command takes no reference"},
		{"read by nothing", func(s *athanor.Stack) { athanor.Read(s, queueKind(), "a", queueProps{}) }, "a: read: no prop is set"},
		{"read by another type", func(s *athanor.Stack) { athanor.Read(s, queueKind(), "a", ledgerProps{Key: "x"}) }, "a: read: want an identity or a athanor_test.queueProps"},
		{"output", func(s *athanor.Stack) { s.Output("a b", 1) }, "output a b: bad name"},
		{"output twice", func(s *athanor.Stack) { s.Output("a", 1); s.Output("a", 2) }, "output a: declared twice: evaluate_test.go:"},
		{"output of a function", func(s *athanor.Stack) { s.Output("a", func() {}) }, "output a: "},
		{"forgotten and declared", func(s *athanor.Stack) { s.Forget("a"); newQueue(s, "a", queueProps{}) }, "a: forgotten and declared: world_test.go:"},
		{"secret", func(s *athanor.Stack) { s.Secret("k", athanor.FromEnv("A")); s.Secret("k") }, "secret k: asked for with two different sources"},
		{"config", func(s *athanor.Stack) { athanor.Config[int](s, "n") }, "config n: it has no value"},
		{"config types", func(s *athanor.Stack) {
			athanor.Config(s, "n", athanor.Default(1))
			athanor.Config(s, "n", athanor.Default("1"))
		}, "config n: asked for as int and as string: evaluate_test.go:"},
		{"bind to nothing", func(s *athanor.Stack) { s.Bind("b", "k", queueBinding{}) }, `bind "k": nothing is declared as "b"`},
		{"bind key", func(s *athanor.Stack) {
			a := newQueue(s, "a", queueProps{})
			s.Bind(a, "k", queueBinding{Allow: "x"})
			s.Bind(a, "k", queueBinding{Allow: "y"})
		}, `a: bind "k": another row has this key: evaluate_test.go:`},
		{"bind type", func(s *athanor.Stack) { s.Bind(newQueue(s, "a", queueProps{}), "k", ledger{}) }, `a: bind "k": a test.Queue takes bindings of type athanor_test.queueBinding, not athanor_test.ledger`},
		{"bind to what is read", func(s *athanor.Stack) {
			s.Bind(athanor.Read(s, queueKind(), "a", "id"), "k", queueBinding{})
		}, `bind "k": nothing is declared as "a"`},
		{"JSON", func(s *athanor.Stack) { s.JSON(map[string]any{"f": func() {}}) }, "JSON: f: "},
		{"URL", func(s *athanor.Stack) { s.URL("https://%s/", "a", "b") }, "URL: a URL with 1 %s and 2 arguments"},
		{"nil option", func(s *athanor.Stack) { newQueue(s, "a", queueProps{}, nil) }, "a: options: a nil option"},
		{"nil policy", func(s *athanor.Stack) { s.Policy(nil) }, "a nil policy"},
		{"damaged", func(s *athanor.Stack) { newQueue(s, "a", queueProps{Name: other.URL[2:]}) }, "a: name: a damaged reference"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := evaluate(t, func(s *athanor.Stack) error { tt.program(s); return nil }, athanor.Plain)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want one that says %q", err, tt.want)
			}
			if !strings.Contains(fmt.Sprint(err), "_test.go:") {
				t.Errorf("no place in %v", err)
			}
		})
	}
	_, err := evaluate(t, func(s *athanor.Stack) error {
		for _, tt := range tests {
			tt.program(s.Scope("s"))
		}
		return errors.New("and its own")
	}, athanor.Plain)
	wrong, ok := errors.AsType[*engine.GraphError](err)
	if !ok || len(wrong.Problems) < len(tests) {
		t.Errorf("not all at once: %v", err)
	}
	if !errors.Is(err, athanor.ErrTwice) || !errors.Is(err, graph.ErrAddress) || !errors.Is(err, athanor.ErrNoConfig) {
		t.Errorf("sentinels are lost: %v", err)
	}
}

func TestConfig(t *testing.T) {
	program := func(s *athanor.Stack) error {
		s.Output("v", []any{
			athanor.Config(s, "text", athanor.Default("a"), athanor.ForStage("prod", "b")),
			athanor.Config(s, "n", athanor.ForStage("prod", 2), athanor.Default(1)),
			athanor.Config(s, "wait", athanor.Default(90*time.Second)),
			athanor.Config(s, "on", athanor.Default(false)),
			athanor.Config(s, "list", athanor.Default([]string{"x"})),
		})
		return nil
	}
	tests := []struct {
		stage string
		given map[string]string
		want  string
	}{
		{"dev", nil, "[a 1 1m30s false [x]]"},
		{"prod", nil, "[b 2 1m30s false [x]]"},
		{"prod", map[string]string{"text": "c", "n": "3", "wait": "2m", "on": "true", "list": "y, z"}, "[c 3 2m true [y z]]"},
		{"dev", map[string]string{"n": "x"}, `config n: want a whole number, have "x"`},
		{"dev", map[string]string{"wiat": "1s"}, "config wiat: a value is given, but the program has no such config"},
	}
	for _, tt := range tests {
		g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: tt.stage, Config: tt.given})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(g.Outputs["v"])
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: got %s, want %s", tt.stage, tt.given, got, tt.want)
		}
	}
}

func TestThen(t *testing.T) {
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		q := newQueue(s, "q", queueProps{})
		s.Output("account", s.Then(q.ARN, func(arn string) string { return strings.Split(arn, ":")[1] }))
		s.Output("port", athanor.Then(s, q.Port, func(p int) (athanor.Int, error) { return athanor.Num(int64(p) + 1), nil }))
		s.Output("both", athanor.Then(s, q, func(q queue) (string, error) { return q.URL + "!", nil }))
		return nil
	})
	if fmt.Sprint(g.Program) != "[then]" {
		t.Errorf("the graph says it needs %v", g.Program)
	}
	attrs := map[string]any{"arn": "a:b", "url": "u", "port": int64(80), "zones": []any{"z"}, "live": true}
	lookup := func(e token.Expr) (token.Value, error) {
		if e.Op == token.OpThen {
			v, err := g.Funcs.Then[e.Name](e.Input)
			return token.Value{Any: v}, err
		}
		return token.Value{Any: attrs[string(e.Ref.Path)]}, nil
	}
	r, err := token.Resolve(g.Outputs, lookup)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Tree); got != "map[account:b both:u! port:81]" {
		t.Errorf("got %s", got)
	}
	attrs["arn"] = "no colon"
	if _, err := token.Resolve(g.Outputs, lookup); err == nil || !strings.Contains(err.Error(), "evaluate_test.go:") || !strings.Contains(err.Error(), ": your program panicked: ") {
		t.Errorf("a panic gives %v", err)
	}
	attrs["arn"], attrs["port"] = "a:b", "many"
	if _, err := token.Resolve(g.Outputs, lookup); err == nil || !strings.Contains(err.Error(), "what a function of the program is given: want a whole number") {
		t.Errorf("a wrong input gives %v", err)
	}
}

func TestHooksAndPolicies(t *testing.T) {
	called := ""
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		newQueue(s, "q", queueProps{}, athanor.Before(athanor.Run("make seed")),
			athanor.After(athanor.Run("true"), athanor.Call(func(_ context.Context, i athanor.HookInfo) error {
				called = i.Address
				return nil
			})))
		s.Policy(func(*athanor.Plan) []athanor.Violation { return []athanor.Violation{{Message: "no"}} })
		return nil
	})
	o := g.Resources[0].Options
	if len(o.Before) != 1 || o.Before[0].Run != "make seed" || len(o.After) != 2 || fmt.Sprint(g.Program) != "[hook policy]" {
		t.Fatalf("options %+v, program %v", o, g.Program)
	}
	if err := g.Funcs.Hooks[o.After[1].Func](t.Context(), athanor.HookInfo{Address: "q"}); err != nil || called != "q" {
		t.Errorf("the hook was called with %q: %v", called, err)
	}
	if v := g.Funcs.Policies[0](nil); len(v) != 1 {
		t.Error("the policy is another")
	}
}

func TestBindingsAreSorted(t *testing.T) {
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		fn := newQueue(s, "fn", queueProps{Bindings: []queueBinding{{Sid: "own", Allow: "x"}}})
		orders := newQueue(s, "orders", queueProps{})
		s.Bind(fn, "z", queueBinding{Allow: "z"})
		orders.Grant(s, fn)
		orders.Grant(s, fn)
		s.Bind(athanor.Declare(s, ledgerKind(), "t", ledgerProps{}), "k", &queueBinding{Allow: "t"})
		return nil
	})
	if got := fmt.Sprint(g.Resources[0].Props); got != "map[bindings:[map[allow:x sid:own] map[allow:⟦orders.arn⟧ sid:send] map[allow:z sid:z]]]" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(g.Resources[2].Props); got != "map[bindings:map[k:map[allow:t]]]" {
		t.Errorf("got %s", got)
	}
	for key, want := range map[string]string{"z": `^athanor\.Stack\.Bind, evaluate_test\.go:\d+$`, "send": `^athanor\.Stack\.Bind, world_test\.go:\d+$`, "own": "^$"} {
		if by := g.Resources[0].Bound[key]; !regexp.MustCompile(want).MatchString(by) {
			t.Errorf("%s is bound by %q, want %s", key, by, want)
		}
	}
}

// Structs and typed references may stand at any depth of what becomes a tree.
func TestTreesOfAnything(t *testing.T) {
	type inner struct {
		Port athanor.Int
		Wait time.Duration
	}
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		q := newQueue(s, "q", queueProps{})
		s.Output("deep", map[string]any{
			"list":  []map[string]any{{"port": athanor.Num(3), "ref": q.Port}},
			"named": map[string][]inner{"a": {{Port: q.Port, Wait: time.Minute}}},
			"none":  []string(nil), "empty": []any{}, "pointer": &inner{Port: "1"}, "on": athanor.True,
		})
		return nil
	})
	data, err := json.Marshal(g.Outputs["deep"])
	want := `{"empty":[],"list":[{"port":3,"ref":"⟦q.port⟧"}],"named":{"a":[{"port":"⟦q.port⟧","wait":"1m"}]},"none":null,"on":true,"pointer":{"port":1}}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v\nwant %s", data, err, want)
	}
}

func TestHintsAreData(t *testing.T) {
	_, err := evaluate(t, func(s *athanor.Stack) error {
		athanor.Config[string](s, "domain")
		return nil
	}, athanor.Plain)
	if hints := reconcile.Hints(err); len(hints) != 1 || hints[0] != "--config domain=…" {
		t.Errorf("hints %q", hints)
	}
}

// A variable gives the value of a config whatever way its name is written, and may be meant for another program.
func TestConfigVariable(t *testing.T) {
	for name, want := range map[string]string{
		"size": "SIZE", "dbSize": "DB_SIZE", "zoneID": "ZONE_ID", "URL": "URL", "httpURLPath": "HTTP_URL_PATH", "zone-id": "ZONE_ID",
		"zone_id": "ZONE_ID", "a2B": "A2_B", "aB": "A_B",
	} {
		if have := athanor.ConfigVariable(name); have != athanor.ConfigPrefix+want {
			t.Errorf("%s is %s, want %s", name, have, want)
		}
	}
	given := map[string]string{"ATHANOR_CONFIG_ZONE_ID": "variable", "ATHANOR_CONFIG_DB_SIZE": "variable", "dbSize": "named"}
	for name, want := range map[string]string{"zoneID": "variable", "dbSize": "named", "size": ""} {
		if have, ok := athanor.GivenConfig(given, name); have != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", name, have, want)
		}
	}
	if errs := athanor.CheckConfig(given, []string{"zoneID"}); len(errs) != 1 || !errors.Is(errs[0], athanor.ErrUnknownConfig) {
		t.Errorf("%v, want one error about dbSize", errs)
	}
}
