package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// line is a command line, taken apart.
type line struct {
	// path are the commands that it names, outermost first; the last one is meant.
	path              []*cli.Command
	flags, positional []string
	help              bool
}

// parse takes a command line apart: which command, which flags, which arguments. The flag library stops at the first
// positional argument, while people write `deploy ./shop --yes`; so flags are found here, and whatever is no
// command or no flag is refused with a suggestion. "--" ends flags.
func parse(args []string, commands []*cli.Command) (line, error) {
	var l line
	for len(args) > 0 && args[0] == "help" && len(l.path) == 0 {
		l.help, args = true, args[1:]
	}
	for len(commands) > 0 && len(args) > 0 {
		if isHelp(args[0]) {
			l.help, args = true, args[1:]
			continue
		}
		if strings.HasPrefix(args[0], "-") {
			return l, hint(fmt.Errorf("flag %s before the command", args[0]), "flags come after the command: athanor deploy "+args[0])
		}
		c := find(commands, args[0])
		if c == nil {
			return l, unknownCommand(l.path, args[0], commands)
		}
		l.path, args, commands = append(l.path, c), args[1:], c.Subcommands
	}
	if len(l.path) == 0 {
		l.help = true
		return l, nil
	}
	return l, l.split(args)
}

// ordered is the line as the flag library wants it.
func (l line) ordered(program string) []string {
	args := []string{program}
	for _, c := range l.path {
		args = append(args, c.Name)
	}
	args = append(args, l.flags...)
	if len(l.positional) > 0 {
		args = append(append(args, "--"), l.positional...)
	}
	return args
}

func (l line) command() *cli.Command { return l.path[len(l.path)-1] }

func isHelp(arg string) bool { return arg == "--help" || arg == "-h" || arg == "-help" }

func find(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

func unknownCommand(path []*cli.Command, name string, commands []*cli.Command) error {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	within := ""
	if len(path) > 0 {
		within = path[len(path)-1].Name + " "
	}
	err := fmt.Errorf("there is no command %q", within+name)
	if near, ok := props.Nearest(name, names); ok {
		return hint(err, "did you mean "+within+near+"?")
	}
	return hint(err, "there is "+within+strings.Join(names, ", "))
}

// split tells flags, with their values, from positional arguments.
func (l *line) split(args []string) error {
	known := l.command().Flags
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			l.positional = append(l.positional, args[i+1:]...)
			return nil
		case a == "-" || !strings.HasPrefix(a, "-"):
			l.positional = append(l.positional, a)
		case isHelp(a):
			l.help = true
		default:
			name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
			f := flagNamed(known, name)
			if f == nil {
				return l.unknownFlag(a, name)
			}
			l.flags = append(l.flags, a)
			if _, boolean := f.(*cli.BoolFlag); boolean || hasValue {
				continue
			}
			if i++; i == len(args) || strings.HasPrefix(args[i], "--") && flagNamed(known, strings.TrimLeft(args[i], "-")) != nil {
				return hint(fmt.Errorf("flag %s needs a value", a), l.helpHint())
			}
			l.flags = append(l.flags, args[i])
		}
	}
	return nil
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func (l *line) unknownFlag(given, name string) error {
	var names []string
	for _, f := range l.command().Flags {
		names = append(names, f.Names()[0])
	}
	err := fmt.Errorf("%s has no flag %s", l.name(), given)
	if near, ok := props.Nearest(name, names); ok {
		return hint(err, "did you mean --"+near+"?")
	}
	return hint(err, l.helpHint())
}

func (l *line) name() string {
	names := make([]string, len(l.path))
	for i, c := range l.path {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

func (l *line) helpHint() string { return "`athanor " + l.name() + " --help` lists the flags" }
