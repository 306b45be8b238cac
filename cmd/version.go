package cmd

import (
	"fmt"
	"runtime/debug"

	"github.com/athanor-dev/athanor/cmd/cli"
)

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Flags: []cli.Flag{cli.JSONFlag()},
		Action: func(c *cli.Context) error {
			v := a.versionText()
			if a.asJSON {
				a.json(map[string]any{"version": v, "kinds": len(a.catalog.Types())})
				return nil
			}
			fmt.Fprintf(a.out, "athanor %s\n", v)
			return nil
		},
	}
}

// Version is set when a release is built.
func (a *app) versionText() string {
	if a.version != "" {
		return a.version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "(development build)"
}
