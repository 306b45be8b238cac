package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func driftCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "drift", Usage: "show what changed outside athanor since the last deploy", ArgsUsage: "[TARGET]",
		Description: `Compares every resource with what was deployed last, path by path; a deleted object is drift too. --repair
reverts manual changes, after asking, and does nothing else. It lists and leaves to the next deploy: what the
program changed since, a path that both changed, and a replacement of a resource that is protected or holds
data. --accept ADDRESS prints the change to the program that accepts what was changed outside athanor: for YAML
what patch applies, for Go the place, the prop and its value. --report also tells a service what was found, for its page and
its webhooks: addresses, kinds and paths, no values. --stack uses state alone, without the program; resources that refer to a re-created object then follow
with the next deploy.

Exit codes: 0 no drift, all of it repaired, or printed with --accept; 1 error: something could not be read; 2 drift;
3 another run holds the stage; 4 some was repaired; 5 not approved.`,
		UsageText: `drift                           the stack in this directory
drift --repair                  change it back
drift --accept uploads          print the change to the program that keeps it
drift --json                    the whole comparison as one document
drift --junit drift.xml         for a CI system that shows tests
drift --report                  from a schedule: the page of the service shows it
drift --stack shop --stage prod`,
		Flags: project.StageFlags(append(append(cli.ApplyFlags(
			&cli.BoolFlag{Name: "repair", Usage: "revert manual changes"},
			&cli.StringFlag{Name: "junit", Usage: "also write a JUnit report to `FILE`: a test for each resource, which fails when it drifted"},
			&cli.BoolFlag{Name: "report", Usage: "also tell the service that keeps the stage what drifted, for its page"},
			&cli.StringFlag{Name: "accept", Usage: "print how the program is changed so that it declares what exists of `ADDRESS`; write nothing"}),
			cli.SelectFlags()...),
			append(cli.ShowFlags(), cli.StackFlag("compare"))...)...),
		Action: func(c *cli.Context) error { return compareDrift(o, c) },
	}
}

func compareDrift(o *session.Opener, c *cli.Context) error {
	if c.IsSet("accept") {
		return acceptDrift(o, c)
	}
	s, err := o.OpenStage(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.Planning(func() (*engine.Plan, error) { return s.Engine.PlanDrift(c.Context, s.Stage, s.Graph, s.Options) })
	if file := c.String("junit"); err == nil && file != "" {
		err = writeReport(file, p)
	}
	if err == nil && c.Bool("report") {
		err = reportDrift(c.Context, s, p)
	}
	switch {
	case err != nil:
		return err
	case c.Bool("repair"):
		s.Question = "Revert this in"
		return repairDrift(s, c, p)
	default:
		return showDrift(s, p)
	}
}

// reportDrift tells the service that keeps the stage what drifted.
func reportDrift(ctx context.Context, s *session.Session, p *engine.Plan) error {
	store, ok := s.Project.Store.(*remote.Store)
	if !ok {
		return cli.Hint(errors.New("--report: only a service keeps reports"), "--store https://HOST")
	}
	found := driftFound(p)
	if err := store.ReportDrift(ctx, s.Stage, found); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	fmt.Fprintf(s.Opener.Err, "reported to %s: %d drifted\n", store.Place(), found.Drifted)
	return nil
}

// driftFound is what a drift plan has found, without values.
func driftFound(p *engine.Plan) wire.NewDrift {
	found := wire.NewDrift{Serial: p.Serial, Uncompared: len(p.Uncompared())}
	add := func(address, kind, action string, reasons []engine.Reason) {
		if found.Drifted++; found.Drifted > wire.MostDriftLines {
			return
		}
		line := wire.DriftLine{Address: wire.Text(address), Kind: kind, Action: action}
		for _, r := range reasons {
			if r.Source == engine.ByWorld && !slices.Contains(line.Paths, wire.Text(r.Path)) {
				line.Paths = append(line.Paths, wire.Text(r.Path))
			}
		}
		found.Lines = append(found.Lines, line)
	}
	named := map[string]bool{}
	for _, action := range p.Actions {
		if action.Action != engine.Unchanged && action.Action != engine.Wait && (action.Action != engine.Blocked || len(action.Reasons) > 0) {
			named[action.Address] = true
			add(action.Address, action.Kind, string(action.Action), action.Reasons)
		}
	}
	for _, left := range p.Left {
		byWorld := slices.ContainsFunc(left.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld })
		if byWorld && !named[left.Address] {
			add(left.Address, left.Kind, "left", left.Reasons)
		}
	}
	return found
}

// showDrift prints what drifted. What could not be looked at is an error; what drifted and cannot be repaired is drift.
func showDrift(s *session.Session, p *engine.Plan) error {
	a := s.Opener
	if a.AsJSON {
		a.JSON(render.PlanDocument{Plan: p})
	} else {
		s.ShowPlan(a.Out, p, true)
	}
	if err := p.BlockedError(p.Uncompared()); err != nil {
		return a.Refused(session.ShownAlready(s, true, err))
	}
	switch {
	case p.Pending():
		fmt.Fprintln(a.Err, "exit code 2: there is drift; --repair reverts it")
		return cli.Exit(cli.ExitPending)
	case p.Drifted():
		fmt.Fprintln(a.Err, "exit code 2: there is drift, and --repair cannot revert it")
		return cli.Exit(cli.ExitPending)
	}
	return nil
}

// repairDrift shows what drifted, asks, and changes it back. What cannot be repaired stops nothing else.
func repairDrift(s *session.Session, c *cli.Context, p *engine.Plan) error {
	a := s.Opener
	if !a.AsJSON && (p.Drifted() || len(p.Blocked()) > 0 || len(p.Left) > 0) {
		s.ShowPlan(a.Err, p, !c.Bool("yes"))
	}
	if p.Pending() && !c.Bool("yes") {
		if err := s.Approve(c.Context, p); err != nil {
			return err
		}
	}
	return s.Apply(c, p)
}
