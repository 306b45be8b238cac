package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// built has a step that builds, and files that are copied from what it made: directly, and behind a value.
func built(source string) athanor.Program {
	return func(s *athanor.Stack) error {
		build := local.NewCommand(s, "build", local.CommandProps{
			Run: "mkdir -p dist/site && echo built " + source + " > dist/app && cp dist/app dist/site/index", Triggers: source,
		})
		mode := local.NewValue(s, "mode", local.ValueProps{Input: "0644"}, athanor.DependsOn(build))
		app := local.NewFile(s, "app", local.FileProps{Path: "out/app", Source: "dist/app"}, athanor.DependsOn(build))
		local.NewDirectory(s, "site", local.DirectoryProps{Path: "out/site", Source: "dist/site"}, athanor.DependsOn(mode))
		local.NewFile(s, "copy", local.FileProps{Path: "out/copy", Source: "out/app"}, athanor.DependsOn(app))
		return nil
	}
}

// lineOf is the line of an address in a plan.
func lineOf(t *testing.T, p *engine.Plan, addr string) engine.Planned {
	t.Helper()
	for _, a := range p.Actions {
		if a.Address == addr {
			return a
		}
	}
	t.Fatalf("%s is not in the plan", addr)
	return engine.Planned{}
}

// TestDefect11: what a resource of the same run builds is prepared after it.
func TestDefect11(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	check := func(want string) {
		t.Helper()
		for _, name := range []string{"out/app", "out/site/index", "out/copy"} {
			if got := s.read(name); got != "built "+want+"\n" {
				t.Errorf("%s holds %q instead of %s", name, got, want)
			}
		}
	}
	s.deploy(built("one")) // before the first build there is nothing to prepare
	check("one")

	p := s.plan(built("two"))
	for addr, path := range map[string]tree.Path{"app": "source", "site": "files.index", "copy": "source"} {
		a := lineOf(t, p, addr)
		if a.Action != engine.Update || !a.May || len(a.Reasons) == 0 || a.Reasons[0].Path != path || !a.Reasons[0].Unknown || !strings.HasPrefix(a.Reasons[0].Note, "known after ") {
			t.Errorf("%s: %s %+v", addr, a.Action, a.Reasons)
		}
		if digest, listed := a.Assets["source"]; !listed || digest != "" {
			t.Errorf("%s: assets %v", addr, a.Assets)
		}
	}
	s.deploy(built("two"))
	check("two")

	// A build that gives the same again updates nothing.
	if err := os.WriteFile(filepath.Join(s.dir, "dist", "app"), []byte("built two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(s *athanor.Stack) error {
		build := local.NewCommand(s, "build", local.CommandProps{Run: "echo built two > dist/app"})
		local.NewFile(s, "app", local.FileProps{Path: "out/app", Source: "dist/app"}, athanor.DependsOn(build))
		return nil
	}
	if sum := s.apply(s.plan(same)); sum.Updated != 1 || sum.Unchanged != 1 {
		t.Errorf("the same was built again: %+v", sum)
	}

	// Where nothing is to be built the files are those that are there.
	if err := os.WriteFile(filepath.Join(s.dir, "dist", "app"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := lineOf(t, s.plan(same), "app"); a.Action != engine.Update || a.May || a.Reasons[0].Unknown || a.Assets["source"] == "" {
		t.Errorf("an edited file beside a build that does not run: %s %+v %v", a.Action, a.Reasons, a.Assets)
	}

	// A build that fails blocks what is made of it.
	failing := func(s *athanor.Stack) error {
		build := local.NewCommand(s, "build", local.CommandProps{Run: "exit 3"})
		local.NewFile(s, "app", local.FileProps{Path: "out/app", Source: "dist/app"}, athanor.DependsOn(build))
		return nil
	}
	if sum := s.apply(s.plan(failing)); sum.Failed != 1 || sum.Blocked != 1 || s.read("out/app") != "built two\n" {
		t.Errorf("a failed build: %+v %q", sum, s.read("out/app"))
	}
}

// TestDefect11Hooks: hooks build as well: those of what comes before, and the resource's own.
func TestDefect11Hooks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	build := func(text string) athanor.Option {
		return athanor.Before(athanor.Run("mkdir -p dist && echo " + text + " > dist/app"))
	}
	program := func(text string) athanor.Program {
		return func(s *athanor.Stack) error {
			first := local.NewValue(s, "first", local.ValueProps{Input: text}, build(text))
			local.NewFile(s, "after", local.FileProps{Path: "out/after", Source: "dist/app"}, athanor.DependsOn(first))
			return nil
		}
	}
	for _, text := range []string{"one", "two"} {
		s.apply(s.plan(program(text)))
		if got := s.read("out/after"); got != text+"\n" {
			t.Errorf("behind a hook: %q instead of %s", got, text)
		}
	}
	own := func(mode string) athanor.Program {
		return func(s *athanor.Stack) error {
			local.NewFile(s, "own", local.FileProps{Path: "out/own", Source: "made", Mode: &mode}, athanor.Before(athanor.Run("echo x >> made")))
			return nil
		}
	}
	s.apply(s.plan(own("0644")))
	if got := s.read("out/own"); got != "x\n" {
		t.Errorf("behind its own hook: %q", got)
	}
	s.apply(s.plan(own("0600")))
	if got := s.read("out/own"); got != "x\nx\n" {
		t.Errorf("behind its own hook, updated: %q", got)
	}
}

// TestDefect11HeldTo: a plan that knew what is to be deployed is held to it, and one that did not takes what is built.
func TestDefect11HeldTo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(built("one"))
	made := s.plan(built("two"))
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, "dist", "app"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("edited")
	r, err := s.e.Apply(t.Context(), made, engine.ApplyOptions{Command: "deploy"})
	if err != nil || len(r.Failures) > 0 || s.read("out/app") != "built two\n" {
		t.Fatalf("what is built anew: %+v %v %q", r, err, s.read("out/app"))
	}

	// What refers to another resource is prepared again in the run.
	program := func(s *athanor.Stack) error {
		id := random.NewID(s, "id", random.IDProps{})
		local.NewFile(s, "file", local.FileProps{Path: "out/" + id.Hex, Source: "dist/app"})
		return nil
	}
	s.deploy(program)
	write("reviewed")
	p := s.plan(program)
	write("not reviewed")
	r, err = s.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil || len(r.Failures) != 1 || !errors.Is(r.Failures[0], operation.ErrChanged) {
		t.Errorf("files that changed since the plan: %+v %v", r, err)
	}
}
