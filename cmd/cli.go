package cmd

import (
	"github.com/urfave/cli/v2"
)

// cli is the whole command.
func (a *app) cli() *cli.App {
	return &cli.App{
		Name:  "athanor",
		Usage: "make the cloud match a program",
		Description: "athanor looks at what is there, shows what would change, and makes it so. It can be interrupted anywhere and " +
			"run again: whatever was begun is found and finished.\n\n" +
			"Exit codes: 0 done, 1 error, 2 changes pending, 3 locked by another run, 4 partly done, 5 not approved, 130 interrupted.",
		Version:                a.versionText(),
		HideVersion:            true,
		Reader:                 a.in,
		Writer:                 a.out,
		ErrWriter:              a.err,
		EnableBashCompletion:   true,
		UseShortOptionHandling: false,
		// Errors and exit codes are this package's business.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return hint(err, "`athanor COMMAND --help` lists the flags") },
		Commands:       a.commands(),
		CommandNotFound: func(c *cli.Context, name string) {
			a.unknown = name
		},
	}
}

func (a *app) commands() []*cli.Command {
	commands := []*cli.Command{
		a.deployCommand(), a.planCommand(), a.destroyCommand(),
		a.outputCommand(), a.stateCommand(), a.graphCommand(),
		a.kindsCommand(), a.schemaCommand(), a.initCommand(), a.versionCommand(), a.completionCommand(),
	}
	for _, c := range commands {
		usage(c)
	}
	return commands
}

// usage makes a bad flag an error with a hint instead of the whole help text.
func usage(c *cli.Command) {
	c.OnUsageError = func(c *cli.Context, err error, _ bool) error {
		return hint(err, "`athanor "+c.Command.Name+" --help` lists the flags")
	}
	for _, sub := range c.Subcommands {
		usage(sub)
	}
}
