package terraform

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// badStage is one stage of a stack with the bad provider, as an engine has it.
type badStage struct {
	t       *testing.T
	dir     string // of the objects
	program string
	e       *engine.Engine
}

func newBadStage(t *testing.T) *badStage {
	t.Helper()
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &badStage{t: t, dir: t.TempDir(), program: program, e: &engine.Engine{Store: mem.New(), Key: key, Cache: t.TempDir()}}
	s.restart()
	return s
}

// restart makes everything new but state, as another command does.
func (s *badStage) restart() {
	s.t.Helper()
	provider := Provider()
	s.t.Cleanup(provider.Close)
	catalog, err := reconcile.NewCatalog(provider)
	if err != nil {
		s.t.Fatal(err)
	}
	s.e.Catalog = catalog
}

// declare is a stack with these resources, of which the catalog is told the provider.
func (s *badStage) declare(resources ...func(*athanor.Stack)) *engine.Graph {
	s.t.Helper()
	settings := Settings{Terraform: "tests/bad", Path: s.program, Config: map[string]any{"dir": s.dir}}
	if len(resources) > 0 {
		p, _ := s.e.Catalog.Provider("terraform")
		if err := p.Declared(s.t.Context(), &settings); err != nil {
			s.t.Fatal(err)
		}
	}
	g, err := athanor.Evaluate(func(stack *athanor.Stack) error {
		in := In(stack, settings)
		for _, r := range resources {
			r(in)
		}
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test", Dir: s.t.TempDir()})
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func resource(typ, name string, props Props, opts ...athanor.Option) func(*athanor.Stack) {
	return func(s *athanor.Stack) {
		all := Props{"name": name}
		maps.Copy(all, props)
		NewResource(s, name, "bad_"+typ, all, opts...)
	}
}

// deploy plans and applies. Its error is that of either.
func (s *badStage) deploy(g *engine.Graph) (map[string]engine.Action, error) {
	s.t.Helper()
	p, err := s.e.Plan(s.t.Context(), g, engine.PlanOptions{AllowDelete: []string{"*"}})
	if err != nil {
		return nil, err
	}
	actions := map[string]engine.Action{} // what is blocked is not applied
	for _, a := range p.Actions {
		actions[a.Address] = a.Action
		if a.Action == engine.Blocked && err == nil {
			err = errors.New(a.Problem)
		}
	}
	if err != nil {
		return actions, err
	}
	r, err := s.e.Apply(s.t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err == nil && len(r.Failures) > 0 {
		err = r.Failures[0]
	}
	return actions, err
}

func (s *badStage) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// TestAdoptAfterALostAnswer goes the two ways out of a creation that was not answered: the object is named, and the same declaration and another one take it
// and make no second one, or the resource is taken out of state, and made.
func TestAdoptAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, extra := range []string{"", "edited"} {
		s := newBadStage(t)
		if _, err := s.deploy(s.declare(resource("panics", "it", nil))); err == nil || !s.has("it") {
			t.Fatalf("the provider did not panic after it made the object: %v", err)
		}
		s.restart()
		declared := Props{}
		if extra != "" {
			declared["extra"] = extra
			if err := os.WriteFile(filepath.Join(s.dir, "it.calm"), nil, 0o600); err != nil { // an update is answered
				t.Fatal(err)
			}
		}
		_, err := s.deploy(s.declare(resource("panics", "it", declared)))
		if err == nil || !strings.Contains(err.Error(), "nothing finds it") {
			t.Fatalf("extra %q: nobody could tell, and the deploy says %v", extra, err)
		}
		s.restart()
		actions, err := s.deploy(s.declare(resource("panics", "it", declared, athanor.Adopt("i-it"))))
		if err != nil || actions["it"] != engine.Adopt {
			t.Errorf("extra %q: it would %s, %v", extra, actions["it"], err)
		}
		s.restart()
		if actions, err = s.deploy(s.declare(resource("panics", "it", declared, athanor.Adopt("i-it")))); err != nil || actions["it"] != engine.Unchanged {
			t.Errorf("extra %q: after it the plan would %s, %v", extra, actions["it"], err)
		}
	}
	// Where nothing was made, it is taken out of state, and made.
	s := newBadStage(t)
	if _, err := s.deploy(s.declare(resource("panics", "it", nil))); err == nil {
		t.Fatal("no panic")
	}
	if err := errors.Join(os.Remove(filepath.Join(s.dir, "it")), os.WriteFile(filepath.Join(s.dir, "it.calm"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.restart()
	removal, err := s.e.PlanRemove(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, []string{"it"})
	if err == nil {
		_, err = s.e.Apply(t.Context(), removal, engine.ApplyOptions{Command: "state rm"})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.restart()
	if actions, err := s.deploy(s.declare(resource("panics", "it", nil))); err != nil || actions["it"] != engine.Create || !s.has("it") {
		t.Errorf("after it was taken out of state it would %s, %v; there %t", actions["it"], err, s.has("it"))
	}
	// What is named must exist.
	s = newBadStage(t)
	if _, err := s.deploy(s.declare(resource("panics", "it", nil))); err == nil {
		t.Fatal("no panic")
	}
	s.restart()
	if _, err := s.deploy(s.declare(resource("panics", "it", nil, athanor.Adopt("i-other")))); err == nil || errors.Is(err, reconcile.ErrCannotTell) ||
		!strings.Contains(err.Error(), "i-other") {
		t.Errorf("there is no i-other, and the deploy says %v", err)
	}
}

// TestDeleteWithoutProgram deletes what no program declares any more, with the settings that state keeps: nobody tells the provider of them first.
func TestDeleteWithoutProgram(t *testing.T) {
	t.Parallel()
	s := newBadStage(t)
	if _, err := s.deploy(s.declare(resource("good", "one", nil), resource("good", "two", nil))); err != nil {
		t.Fatal(err)
	}
	s.restart()
	actions, err := s.deploy(s.declare())
	if err != nil || actions["one"] != engine.Delete || s.has("one") || s.has("two") {
		t.Errorf("it would %s, left %t %t, %v", actions["one"], s.has("one"), s.has("two"), err)
	}
}

// TestConfigOfAnotherResource configures a provider from an attribute of a resource of the same stack: what comes before is made first, all else
// is planned without being looked for, and state alone says where it was made.
func TestConfigOfAnotherResource(t *testing.T) {
	t.Parallel()
	s, dir := newBadStage(t), t.TempDir()
	declare := func(dir string, with ...string) *engine.Graph {
		g := s.declare(func(in *athanor.Stack) {
			server := NewResource(in, "server", "bad_good", Props{"name": "server", "extra": dir})
			inner := In(in, Settings{Config: map[string]any{"dir": server.Attr("extra")}})
			for _, name := range with {
				NewResource(inner, name, "bad_good", Props{"name": name})
			}
		})
		p, _ := s.e.Catalog.Provider("terraform")
		for i := range g.Resources {
			typed := new(Settings)
			if err := props.Decode(g.Resources[i].Settings, typed); err != nil {
				t.Fatal(err)
			}
			if err := p.Declared(t.Context(), typed); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}
	in := func(dir, name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	actions, err := s.deploy(declare(dir, "one", "two"))
	if err != nil || actions["one"] != engine.Create || !in(dir, "one") || !in(dir, "two") || s.has("one") {
		t.Fatalf("one: %s, there %t, two there %t, elsewhere %t, %v", actions["one"], in(dir, "one"), in(dir, "two"), s.has("one"), err)
	}
	s.restart()
	if actions, err = s.deploy(declare(dir, "one", "two")); err != nil || actions["one"] != engine.Unchanged || actions["server"] != engine.Unchanged {
		t.Errorf("deployed again: %v, %v", actions, err)
	}
	s.restart()
	if actions, err = s.deploy(declare(dir, "one")); err != nil || actions["two"] != engine.Delete || in(dir, "two") {
		t.Errorf("two is declared no more: %s, there %t, %v", actions["two"], in(dir, "two"), err)
	}
	s.restart()
	if actions, err = s.deploy(s.declare()); err != nil || actions["one"] != engine.Delete || in(dir, "one") || s.has("server") {
		t.Errorf("nothing is declared: %s, there %t, the server %t, %v", actions["one"], in(dir, "one"), s.has("server"), err)
	}
}

// TestAdoptOfAnotherType adopts an object of a state file that is of a type which the provider makes one of its own types of. One that it does not know
// is an error, and nothing is made.
func TestAdoptOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, want string }{{"older_thing", ""}, {"older_other", "Cannot move registry.opentofu.org/tests/older older_other"}} {
		s := newBadStage(t)
		if err := os.WriteFile(filepath.Join(s.dir, "it"), []byte(`{"name": "it"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "old.tfstate")
		if err := os.WriteFile(file, []byte(`{"version": 4, "resources": [{"mode": "managed", "type": "`+c.typ+`", "name": "it",
			"provider": "module.a.provider[\"registry.opentofu.org/tests/older\"].second",
			"instances": [{"schema_version": 3, "private": "bnVsbA==", "attributes": {"title": "it"}}]}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		declared := s.declare(resource("good", "it", nil, athanor.Adopt("tfstate:"+file+"#"+c.typ+".it")))
		actions, err := s.deploy(declared)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: it would %s, and says %v, want %q", c.typ, actions["it"], err, c.want)
			}
			continue
		}
		if err != nil || actions["it"] != engine.Adopt {
			t.Errorf("%s: it would %s, %v", c.typ, actions["it"], err)
		}
		s.restart()
		if actions, err = s.deploy(declared); err != nil || actions["it"] != engine.Unchanged {
			t.Errorf("%s: after it the plan would %s, %v", c.typ, actions["it"], err)
		}
	}
}

// TestKindMovesInState declares another type for what state has: it is replaced, unless the author says that it is to be moved. Then the provider makes an object of the
// declared type of it, or says why it cannot, and nothing is done.
func TestKindMovesInState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, adopt string
		want        engine.Action
		says        string
	}{
		{"other", "kind:tf.bad_other", engine.Move, ""},
		{"other", "", engine.Replace, "with `options: {adopt: kind:tf.bad_other}` it would be moved"},
		{"other", "kind:tf.bad_own", engine.Replace, ""},
		{"own", "kind:tf.bad_own", engine.Blocked, "it cannot be moved to this kind: tests/bad: MoveResourceState: Cannot move registry.opentofu.org/tests/bad bad_own"},
	} {
		s := newBadStage(t)
		if _, err := s.deploy(s.declare(resource(c.from, "it", nil))); err != nil {
			t.Fatal(err)
		}
		s.restart()
		log := filepath.Join(s.dir, "calls.log")
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var says []athanor.Option
		if c.adopt != "" {
			says = append(says, athanor.Adopt(c.adopt))
		}
		declared := s.declare(resource("good", "it", nil, says...))
		p, err := s.e.Plan(t.Context(), declared, engine.PlanOptions{AllowDelete: []string{"*"}})
		if err != nil || p.Actions[0].Action != c.want || !strings.Contains(strings.Join(p.Actions[0].Notes, "; ")+p.Actions[0].Problem, c.says) {
			t.Fatalf("%s as %q: it would %s (%q, %s), %v", c.from, c.adopt, p.Actions[0].Action, p.Actions[0].Notes, p.Actions[0].Problem, err)
		}
		if c.want == engine.Blocked {
			continue
		}
		if actions, err := s.deploy(declared); err != nil || actions["it"] != c.want || !s.has("it") {
			t.Errorf("%s as %q: it would %s, %v; the object is there: %t", c.from, c.adopt, actions["it"], err, s.has("it"))
		}
		calls, err := os.ReadFile(log)
		if changed := strings.Contains(string(calls), "ApplyResourceChange"); err != nil || changed != (c.want == engine.Replace) {
			t.Errorf("%s as %q: the provider is asked\n%s(%v)", c.from, c.adopt, calls, err)
		}
		s.restart()
		if actions, err := s.deploy(declared); err != nil || actions["it"] != engine.Unchanged {
			t.Errorf("%s as %q: after it the plan would %s, %v", c.from, c.adopt, actions["it"], err)
		}
		if _, err := s.deploy(s.declare()); err != nil || s.has("it") {
			t.Errorf("%s as %q: declared no more it is there: %t, %v", c.from, c.adopt, s.has("it"), err)
		}
	}
}

// TestAsksNoMoreThanItMust counts the calls of each command: what the provider would answer as before is not asked, such as the plan of a creation, and an
// object is not read twice before it is deleted. What is in state alone is not read.
func TestAsksNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	s := newBadStage(t)
	log := filepath.Join(s.dir, "calls.log")
	calls := func(with ...func(*athanor.Stack)) string {
		t.Helper()
		s.restart()
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.deploy(s.declare(with...)); err != nil {
			t.Fatal(err)
		}
		made, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(made))
		return strings.Join(slices.DeleteFunc(all, func(call string) bool { return call == "ConfigureProvider" }), " ")
	}
	it, warns := resource("good", "it", Props{"extra": "a"}), resource("warns", "it", nil)
	kept := func(s *athanor.Stack) { NewResource(s, "kept", "random_kept", Props{"name": "kept"}) }
	for _, c := range []struct {
		what string
		with []func(*athanor.Stack)
		want string
	}{
		{"a creation", []func(*athanor.Stack){it}, "ValidateResourceConfig PlanResourceChange ApplyResourceChange ReadResource PlanResourceChange"},
		{"unchanged after a creation", []func(*athanor.Stack){it}, "ReadResource PlanResourceChange"},
		{"unchanged", []func(*athanor.Stack){it}, "ReadResource PlanResourceChange"},
		{"another declaration", []func(*athanor.Stack){resource("good", "it", Props{"extra": "b"})}, "ValidateResourceConfig "},
		{"not declared", nil, "ReadResource ReadResource ApplyResourceChange"},
		{"with a warning", []func(*athanor.Stack){warns}, "ValidateResourceConfig "},
		{"with a warning, unchanged", []func(*athanor.Stack){warns}, "ValidateResourceConfig ReadResource PlanResourceChange"},
		{"none", nil, "ReadResource "},
		{"what is in state alone", []func(*athanor.Stack){kept}, "ValidateResourceConfig PlanResourceChange ApplyResourceChange PlanResourceChange"},
		{"what is in state alone, unchanged", []func(*athanor.Stack){kept}, "PlanResourceChange"},
		{"what is in state alone, not declared", nil, "ApplyResourceChange"},
	} {
		if got := calls(c.with...); got != c.want && (!strings.HasSuffix(c.want, " ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
