package cmd

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestStrangersOnlyRead holds every command there is against the list of those that run on a stranger's stack: one that
// is added is refused there until it says itself that it only reads, and until it is in this list.
func TestStrangersOnlyRead(t *testing.T) {
	t.Setenv(untrusted.Variable, "1")
	runs := []string{
		"completion", "config get", "config list", "events", "generate", "graph", "history", "kinds", "output", "plan", "schema", "secret list", "secret recipients",
		"stage list", "state check", "state export", "state history", "state list", "state show", "version",
		"allow --json", "deploy --dry-run", "secret rotate --list-exposed",
	}
	changes := []string{"state check --rebuild-head"} // flags of commands that otherwise only read
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	// refused runs a command whose action does nothing, and reports whether it came that far.
	refused := func(line string) bool {
		a := newApp(&terminal.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, nil, Release{})
		a.Catalog = catalog
		commands, ran := a.commands(), false
		everyCommand(commands, "", func(_ string, c *cli.Command) {
			c.Action = func(*cli.Context) error { ran = true; return nil }
		})
		app := cli.App{Name: "athanor", Reader: a.In, Writer: new(bytes.Buffer), Commands: commands, Guard: untrusted.OnlyRead}
		err := app.Run(t.Context(), append([]string{"athanor"}, strings.Fields(line)...))
		if ran == (err != nil) || err != nil && !strings.Contains(err.Error(), untrusted.Variable) {
			t.Fatalf("%s: ran %t, %v", line, ran, err)
		}
		return !ran
	}
	var known []string
	everyCommand(commandsOf(catalog), "", func(name string, c *cli.Command) {
		known = append(known, name)
		lines := []string{name}
		for _, f := range c.Flags {
			if f, ok := f.(*cli.BoolFlag); ok && f.Name != "help" {
				lines = append(lines, name+" --"+f.Name)
			}
		}
		for _, line := range lines {
			want := slices.Contains(changes, line) || !slices.Contains(runs, line) && !slices.Contains(runs, name)
			if refused(line) != want {
				t.Errorf("%s: refused %t, want %t", line, !want, want)
			}
		}
	})
	if len(known) < 30 {
		t.Errorf("there are %d commands: %v", len(known), known)
	}
}

// commandsOf are the commands of the ready-made binary.
func commandsOf(catalog *reconcile.Catalog) []*cli.Command {
	a := newApp(new(terminal.Terminal), nil, Release{})
	a.Catalog = catalog
	return a.commands()
}

// everyCommand calls with each command that has no commands below it.
func everyCommand(commands []*cli.Command, within string, with func(name string, c *cli.Command)) {
	for _, c := range commands {
		if len(c.Subcommands) > 0 {
			everyCommand(c.Subcommands, within+c.Name+" ", with)
			continue
		}
		with(within+c.Name, c)
	}
}

// TestFlagsNameOneValue: what stands in the first backquotes of a flag's help is the name of its value.
func TestFlagsNameOneValue(t *testing.T) {
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]*)`")
	everyCommand(commandsOf(catalog), "", func(name string, c *cli.Command) {
		for _, f := range c.Flags {
			doc, ok := f.(interface{ GetUsage() string })
			if !ok {
				t.Fatalf("%s --%s: %T has no help", name, f.Names()[0], f)
			}
			_, isBool := f.(*cli.BoolFlag)
			named := quoted.FindAllStringSubmatch(doc.GetUsage(), -1)
			if len(named) > 1 || len(named) == 1 && (isBool || strings.Contains(named[0][1], " ")) {
				t.Errorf("%s --%s names %q as its value", name, f.Names()[0], named)
			}
		}
	})
}
