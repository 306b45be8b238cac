package cmd

import (
	"errors"
	"io"
	"regexp"

	"github.com/urfave/cli/v2"
)

// cli hands the parsed line to the flag library. Help, unknown commands and unknown flags were dealt with before.
func (a *app) cli(commands []*cli.Command) *cli.App {
	for _, c := range commands {
		quiet(c)
	}
	return &cli.App{
		Name: a.name(), HelpName: a.name(), Usage: "make the cloud match a program",
		HideHelp: true, HideHelpCommand: true, HideVersion: true,
		Reader: a.in, Writer: a.out, ErrWriter: io.Discard,
		EnableBashCompletion: true,
		// A value may hold commas: --config zones=a,b.
		DisableSliceFlagSeparator: true,
		// Errors and exit codes are this package's business.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return err },
		Commands:       commands,
	}
}

// quiet keeps the flag library from printing anything itself.
func quiet(c *cli.Command) {
	c.HideHelp, c.HideHelpCommand = true, true
	c.OnUsageError = func(c *cli.Context, err error, _ bool) error {
		return hint(errors.New(oneDash.ReplaceAllString(err.Error(), "${1}--$2")), "`athanor "+c.Command.FullName()+" --help` lists the flags")
	}
	for _, sub := range c.Subcommands {
		quiet(sub)
	}
}

// oneDash finds how the flag library writes flags in its errors.
var oneDash = regexp.MustCompile(`(flag |: )-([a-z])`)
