package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

func historyCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "list the runs of a stage, or compare two", ArgsUsage: "[RUN RUN] [TARGET]",
		Description: fmt.Sprintf(`Newest first: what ran, how it ended, who ran it where, and what it changed. A plan is no run, nor is a deploy
that had nothing to do. The newest %d runs of a stage are kept, with their events.

With two runs it shows what they did differently: which resources only one of them touched, and where action, outcome or changed
paths are others.

A run is running, succeeded, failed, cancelled, or lost: its process died, its lease expired, or unlock ended it.
A run whose process died is listed as running, with a remark, until the next run takes over.`, statestore.KeptRuns),
		UsageText: `history                         of the stack in this directory
history --limit 1 --json        the newest run, for scripts
history ABCDEF GHIJKL           what two runs did differently
history --stack shop --stage prod`,
		Flags: project.StageFlags(
			&cli.GenericFlag{Name: "limit", Aliases: []string{"n"}, Value: &cli.Count{Value: 20}, Usage: "list at most `N` runs; 0: all that are kept"},
			cli.StackFlag("read")),
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return listRuns(o, c) },
	}
}

func listRuns(o *session.Opener, c *cli.Context) error {
	if c.NArg() > 0 && namesRun(c.Args().First()) {
		return compareRuns(o, c)
	}
	s, err := o.OpenRuns(c, 0)
	if err != nil || s == nil {
		return err
	}
	lines, err := runsOf(s, c, c.Int("limit"))
	if err != nil {
		return err
	}
	if len(lines) == 0 && !o.AsJSON {
		fmt.Fprintf(o.Err, "%s: state has no run\nnext:  %s\n", s.Stage, firstDeploy(c))
	}
	if !terminal.JSONLines(o.Terminal, lines) {
		o.Style(o.Out).Runs(o.Out, lines)
	}
	return nil
}

// firstDeploy is the command that deploys the stage of a command line for the first time.
func firstDeploy(c *cli.Context) string {
	if stage := c.String("stage"); stage != "" {
		return "athanor deploy --stage " + stage
	}
	return "athanor deploy"
}

// compareRuns shows what two runs did differently.
func compareRuns(o *session.Opener, c *cli.Context) error {
	if c.NArg() < 2 || !namesRun(c.Args().Get(1)) {
		run := c.Args().First()
		return cli.Hint(fmt.Errorf("history: with which other run is %s compared?", run),
			"athanor history RUN RUN compares two runs, `athanor events RUN` shows one; a directory is written ./"+run)
	}
	if c.IsSet("limit") {
		return errors.New("history: --limit is for the list of runs, and not for two of them")
	}
	s, err := o.OpenRuns(c, 2)
	if err != nil || s == nil {
		return err
	}
	var runs [2]render.Run
	var sides [2]map[string]engine.Event
	for i := range runs {
		run, err := findRun(s, c, c.Args().Get(i))
		if err != nil {
			return err
		}
		runs[i] = render.Run{Run: run.ID, Command: run.Command}
		if sides[i], err = doneIn(c.Context, s, run.ID); err != nil {
			return err
		}
	}
	all := compared(sides[0], sides[1])
	if !terminal.JSONLines(o.Terminal, all) {
		o.Style(o.Out).Comparison(o.Out, runs[0], runs[1], all)
	}
	return nil
}

// doneIn is what a run did to each resource; of a replacement its last part.
func doneIn(ctx context.Context, s *session.Session, run string) (map[string]engine.Event, error) {
	recorded, err := s.Project.Store.Events(ctx, s.Stage, run, 0, 0)
	last := map[string]engine.Event{}
	for _, r := range recorded {
		var e engine.Event
		if json.Unmarshal(r.Body, &e) == nil && e.Type == engine.EventDone && e.Address != "" {
			last[e.Address] = e
		}
	}
	return last, err
}

// compared sets two runs beside each other, resource by resource, those that differ first.
func compared(from, to map[string]engine.Event) []render.Compared {
	side := func(e engine.Event, there bool) *render.ComparedSide {
		if !there {
			return nil
		}
		return &render.ComparedSide{Action: e.Action, Status: e.Status, Error: e.Error, Paths: e.Paths, Elapsed: e.Elapsed}
	}
	all := maps.Clone(from)
	maps.Copy(all, to)
	var lines, same []render.Compared
	for _, address := range slices.Sorted(maps.Keys(all)) {
		a, ranA := from[address]
		b, ranB := to[address]
		line := render.Compared{Type: "compared", Address: address, Kind: all[address].Kind, From: side(a, ranA), To: side(b, ranB)}
		if ranA && ranB && a.Action == b.Action && a.Status == b.Status && a.Error == b.Error && slices.Equal(a.Paths, b.Paths) {
			same = append(same, line)
			continue
		}
		line.Differs = true
		lines = append(lines, line)
	}
	return append(lines, same...)
}

// runsOf lists the runs of the stage, newest first.
func runsOf(s *session.Session, c *cli.Context, limit int) ([]render.Run, error) {
	runs, err := s.Project.Store.Runs(c.Context, s.Stage, limit)
	if err != nil {
		return nil, err
	}
	dead, runs, err := looksDead(s, c, runs, limit)
	if err != nil {
		return nil, err
	}
	lines := make([]render.Run, 0, len(runs))
	for _, r := range runs {
		user, identity := project.IdentityOf(r.User)
		l := render.Run{
			Run: r.ID, Stack: s.Stage.Stack, Stage: s.Stage.Name, Command: r.Command, State: r.State, Dead: dead && r.State == statestore.Running,
			User: user, Identity: identity, Host: r.Host, PID: r.PID, Started: r.Started, Ended: r.Ended, Note: r.Note,
		}
		if !r.Ended.IsZero() {
			l.Duration = r.Ended.Sub(r.Started).Seconds()
		}
		var summary engine.Summary
		if len(r.Summary) > 0 && json.Unmarshal(r.Summary, &summary) == nil {
			l.Summary = &summary
		}
		if l.State == statestore.Running {
			if l.Progress, err = progression(c.Context, s.Project.Store, s.Stage, r.ID); err != nil {
				return nil, err
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// progression reads how far a run is from its events; nil where they do not say it.
func progression(ctx context.Context, store statestore.Store, stage statestore.Stage, run string) (*render.Progression, error) {
	recorded, err := store.Events(ctx, stage, run, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage, err)
	}
	var p render.Progression
	done := map[string]bool{}
	for _, r := range recorded {
		var e engine.Event
		if json.Unmarshal(r.Body, &e) != nil {
			continue
		}
		switch e.Type {
		case engine.EventRun:
			p.Total = max(p.Total, e.Total)
		case engine.EventDone:
			done[e.Address] = true
		default:
		}
	}
	if p.Total == 0 {
		return nil, nil
	}
	p.Done = min(len(done), p.Total)
	return &p, nil
}

// looksDead reports that the newest run is running by the record alone. The runs are read again after the lease, so that one
// which began or ended in between is not taken for dead.
func looksDead(s *session.Session, c *cli.Context, runs []statestore.Run, limit int) (bool, []statestore.Run, error) {
	if len(runs) == 0 || runs[0].State != statestore.Running {
		return false, runs, nil
	}
	snap, err := s.Project.Store.Load(c.Context, s.Stage)
	if err != nil || snap.Holder != nil && snap.Holder.Run == runs[0].ID {
		return false, runs, err
	}
	again, err := s.Project.Store.Runs(c.Context, s.Stage, limit)
	return err == nil && len(again) > 0 && again[0].ID == runs[0].ID && again[0].State == statestore.Running, again, err
}
