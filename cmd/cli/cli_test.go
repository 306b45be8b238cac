package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// testApp returns a command line whose commands note what reached them.
func testApp(out *bytes.Buffer, seen *[]string) App {
	note := func(c *Context) error {
		flags := []string{c.Command.HelpName, c.String("out"), strings.Join(c.StringSlice("target"), "|")}
		*seen = append(flags, c.Args().Slice()...)
		return nil
	}
	flags := func() []Flag {
		return StageFlags("dev-me", append(SelectFlags(), YesFlag(), OutFlag("write `FILE`"))...)
	}
	return App{
		Name: "athanor", Usage: "test", Writer: out,
		Meant: map[string]string{"apply": "`athanor plan` does that", "show": "state show shows one"},
		Commands: []*Command{
			{Name: "plan", Usage: "plans", ArgsUsage: "[TARGET]", UsageText: "plan   here", Flags: flags(), Action: note},
			{Name: "state", Usage: "state", Subcommands: []*Command{{Name: "show", Flags: flags(), Action: note}}},
		},
	}
}

// Flags stand before and after arguments, wherever they are.
func TestFlagsAnywhere(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"plan", "athanor plan,,"},
		{"plan ./shop --out f -y", "athanor plan,f,,./shop"},
		{"plan --out=f ./shop", "athanor plan,f,,./shop"},
		{"plan -t a ./shop -t b", "athanor plan,,a|b,./shop"},
		{"plan --out -x -", "athanor plan,-x,,-"},
		{"plan -y -- --shop -y", "athanor plan,,,--shop,-y"},
		{"plan a --yes -- b --out", "athanor plan,,,a,b,--out"},
		{"plan -t a,b", "athanor plan,,a,b"},
		{"state show queue --out f ./shop", "athanor state show,f,,queue,./shop"},
	} {
		var out bytes.Buffer
		var seen []string
		if err := testApp(&out, &seen).Run(t.Context(), append([]string{"athanor"}, strings.Fields(tt.line)...)); err != nil {
			t.Errorf("%s: %v", tt.line, err)
		}
		if have := strings.Join(seen, ","); have != tt.want {
			t.Errorf("%s reaches %s, want %s", tt.line, have, tt.want)
		}
	}
}

// TestDurations: a flag takes days beside the units of Go, after = too and from its variable, and says what it takes.
func TestDurations(t *testing.T) {
	for value, want := range map[string]any{
		"30d": 30 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "": 5 * time.Second,
		"a month": "it is no duration such as 90s, 72h or 30d", "30": "it is no duration such as 90s, 72h or 30d",
	} {
		for _, by := range []string{"argument", "variable"} {
			var have any
			t.Setenv("TEST_KEEP", "")
			flag := &GenericFlag{Name: "keep", EnvVars: []string{"TEST_KEEP"}, Value: &Duration{Value: 5 * time.Second}}
			app := App{Name: "athanor", Writer: io.Discard, Commands: []*Command{{Name: "serve", Flags: []Flag{flag}, Action: func(c *Context) error {
				have = c.Duration("keep")
				return nil
			}}}}
			args := []string{"athanor", "serve"}
			switch {
			case by == "variable":
				t.Setenv("TEST_KEEP", value)
			case value != "":
				args = append(args, "--keep="+value)
			}
			if err := app.Run(t.Context(), args); err != nil {
				_, have, _ = strings.Cut(err.Error(), value+": ")
			}
			if have != want {
				t.Errorf("%q by %s: %v, want %v", value, by, have, want)
			}
		}
	}
}

// What is no command and no flag is refused, and the hint says what to type.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ line, want, hint string }{
		{"plna", `there is no command "plna"`, "did you mean plan?"},
		{"apply", `there is no command "apply"`, "`athanor plan` does that"},
		{"help apply", `there is no command "apply"`, "`athanor plan` does that"},
		{"state apply", `there is no command "state apply"`, "there is state show"},
		{"nonsense", `there is no command "nonsense"`, "there is plan, state"},
		{"help plna", `there is no command "plna"`, "did you mean plan?"},
		{"state shwo", `there is no command "state shwo"`, "did you mean state show?"},
		{"state show --otu x", "state show has no flag --otu", "did you mean --out?"},
		{"plan --nonsense", "plan has no flag --nonsense", "`athanor plan --help` lists the flags"},
		{"plan a --out", "flag --out needs a value", "`athanor plan --help` lists the flags"},
		{"plan --out --yes a", "flag --out needs a value", "`athanor plan --help` lists the flags"},
		{"plan --yes=maybe", "--yes maybe: it is no switch value: true or false", "`athanor plan --help` lists the flags"},
		{"--yes plan", "flag --yes before the command", "flags come after the command: athanor deploy --yes"},
	} {
		var out bytes.Buffer
		var seen []string
		err := testApp(&out, &seen).Run(t.Context(), append([]string{"athanor"}, strings.Fields(tt.line)...))
		if err == nil || err.Error() != tt.want || !slices.Equal(reconcile.Hints(err), []string{tt.hint}) {
			t.Errorf("%s: %v, hints %q; want %s, %s", tt.line, err, reconcile.Hints(err), tt.want, tt.hint)
		}
		if seen != nil || out.Len() > 0 {
			t.Errorf("%s ran %q and printed %s", tt.line, seen, out.String())
		}
	}
}

// A call for help runs nothing, wherever it stands, and all forms of it print the same.
func TestCallsForHelp(t *testing.T) {
	for want, lines := range map[string][]string{
		"athanor: test":                        {"", "help", "--help", "-h"},
		"athanor plan [TARGET] [FLAGS]: plans": {"plan --help", "help plan", "plan ./shop --yes -h", "plan -h ./shop"},
		"athanor state COMMAND [FLAGS]: state": {"state", "state --help", "help state"},
		"athanor state show [FLAGS]: ":         {"state show --help", "help state show", "state show queue -h"},
	} {
		text := ""
		for _, line := range lines {
			var out bytes.Buffer
			var seen []string
			err := testApp(&out, &seen).Run(t.Context(), append([]string{"athanor"}, strings.Fields(line)...))
			if err != nil || seen != nil || !strings.HasPrefix(out.String(), want+"\n") || text != "" && text != out.String() {
				t.Errorf("%q: %v, ran %q, printed %s", line, err, seen, out.String())
			}
			text = out.String()
		}
	}
}

// TestHelpOfACommand: help COMMAND is COMMAND --help, as in other tools, and what is printed goes through the function for it.
func TestHelpOfACommand(t *testing.T) {
	for line, want := range map[string]string{
		"help": "athanor: test", "help plan": "athanor plan [TARGET]", "help state show": "athanor state show", "help plan --json": "athanor plan [TARGET]",
	} {
		var out bytes.Buffer
		app := testApp(&out, new([]string))
		shown := ""
		app.Help = func(_ io.Writer, text string) { shown = text }
		if err := app.Run(t.Context(), append([]string{"athanor"}, strings.Fields(line)...)); err != nil || !strings.HasPrefix(shown, want) || out.Len() > 0 {
			t.Errorf("%s shows %.60q and writes %q: %v", line, shown, out.String(), err)
		}
	}
	var out bytes.Buffer
	if err := testApp(&out, new([]string)).Run(t.Context(), []string{"athanor", "help", "plna"}); err == nil || err.Error() != `there is no command "plna"` {
		t.Error(err)
	}
}
