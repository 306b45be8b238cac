// Package cli is the command line: flags, help and exit codes.
//
// The library urfave/cli parses the line, prints help from the templates of this package and finds commands for shells;
// nothing else imports it. This package adds what the library cannot do: flags after arguments, errors that say what to
// type instead, and how flags are spelled in help.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// The types of the library that commands are written with.
type (
	// Context is a command line that was parsed.
	Context = urfave.Context
	// Command is a command with its flags, its help and its subcommands.
	Command = urfave.Command
	// BeforeFunc runs before a command, which it can refuse.
	BeforeFunc = urfave.BeforeFunc
	// Flag is any flag.
	Flag = urfave.Flag
	// BoolFlag is a flag without a value.
	BoolFlag = urfave.BoolFlag
	// StringFlag is a flag with a text.
	StringFlag = urfave.StringFlag
	// StringSliceFlag is a flag with a text that may be repeated.
	StringSliceFlag = urfave.StringSliceFlag
	// GenericFlag is a flag with a value of any other type, see [Duration] and [Count].
	GenericFlag = urfave.GenericFlag
	// Generic is the value of such a flag.
	Generic = urfave.Generic
)

// App is a command with subcommands.
type App struct {
	Name, Usage, Description string
	// Examples are lines of arguments, two spaces or more, and what they do.
	Examples string
	Reader   io.Reader
	Writer   io.Writer
	Commands []*Command
	// Meant says what to type in place of a command of another tool, by the name of that command.
	Meant map[string]string
	// Complete returns the values that a word may have; nil: none.
	Complete func(Wanted) []string
	// Help writes a text of help where it fits; nil: as it is.
	Help func(w io.Writer, text string)
	// Guard runs before each command that has no Before of its own.
	Guard func(*Context) error
	// LookupEnv returns a variable of the environment; nil: none is set.
	LookupEnv func(name string) (string, bool)
	// Rules say which flags cannot be obeyed together.
	Rules []Rule
}

// Run runs the command that the arguments name. args[0] is ignored.
func (a App) Run(ctx context.Context, args []string) error {
	urfave.FlagStringer = flagLine
	urfave.HelpPrinter = a.printHelp
	for _, c := range a.Commands {
		a.prepare(c)
	}
	app := &urfave.App{
		Name: a.Name, HelpName: a.Name, Usage: a.Usage, Description: a.Description, UsageText: examples(a.Name, a.Examples),
		Commands: a.Commands, HideHelpCommand: true, CustomAppHelpTemplate: appHelp,
		Reader: a.Reader, Writer: a.Writer, ErrWriter: io.Discard,
		// A value may hold commas: --config zones=a,b.
		DisableSliceFlagSeparator: true,
		// The caller shows errors and ends the process.
		ExitErrHandler: func(*Context, error) {},
		OnUsageError:   usageError,
		Action: func(c *Context) error {
			if c.Args().Present() {
				return a.noCommand("", c.Args().First(), a.Commands)
			}
			return urfave.ShowAppHelp(c)
		},
	}
	if completes(args) {
		return a.complete(a.Writer, args)
	}
	return app.RunContext(ctx, order(helped(args), a.Commands))
}

// printHelp fills in a template of help.
func (a App) printHelp(w io.Writer, template string, data any) {
	if a.Help == nil {
		urfave.HelpPrinterCustom(w, template, data, nil)
		return
	}
	var text strings.Builder
	urfave.HelpPrinterCustom(&text, template, data, nil)
	a.Help(w, text.String())
}

// helped spells help COMMAND, which other tools have, as COMMAND --help.
func helped(args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
	}
	return slices.Concat(args[:1], args[2:], []string{"--help"})
}

// prepare completes a command and those below it.
func (a App) prepare(c *Command) {
	c.HideHelpCommand, c.OnUsageError, c.CustomHelpTemplate = true, usageError, commandHelp
	c.UsageText = examples(a.Name, c.UsageText)
	if len(c.Subcommands) == 0 {
		before := c.Before
		if before == nil {
			before = a.Guard
		}
		c.Before = func(ctx *Context) error {
			if err := a.obeyable(ctx); err != nil || before == nil {
				return err
			}
			return before(ctx)
		}
	} else {
		c.Action = func(ctx *Context) error {
			if ctx.Args().Present() {
				return a.noCommand(c.Name+" ", ctx.Args().First(), c.Subcommands)
			}
			return urfave.ShowSubcommandHelp(ctx)
		}
	}
	for _, sub := range c.Subcommands {
		a.prepare(sub)
	}
}

// noCommand is the error for a command that does not exist. The library would suggest one however far off it is.
func (a App) noCommand(within, name string, commands []*Command) error {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	err := fmt.Errorf("there is no command %q", within+name)
	if meant, ok := a.Meant[name]; ok && within == "" {
		return reconcile.WithHint(err, "%s", meant)
	}
	for _, c := range commands {
		if find(c.Subcommands, name) != nil {
			return reconcile.WithHint(err, "did you mean %s?", within+c.Name+" "+name)
		}
	}
	if near, ok := props.Nearest(name, names); ok {
		return reconcile.WithHint(err, "did you mean %s?", within+near)
	}
	return reconcile.WithHint(err, "there is %s", within+strings.Join(names, ", "))
}

// usageError says of an error of the library what to type instead, and spells flags with two dashes.
func usageError(c *Context, err error, below bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return noFlag(c, name, below)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		text = "flag --" + name + " needs a value"
	}
	if m := badValue().FindStringSubmatch(text); m != nil {
		dashes := "--"
		if len(m[2]) == 1 {
			dashes = "-"
		}
		return badFlag(c, dashes+m[2], m[1], m[2], m[3])
	}
	if m := badVariable().FindStringSubmatch(text); m != nil {
		return badFlag(c, "$"+m[2], m[1], m[3], m[4])
	}
	return withFlagsHint(c, errors.New(strings.NewReplacer(" flag -", " flag --", " for -", " for --").Replace(text)))
}

// badValue finds a value that a flag does not take, and the flag.
var badValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): (.*)$`)
})

// badVariable finds a value that a flag does not take from a variable, the variable, and the flag.
var badVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^could not parse "(.*)"(?: as \S+ value)? from environment variable "(\S+)" (?:as value )?for flag (\S+): (.*)$`)
})

// badFlag is the error for a value that a flag does not take, wherever it was given. A flag with a number says why, and its hint is what it
// means.
func badFlag(c *Context, given, value, name, why string) error {
	f := flagNamed(c.Command.Flags, name)
	if _, ok := f.(*GenericFlag); !ok {
		return withFlagsHint(c, fmt.Errorf("%s %s: it is no switch value: true or false", given, value))
	}
	err := fmt.Errorf("%s %s: %s", given, value, why)
	if strings.HasPrefix(given, "$") {
		return withFlagsHint(c, err)
	}
	return reconcile.WithHint(err, "%s", flagHelp(f))
}

// noFlag is the error for a flag that does not exist.
func noFlag(c *Context, name string, below bool) error {
	if !below {
		return reconcile.WithHint(fmt.Errorf("flag --%s before the command", name),
			"flags come after the command: %s deploy --%s", c.App.Name, name)
	}
	err := fmt.Errorf("%s has no flag --%s", commandPath(c), name)
	var names []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()[0])
	}
	if near, ok := props.Nearest(name, names); ok {
		return reconcile.WithHint(err, "did you mean --%s?", near)
	}
	return withFlagsHint(c, err)
}

func withFlagsHint(c *Context, err error) error {
	return reconcile.WithHint(err, "`%s --help` lists the flags", c.Command.HelpName)
}
