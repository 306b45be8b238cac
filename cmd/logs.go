package cmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/tail"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// lookBack is how far logs go back unless told.
const lookBack = time.Hour

func logsCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what resources have logged", ArgsUsage: "[ADDRESS] [TARGET]",
		Description: `Without ADDRESS it shows the logs of every resource in state that has logs, sorted by time. ADDRESS may be a glob,
as with --target. One argument that looks like an address is an address; write a directory as ./shop. logs reads
state and does not evaluate the program; credentials must lead to the account in state. It masks every secret of
the stage that state knows.

With --json it prints one object per line: time, type "log", address, source (a stream or an instance, where the
log has several) and text.

Exit codes: 0 shown; 1 error, or the log of one could not be read; 130 interrupted, which is how --follow ends.`,
		UsageText: `logs                            of the last hour, of all
logs web --follow               and what comes, until Ctrl-C
logs 'net/**' --since 24h --filter ERROR
logs worker --since 2026-03-01T12:00:00Z --json`,
		Flags: project.StageFlags(
			cli.FollowFlag("go on with what comes"),
			&cli.StringFlag{Name: "since", Usage: "begin `TIME` ago (10m, 2h, 3d), or at a time (2026-03-01T12:00:00Z); all: with the oldest line there is; default 1h"},
			&cli.StringFlag{Name: "filter", Usage: "only lines that hold `TEXT`"},
			cli.StackFlag("read")),
		Action: func(c *cli.Context) error { return showLogs(o, c) },
	}
}

func showLogs(o *session.Opener, c *cli.Context) error {
	query := reconcile.LogQuery{Follow: c.Bool("follow"), Filter: c.String("filter")}
	var err error
	if query.Since, err = since(c.String("since"), time.Now()); err != nil {
		return err
	}
	globs, names := []string{c.Args().First()}, 1
	if c.NArg() == 0 || c.NArg() == 1 && !looksLikeAddress(globs[0]) {
		globs, names = nil, 0
	}
	s, err := o.OpenExisting(c, names)
	if err != nil || s == nil {
		return err
	}
	sources, err := s.Engine.LogSources(c.Context, s.Stage, s.Dir, globs)
	if err != nil {
		return err
	}
	return printLogs(o, c, sources, query)
}

// looksLikeAddress tells an address, or a glob of some, from a target.
func looksLikeAddress(text string) bool {
	return graph.CheckAddress(strings.NewReplacer("**", "x", "*", "x", "?", "x").Replace(text)) == nil
}

// printLogs shows lines as they come. What cannot be read is said, and stops none of the others.
func printLogs(o *session.Opener, c *cli.Context, sources []tail.Source, query reconcile.LogQuery) error {
	out := o.NewLines(o.Out, true)
	for _, s := range sources {
		out.Expect(s.Address)
	}
	count, failed := 0, false
	for line, err := range tail.Merge(c.Context, sources, query) {
		switch {
		case err != nil && c.Context.Err() != nil:
		case err != nil:
			failed = true
			o.Report(fmt.Errorf("%s: %w", line.Address, err))
		default:
			count++
			out.Line(line.Address, line.LogLine)
		}
	}
	switch {
	case c.Context.Err() != nil:
		return cli.Exit(cli.ExitInterrupted)
	case failed:
		return cli.Exit(cli.ExitError)
	case count == 0 && !o.AsJSON:
		fmt.Fprintln(o.Err, "no such lines; --since all shows every line that is kept")
	}
	return nil
}

var errSince = errors.New("not a time")

// since reads how far back to go. Zero: everything.
func since(text string, now time.Time) (time.Time, error) {
	switch text {
	case "":
		return now.Add(-lookBack), nil
	case "all":
		return time.Time{}, nil
	}
	if d, err := token.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, cli.Hint(fmt.Errorf("--since %q: %w", text, errSince), "10m, 2h, 3d, 2026-03-01T12:00:00Z, 2026-03-01 12:00, or all")
}
