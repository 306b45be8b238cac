package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
)

// TestContradictingFlags gives each command each set of flags that cannot be obeyed together. It refuses before it does anything, with an
// error that names both flags, and a hint for each that says what it does.
func TestContradictingFlags(t *testing.T) {
	for _, rule := range flagRules {
		command := rule.Command
		if command == "" {
			command = map[string]string{"stack": "destroy", "adopt": "plan", "force": "plan"}[rule.Flags]
		}
		for flag := range strings.FieldsSeq(rule.Flags) {
			others := strings.Fields(rule.Not)
			if rule.With != "" {
				others = append(others, "")
			}
			for _, other := range others {
				args := strings.Fields(command)
				for _, name := range []string{flag, other} {
					if name != "" {
						args = append(args, given(t, args[:len(strings.Fields(command))], name)...)
					}
				}
				named := other
				if named == "" {
					named = rule.With
				}
				t.Run(strings.Join(args, " "), func(t *testing.T) {
					t.Chdir(t.TempDir())
					said, code := calledWith(t, args)
					if code != cli.ExitError {
						t.Errorf("exit code %d", code)
					}
					first, _, _ := strings.Cut(said, "\n")
					hints := said[len(first):]
					for _, name := range []string{"--" + flag, "--" + named} {
						if !strings.Contains(first, name) {
							t.Errorf("the error does not name %s: %s", name, said)
						}
						if !strings.Contains(hints, name+":") && !strings.Contains(hints, name+" ") {
							t.Errorf("no hint says what %s does: %s", name, said)
						}
					}
				})
			}
		}
	}
}

// given is how a flag of a command is given.
func given(t *testing.T, command []string, name string) []string {
	t.Helper()
	commands := newApp(&terminal.Terminal{}, nil, Release{}).commands()
	var c *cli.Command
	for _, word := range command {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == word })
		if at < 0 {
			t.Fatalf("there is no command %s", strings.Join(command, " "))
		}
		c = commands[at]
		commands = c.Subcommands
	}
	for _, f := range c.Flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		if _, isSwitch := f.(*cli.BoolFlag); isSwitch {
			return []string{"--" + name}
		}
		return []string{"--" + name + "=a=b"}
	}
	t.Fatalf("%s has no flag --%s", strings.Join(command, " "), name)
	return nil
}

// calledWith runs the command and returns what it printed, and its exit code.
func calledWith(t *testing.T, args []string) (string, int) {
	t.Helper()
	var said bytes.Buffer
	a := newApp(&terminal.Terminal{In: strings.NewReader(""), Out: &said, Err: &said}, nil, Release{})
	code := a.run(t.Context(), append([]string{"athanor"}, args...))
	return said.String(), code
}
