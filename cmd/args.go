package cmd

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// reorder puts flags before positional arguments, since the flag library stops at the first positional and people
// write `deploy ./shop --yes`. "--" ends flags. The first word is the command's name.
func reorder(args []string, commands []*cli.Command) []string {
	if len(args) < 2 {
		return args
	}
	at := slices.IndexFunc(args[1:], func(a string) bool { return !strings.HasPrefix(a, "-") })
	if at < 0 {
		return args
	}
	at++
	command := find(commands, args[at])
	if command == nil {
		return args
	}
	head := slices.Clone(args[:at+1])
	rest := args[at+1:]
	for len(command.Subcommands) > 0 && len(rest) > 0 {
		sub := find(command.Subcommands, rest[0])
		if sub == nil {
			break
		}
		head, rest, command = append(head, rest[0]), rest[1:], sub
	}
	flags, positional := split(rest, command.Flags)
	return slices.Concat(head, flags, positional)
}

func find(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// split tells flags, with their values, from positional arguments.
func split(args []string, known []cli.Flag) (flags, positional []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return flags, append(append(positional, "--"), args[i+1:]...)
		case a == "-" || !strings.HasPrefix(a, "-"):
			positional = append(positional, a)
		default:
			flags = append(flags, a)
			if takesValue(a, known) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return flags, positional
}

func takesValue(arg string, known []cli.Flag) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range known {
		if _, boolean := f.(*cli.BoolFlag); !boolean && slices.Contains(f.Names(), name) {
			return true
		}
	}
	return false
}
