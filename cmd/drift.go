package cmd

import (
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

func (a *app) driftCommand() *cli.Command {
	return &cli.Command{
		Name: "drift", Usage: "show what changed outside athanor since the last deploy", ArgsUsage: "[TARGET]",
		Description: `Compares every resource with what was deployed last, path by path; a deleted object is drift too. --repair
reverts manual changes, after asking, and does nothing else. It lists and leaves to the next deploy: what the
program changed since, a path that both changed, and a replacement of a resource that is protected or holds
data. --accept ADDRESS prints the change to the program that accepts what was changed outside athanor: for YAML
what patch applies, for Go the place, the prop and its value. --stack uses state alone, without the program; resources that refer to a re-created object then follow
with the next deploy.

Exit codes: 0 no drift, all of it repaired, or printed with --accept; 1 error: something could not be read; 2 drift;
3 another run holds the stage; 4 some was repaired; 5 not approved.`,
		UsageText: `drift                           the stack in this directory
drift --repair                  change it back
drift --accept uploads          print the change to the program that keeps it
drift --json                    the whole comparison as one document
drift --junit drift.xml         for a CI system that shows tests
drift --stack shop --stage prod`,
		Flags: stageFlags(append(append(cli.ApplyFlags(
			&cli.BoolFlag{Name: "repair", Usage: "revert manual changes"},
			&cli.StringFlag{Name: "junit", Usage: "also write a JUnit report to `FILE`: a test for each resource, which fails when it drifted"},
			&cli.StringFlag{Name: "accept", Usage: "print how the program is changed so that it declares what exists of `ADDRESS`; write nothing"}),
			cli.SelectFlags()...),
			append(cli.ShowFlags(), cli.StackFlag("compare"))...)...),
		Action: a.drift,
	}
}

func (a *app) drift(c *cli.Context) error {
	if c.IsSet("accept") {
		return a.acceptDrift(c)
	}
	s, err := a.openStage(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.planning(func() (*engine.Plan, error) { return s.engine.PlanDrift(c.Context, s.stage, s.graph, s.options) })
	if file := c.String("junit"); err == nil && file != "" {
		err = writeReport(file, p)
	}
	switch {
	case err != nil:
		return err
	case c.Bool("repair"):
		s.question = "Revert this in"
		return s.repair(c, p)
	default:
		return s.showDrift(p)
	}
}

// showDrift prints what drifted. What could not be looked at is an error; what drifted and cannot be repaired is drift.
func (s *session) showDrift(p *engine.Plan) error {
	a := s.app
	if a.asJSON {
		a.json(render.PlanDocument{Plan: p})
	} else {
		s.showPlan(a.out, p, true)
	}
	if err := engine.BlockedError(p.Uncompared()); err != nil {
		return a.refused(s.shown(true, err))
	}
	switch {
	case p.Pending():
		fmt.Fprintln(a.err, "exit code 2: there is drift; --repair reverts it")
		return cli.Exit(cli.ExitPending)
	case p.Drifted():
		fmt.Fprintln(a.err, "exit code 2: there is drift, and --repair cannot revert it")
		return cli.Exit(cli.ExitPending)
	}
	return nil
}

// repair shows what drifted, asks, and changes it back. What cannot be repaired stops nothing else.
func (s *session) repair(c *cli.Context, p *engine.Plan) error {
	a := s.app
	if !a.asJSON && (p.Drifted() || len(p.Blocked()) > 0 || len(p.Left) > 0) {
		s.showPlan(a.err, p, !c.Bool("yes"))
	}
	if p.Pending() && !c.Bool("yes") {
		if err := s.approve(c.Context, p); err != nil {
			return err
		}
	}
	return s.apply(c, p)
}
