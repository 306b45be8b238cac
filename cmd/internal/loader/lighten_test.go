package loader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
)

const (
	thisImport  = `"github.com/athanor-dev/athanor/cmd"`
	lightImport = `"github.com/athanor-dev/athanor/cmd/stackprogram"`
)

func TestLightened(t *testing.T) {
	t.Parallel()
	const main = "package main\n\nimport " + thisImport + "\n\nfunc main() { cmd.Main(nil, cmd.Stack(\"a\")) }\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  map[string]string // nil: the whole command
	}{
		{"plain", map[string]string{"a.go": main}, map[string]string{"a.go": strings.Replace(main, thisImport, "cmd "+lightImport, 1)}},
		{
			"another name",
			map[string]string{"a.go": "package main\n\nimport c " + thisImport + "\n\nvar o c.Option\n"},
			map[string]string{"a.go": "package main\n\nimport c " + lightImport + "\n\nvar o c.Option\n"},
		},
		{
			"beside others",
			map[string]string{"a.go": main, "b.go": "package main\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n", "a_test.go": "package main\n\nimport " + thisImport + "\n\nvar _ = cmd.Kinds\n"},
			map[string]string{"a.go": strings.Replace(main, thisImport, "cmd "+lightImport, 1)},
		},
		{"own kinds", map[string]string{"a.go": strings.Replace(main, "cmd.Stack(\"a\")", "cmd.Kinds()", 1)}, nil},
		{"own kinds in another file", map[string]string{"a.go": main, "b.go": "package main\n\nimport " + thisImport + "\n\nvar o = cmd.Kinds()\n"}, nil},
		{"the ready-made command", map[string]string{"a.go": strings.Replace(main, "cmd.Main(nil, cmd.Stack(\"a\"))", "cmd.Ready(cmd.Release{})", 1)}, nil},
		{"all its names", map[string]string{"a.go": "package main\n\nimport . " + thisImport + "\n\nfunc main() { Main(nil) }\n"}, nil},
		{"broken", map[string]string{"a.go": main + "}"}, nil},
		{"by a package of its own", map[string]string{"a.go": "package main\n\nimport \"example.com/ours\"\n\nfunc main() { ours.Main() }\n"}, nil},
	} {
		dir := t.TempDir()
		for name, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		have, ok := lightened(dir)
		if ok != (tt.want != nil) || ok && len(have) != len(tt.want) {
			t.Errorf("%s: %t, %d sources", tt.name, ok, len(have))
			continue
		}
		for name, want := range tt.want {
			if have := string(have[filepath.Join(dir, name)]); have != want {
				t.Errorf("%s: %s:\n%s", tt.name, name, have)
			}
		}
	}
}

// Whether a program is of this release is told by the schemas of the kinds that it names.
func TestMustBeCommand(t *testing.T) {
	t.Parallel()
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	a := New(new(terminal.Terminal), nil)
	a.Catalog = catalog
	declare := func(s *athanor.Stack) error {
		local.NewFile(s, "page", local.FileProps{Path: "page.txt"})
		return nil
	}
	same := func() *stackprogram.Answer {
		answer, err := stackprogram.New(declare, "").Evaluation(stackprogram.Question{Stack: "shop", Stage: "test", Dir: t.TempDir()})
		if err != nil || len(answer.Schemas) != 1 {
			t.Fatalf("%+v (%v)", answer, err)
		}
		return answer
	}
	for name, tt := range map[string]struct {
		change func(*stackprogram.Answer)
		why    string
		must   bool
	}{
		"this release":    {func(*stackprogram.Answer) {}, "", false},
		"another schema":  {func(a *stackprogram.Answer) { a.Schemas["local.File"] = "0123" }, "another release of athanor, where local.File differs", true},
		"none":            {func(a *stackprogram.Answer) { a.Schemas["local.File"] = "" }, "another release", true},
		"another answer":  {func(a *stackprogram.Answer) { a.Protocol++ }, "another release", true},
		"an unknown kind": {func(a *stackprogram.Answer) { a.Schemas["own.Thing"] = "0123" }, "", true},
		"own kinds":       {func(a *stackprogram.Answer) { a.OwnKinds = true }, "", true},
		"no pipes":        {func(a *stackprogram.Answer) { a.Then = []string{"f1"} }, "", true},
	} {
		answer := same()
		tt.change(answer)
		why, must := a.mustBeCommand(answer, nil)
		if must != tt.must || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: %t, %q", name, must, why)
		}
	}
}
