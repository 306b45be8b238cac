package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// stage is one stage of a program, with its folder, its key and its store.
type stage struct {
	t   *testing.T
	dir string
	e   *engine.Engine
}

func newStage(t *testing.T) *stage {
	t.Helper()
	catalog, err := reconcile.NewCatalog(local.Provider(), random.Provider())
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, dir: t.TempDir(), e: &engine.Engine{Catalog: catalog, Store: mem.New(), Key: key}}
}

func (s *stage) plan(program athanor.Program) *engine.Plan {
	s.t.Helper()
	p, err := s.tryPlan(program)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *stage) tryPlan(program athanor.Program) (*engine.Plan, error) {
	g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "test", Dir: s.dir})
	if err != nil {
		return nil, err
	}
	g.Dir = s.dir
	return s.e.Plan(s.t.Context(), g, engine.PlanOptions{})
}

func (s *stage) apply(p *engine.Plan) engine.Summary {
	s.t.Helper()
	r, err := s.e.Apply(s.t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Summary
}

// deploy deploys, and expects the plan after it to be empty.
func (s *stage) deploy(program athanor.Program) engine.Summary {
	s.t.Helper()
	sum := s.apply(s.plan(program))
	for _, a := range s.plan(program).Actions {
		if a.Action != engine.Unchanged {
			s.t.Errorf("after a deploy %s is planned again: %s %+v", a.Address, a.Action, a.Reasons)
		}
	}
	return sum
}

func (s *stage) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

// shop has one of each kind, each referring to another.
func shop(version int, page string) athanor.Program {
	return func(s *athanor.Stack) error {
		pw := random.NewPassword(s, "pw", random.PasswordProps{Version: version})
		id := random.NewID(s, "id", random.IDProps{Prefix: "shop-"})
		conf := local.NewFile(s, "conf", local.FileProps{
			Path: "out/app.conf", Content: "id=" + id.Hex + "\npassword=" + string(pw.Value) + "\n", Mode: new("0600"),
		})
		site := local.NewDirectory(s, "site", local.DirectoryProps{
			Path: "out/site", Files: map[string]string{"index.html": page, "conf.sum": conf.Digest},
		})
		count := local.NewCommand(s, "count", local.CommandProps{
			Run: "echo run >> runs; cat " + site.Path + "/index.html", Triggers: site.Digest, Undo: "echo undone >> runs",
		})
		local.NewValue(s, "value", local.ValueProps{Input: map[string]any{"page": count.Stdout}})
		return nil
	}
}

func TestStackOfLocalKindsLives(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if sum := s.deploy(shop(0, "hello")); sum.Created != 6 {
		t.Fatalf("first deploy: %+v", sum)
	}
	conf := s.read("out/app.conf")
	if len(conf) < 60 || s.read("out/site/index.html") != "hello" || s.read("runs") != "run\n" {
		t.Errorf("conf %q, runs %q", conf, s.read("runs"))
	}
	if sum := s.deploy(shop(0, "bye")); sum.Updated == 0 || sum.Replaced > 0 || s.read("runs") != "run\nrun\n" || s.read("out/app.conf") != conf {
		t.Errorf("another page: %+v, runs %q", sum, s.read("runs"))
	}
	if sum := s.deploy(shop(1, "bye")); sum.Replaced != 1 || s.read("out/app.conf") == conf {
		t.Errorf("another version: %+v", sum)
	}
	conf = s.read("out/app.conf")
	if err := os.WriteFile(filepath.Join(s.dir, "out/app.conf"), []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := s.read("runs")
	if sum := s.deploy(shop(1, "bye")); sum.Updated == 0 || s.read("out/app.conf") != conf || s.read("runs") != runs {
		t.Errorf("drift: %+v, runs %q", sum, s.read("runs"))
	}
	s.destroy()
	if inside, _ := os.ReadDir(s.dir); len(inside) != 1 || !strings.HasSuffix(s.read("runs"), "undone\n") {
		t.Errorf("after destroy: %v, runs %q", inside, s.read("runs"))
	}
}

func (s *stage) destroy() {
	s.t.Helper()
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Dir: s.dir}
	p, err := s.e.PlanDestroy(s.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, engine.PlanOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(p)
}

// Without state equal files are ours, and values are derived again.
func TestLostStateIsFoundAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	program := func(page string) athanor.Program {
		return func(s *athanor.Stack) error {
			local.NewFile(s, "conf", local.FileProps{Path: "out/app.conf", Content: "a=b"})
			local.NewDirectory(s, "site", local.DirectoryProps{Path: "out/site", Files: map[string]string{"index.html": page}})
			id := random.NewID(s, "id", random.IDProps{})
			local.NewValue(s, "value", local.ValueProps{Input: id.Hex})
			s.Output("id", id.Hex)
			return nil
		}
	}
	s.deploy(program("hello"))
	before := s.outputs()
	s.e.Store, s.e.Known = mem.New(), true
	sum := s.deploy(program("hello"))
	if sum.Created > 0 || sum.Updated > 0 || before["id"] == nil || s.outputs()["id"] != before["id"] {
		t.Errorf("%+v, outputs %v and %v", sum, before, s.outputs())
	}
	if sum := s.deploy(program("bye")); sum.Updated != 1 || s.read("out/site/index.html") != "bye" {
		t.Errorf("then changed: %+v", sum)
	}
}

func (s *stage) outputs() map[string]any {
	s.t.Helper()
	values, _, err := s.e.Outputs(s.t.Context(), statestore.Stage{Stack: "shop", Name: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	return values
}

// A file that is not ours is refused by name, and kept.
func TestForeignFileIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := s.tryPlan(func(s *athanor.Stack) error {
		local.NewFile(s, "a", local.FileProps{Path: "a.txt", Content: "ours"})
		return nil
	})
	if !errors.Is(err, adopt.ErrForeign) {
		t.Errorf("plan: %v", err)
	}
	if text := s.read("a.txt"); text != "theirs" {
		t.Errorf("the file holds %q", text)
	}
}
