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
data. --stack uses state alone, without the program; resources that refer to a re-created object then follow
with the next deploy.

Exit codes: 0 no drift, or all of it repaired; 1 error: something could not be read; 2 drift;
3 another run holds the stage; 4 some was repaired; 5 not approved.`,
		UsageText: `drift                           the stack in this directory
drift --repair                  change it back
drift --json                    the whole comparison as one document
drift --stack shop --stage prod`,
		Flags: stageFlags(append(append(cli.ApplyFlags(
			&cli.BoolFlag{Name: "repair", Usage: "revert manual changes"}),
			cli.SelectFlags()...),
			append(cli.ShowFlags(), cli.StackFlag("compare"))...)...),
		Action: a.drift,
	}
}

func (a *app) drift(c *cli.Context) error {
	s, err := a.openStage(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.engine.PlanDrift(c.Context, s.stage, s.graph, s.options)
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
		a.style(a.out).Plan(a.out, p)
	}
	if unseen := unseen(p); len(unseen) > 0 {
		return a.refused(blockedError(unseen))
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

// unseen are the resources that could not be compared.
func unseen(p *engine.Plan) []engine.Planned {
	var unseen []engine.Planned
	for _, b := range stuck(p) {
		if len(b.Reasons) == 0 {
			unseen = append(unseen, b)
		}
	}
	return unseen
}

// repair shows what drifted, asks, and changes it back. What cannot be repaired stops nothing else.
func (s *session) repair(c *cli.Context, p *engine.Plan) error {
	a := s.app
	if !a.asJSON && (p.Drifted() || len(stuck(p)) > 0 || len(p.Left) > 0) {
		a.style(a.err).Plan(a.err, p)
	}
	if p.Pending() && !c.Bool("yes") {
		if err := s.approve(c.Context, p); err != nil {
			return err
		}
	}
	return s.apply(c, p)
}
