package cmd

import (
	"context"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/engine"
)

func deployCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "make the cloud match the program", ArgsUsage: "[TARGET | PLANFILE [TARGET]]",
		Description: `Plans, shows the plan, asks, applies it, and prints the outputs. The next deploy completes an interrupted one,
wherever that ran.

` + loader.TargetHelp + `
A PLANFILE is what ` + "`plan --out`" + ` wrote: exactly that plan is applied, or nothing if anything changed since. Its program is
in TARGET, without one in the current directory: the file never says which program runs.

Exit codes: 0 done, or nothing to do; 1 error, nothing done; 3 another run holds the stage; 4 some
resources failed, the others are done; 5 not approved: without a terminal it takes --yes.`,
		UsageText: `deploy                          the stack in this directory
deploy ./shop --stage prod      another one, its stage prod
deploy --yes --json             for scripts: no question, events as JSON lines
deploy plan.json                what plan --out plan.json saved
deploy plan.json ./shop         the same, with the program in ./shop
deploy --approved ID --yes      what was submitted by plan --submit, and approved
deploy --reviewed plan.json -y  plan anew; nothing that plan.json does not announce
graph --json | athanor deploy - -y`,
		Flags:  project.StageFlags(cli.PlanFlags(cli.ApplyFlags(session.NewStageFlag(), massDeleteFlag(), reviewedFlag(), approvedFlag(), ttlFlag())...)...),
		Before: untrusted.ReadsWith("dry-run"),
		Action: func(c *cli.Context) error { return deployTarget(o, c) },
	}
}

func planCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "show what deploy would do; change nothing", ArgsUsage: "[TARGET]",
		Description: `Reads every resource and compares it with the program. Writes nothing, neither to state nor to the cloud.
What changed outside athanor is labelled "drift".

` + loader.TargetHelp + `

Exit codes: 0 nothing to do; 1 error; 2 changes or drift pending.`,
		UsageText: `plan                            what deploy would do here
plan --detailed                 long values whole, unchanged resources too
plan --json                     the whole plan as one document
plan --markdown > comment.md    for a pull request; names of the stack format nothing in it
plan --out plan.json            save it; athanor deploy plan.json applies exactly that
plan --iam > policy.json        the least that AWS must allow for it`,
		Flags: project.StageFlags(cli.PlanFlags(&cli.BoolFlag{
			Name: "iam", Usage: "print the least policy of AWS IAM that allows exactly this plan to be deployed",
		}, &cli.BoolFlag{
			Name: "markdown", Usage: "print the plan as Markdown, for the comment of a pull request",
		}, submitFlag(), &cli.BoolFlag{
			Name: "untrusted", Usage: "plan a stranger's stack: run no program, read no secret, say what was not observed (also $" + untrusted.Variable + ")",
		})...),
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return planOnly(o, c) },
	}
}

func destroyCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "destroy", Usage: "delete everything of a stage", ArgsUsage: "[TARGET]",
		Description: `Needs only state and what it reads from the provider: if the program no longer loads, name the stack with
--stack. Without state it searches for the stage's objects by owner tag, and prints where it searched.

Exit codes: 0 nothing is left; 1 error; 3 another run holds the stage; 4 some could not be deleted;
5 not approved.`,
		UsageText: `destroy                         the stack in this directory
destroy --stack shop --stage dev-ada
destroy --dry-run               only show what would be deleted`,
		Flags: project.StageFlags(cli.DeleteFlags(cli.ApplyFlags(
			cli.StackFlag("destroy"),
			cli.DryRunFlag("only show what would be deleted"))...)...),
		Action: func(c *cli.Context) error { return destroyStage(o, c) },
	}
}

func deployTarget(o *session.Opener, c *cli.Context) error {
	if c.Bool("dry-run") {
		return planOnly(o, c)
	}
	s, err := o.OpenTarget(c)
	if err != nil || s == nil {
		return err
	}
	if err := s.ReadReview(c); err != nil {
		return err
	}
	if _, err := s.NewStage(c, 0); err != nil {
		return err
	}
	p, err := s.Plan(c.Context)
	p, err = session.OfferTakeOver(s, c, p, err, s.Plan)
	return s.Proceed(c, p, err)
}

func planOnly(o *session.Opener, c *cli.Context) error {
	if untrusted.Is(c) {
		return planUntrusted(o, c)
	}
	s, err := o.OpenTarget(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.Plan(c.Context)
	return s.Show(c, p, err)
}

func destroyStage(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenStage(c)
	if err != nil || s == nil {
		return err
	}
	plan := func(ctx context.Context) (*engine.Plan, error) {
		return s.Planning(func() (*engine.Plan, error) { return s.Engine.PlanDestroy(ctx, s.Stage, s.Graph, s.Options) })
	}
	p, err := plan(c.Context)
	if c.Bool("dry-run") {
		return s.Show(c, p, err)
	}
	p, err = session.OfferTakeOver(s, c, p, err, plan)
	s.Graph = nil // what the record says is in the plan; a large program need not be held while it goes
	if err := s.Proceed(c, p, err); err != nil {
		return err
	}
	s.Forget(c.Context, p)
	return nil
}

// massDeleteFlag permits a plan that deletes most of a stage.
func massDeleteFlag() cli.Flag {
	return &cli.BoolFlag{Category: cli.Safety, Name: "allow-mass-delete", Usage: "with --yes: allow a plan that deletes more than half of a stage of ten resources or more"}
}

// reviewedFlag holds a deploy to a plan that was reviewed.
func reviewedFlag() cli.Flag {
	return &cli.StringFlag{Category: cli.Safety, Name: "reviewed", Usage: "deploy only what the saved plan in `FILE` announces; else exit 5 with the difference"}
}

// submitFlag submits a plan, and approvedFlag deploys one that was approved.
func submitFlag() cli.Flag {
	return &cli.BoolFlag{Name: "submit", Usage: "submit the plan to the service for approval by somebody else"}
}

func approvedFlag() cli.Flag {
	return &cli.StringFlag{Category: cli.Safety, Name: "approved", Usage: "deploy what plan `ID` announces, which was submitted and approved; else exit 5 with the difference"}
}
