package cli

import (
	"slices"
	"strings"
)

// completionFlag is what completion scripts append.
const completionFlag = "--generate-bash-completion"

// order moves flags before arguments, since the library takes all that follows the first argument for arguments and
// people write `deploy ./shop --yes`. "--" ends flags; a call for help leaves nothing but the command and --help.
func order(args []string, commands []*Command) []string {
	ordered, rest := slices.Clone(args[:1]), args[1:]
	if len(rest) == 1 && rest[0] == "--version" {
		return append(ordered, "version")
	}
	help := len(rest) > 0 && rest[0] == "help"
	if help {
		rest = rest[1:]
	}
	var flags []Flag
	for len(rest) > 0 {
		c := find(commands, rest[0])
		if c == nil {
			break
		}
		ordered, rest, commands, flags = append(ordered, c.Name), rest[1:], c.Subcommands, c.Flags
	}
	switch {
	case help && len(commands) > 0:
		return append(append(ordered, rest...), "--help")
	case help:
		return append(ordered, "--help")
	case len(commands) > 0:
		return append(ordered, rest...)
	}
	return append(ordered, flagsFirst(rest, flags)...)
}

// flagsFirst orders the arguments of one command.
func flagsFirst(args []string, known []Flag) []string {
	var flags, positional []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			return append(append(append(flags, "--"), positional...), args[i+1:]...)
		case a == "-" || !strings.HasPrefix(a, "-"):
			positional = append(positional, a)
		case isHelp(a):
			return []string{"--help"}
		default:
			flags = append(flags, a)
			name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if hasValue || !takesValue(known, name) {
				continue
			}
			if i++; i == len(args) || isFlag(args[i], known) {
				return flags // the library reports that the last one needs a value
			}
			flags = append(flags, args[i])
		}
	}
	return append(append(flags, "--"), positional...)
}

// isFlag reports whether a word is a known flag by its long name, and so no value of the one before.
func isFlag(word string, known []Flag) bool {
	return strings.HasPrefix(word, "--") && flagNamed(known, word[2:]) != nil
}

func isHelp(arg string) bool { return arg == "--help" || arg == "-h" || arg == "-help" }

func find(commands []*Command, name string) *Command {
	i := slices.IndexFunc(commands, func(c *Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

func flagNamed(flags []Flag, name string) Flag {
	i := slices.IndexFunc(flags, func(f Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

func takesValue(flags []Flag, name string) bool {
	f, ok := flagNamed(flags, name).(interface{ TakesValue() bool })
	return ok && f.TakesValue()
}

// HasSwitch reports whether a flag without a value is among arguments that are not parsed yet. An error in them must be
// shown in the form that was asked for.
func HasSwitch(args []string, name string) bool {
	for _, a := range args {
		switch a {
		case "--" + name, "-" + name, "--" + name + "=true":
			return true
		case "--":
			return false
		}
	}
	return false
}
