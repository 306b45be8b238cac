package cmd

import (
	"cmp"
	"fmt"
	"os"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/internal/release"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
)

func versionCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version, the commit and its date", ArgsUsage: "[DIRECTORY]",
		Description: `With --check also the newest release, and the athanor that the Go program in DIRECTORY is built with: its version, and the
checkout that stands in for it. Only --check asks over the network, for the file VERSION of the newest release
($ATHANOR_RELEASES: of a mirror), and with $ATHANOR_NO_UPDATE_CHECK not even that.

A release on a terminal asks for that file once a day and says when there is a newer one; never in a pipe, in CI, with
--json or --untrusted. The request carries nothing of you or your stacks. athanor has no telemetry.`,
		UsageText: "version\nversion --check shop",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "look for a newer release, and compare with what the Go program in DIRECTORY is built with"}, cli.JSONFlag(),
		},
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return printVersion(o, c) },
	}
}

func printVersion(o *session.Opener, c *cli.Context) error {
	commit, date := o.Release.Built()
	line := versionLine{Version: o.Release.Text(), Commit: commit, Date: date, Kinds: len(o.Catalog.Types())}
	if c.NArg() > 1 || c.NArg() > 0 && !c.Bool("check") {
		return cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(c.NArg()-1)), "athanor version --check DIRECTORY")
	}
	if c.Bool("check") {
		var err error
		if line.Module, err = gomodule.UsedBy(files.Absolute(c.Args().First())); err != nil {
			return err
		}
		if os.Getenv(release.QuietVariable) == "" && !untrusted.Is(c) {
			if line.Newest, err = release.Newest(c.Context); err != nil {
				o.Warn("the newest release is not known: %v", err)
			}
		}
	}
	if o.WroteJSON(line) {
		return nil
	}
	fmt.Fprintf(o.Out, "athanor %s\n", line.Version)
	if commit != "" {
		fmt.Fprintf(o.Out, "commit %s, %s\n", commit, cmp.Or(date, "no date"))
	}
	if !c.Bool("check") {
		return nil
	}
	switch {
	case line.Newest == "":
	case release.IsNewer(line.Newest, release.Of(line.Version)):
		fmt.Fprintf(o.Out, "newest release: %s, %s\n", line.Newest, release.Address())
	default:
		fmt.Fprintf(o.Out, "newest release: %s\n", line.Newest)
	}
	fmt.Fprintln(o.Out, line.Module)
	return nil
}

// versionLine is what `version --json` prints.
type versionLine struct {
	Version string         `json:"version"`
	Commit  string         `json:"commit,omitempty"`
	Date    string         `json:"date,omitempty"`
	Kinds   int            `json:"kinds"`
	Newest  string         `json:"newest,omitempty"`
	Module  *gomodule.Used `json:"module,omitempty"`
}
