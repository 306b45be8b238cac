package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// Rule says which flags of a command cannot be obeyed together, or not alone.
type Rule struct {
	// Command is the command with those above it ("state show"), "" for every command that has the flags.
	Command string
	// Flags are the names that the rule is about, with blanks between them.
	Flags string
	// Not are flags none of which may be given beside one of Flags, "" for none.
	Not string
	// With is a flag without which Flags mean nothing, "" for none.
	With string
}

// broken returns the error about a command line that the rule forbids, nil for any other.
func (r Rule) broken(c *Context) error {
	if r.Command != "" && r.Command != commandPath(c) {
		return nil
	}
	for flag := range strings.FieldsSeq(r.Flags) {
		if !given(c, flag) {
			continue
		}
		for other := range strings.FieldsSeq(r.Not) {
			if given(c, other) {
				return hintFlags(c, fmt.Errorf("--%s and --%s cannot be given together", flag, other), flag, other)
			}
		}
		if r.With != "" && !given(c, r.With) {
			return hintFlags(c, fmt.Errorf("--%s goes with --%s", flag, r.With), flag, r.With)
		}
	}
	return nil
}

// hintFlags adds to an error what each flag does. The hint that is added last is shown first.
func hintFlags(c *Context, err error, names ...string) error {
	for _, name := range slices.Backward(names) {
		err = reconcile.WithHint(err, "%s", flagHelp(flagNamed(c.Command.Flags, name)))
	}
	return err
}

// flagHelp is the line of help of a flag, as a hint.
func flagHelp(f Flag) string {
	return strings.ReplaceAll(strings.TrimLeft(flagLine(f), " "), "\t", ": ")
}

// given reports whether a flag was given by argument or variable. A switch that was given as false was not.
func given(c *Context, name string) bool {
	if !c.IsSet(name) {
		return false
	}
	_, isSwitch := flagNamed(c.Command.Flags, name).(*BoolFlag)
	return !isSwitch || c.Bool(name)
}

// commandPath is the name of a command with those above it, without that of the program.
func commandPath(c *Context) string {
	return strings.TrimPrefix(c.Command.HelpName, c.App.HelpName+" ")
}

// emptyFlag returns the error about a flag with a text that was given and is empty, nil where there is none: in a script whose variable is
// not set, it would count as if it were left out. Of a variable that is empty nobody knows what it says.
func (a App) emptyFlag(c *Context) error {
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		text, ok := f.(*StringFlag)
		if !ok || !c.IsSet(name) || c.String(name) != "" || slices.ContainsFunc(text.EnvVars, a.isEmptyVariable) {
			continue
		}
		return hintFlags(c, fmt.Errorf("--%s is given, and empty", name), name)
	}
	return nil
}

func (a App) isEmptyVariable(name string) bool {
	if a.LookupEnv == nil {
		return false
	}
	value, set := a.LookupEnv(name)
	return set && value == ""
}

// obeyable returns the error about what was given and cannot be obeyed.
func (a App) obeyable(c *Context) error {
	if err := a.emptyFlag(c); err != nil {
		return err
	}
	for _, rule := range a.Rules {
		if err := rule.broken(c); err != nil {
			return err
		}
	}
	return nil
}
