package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func (a *app) deployCommand() *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "make the cloud match the program", ArgsUsage: "[TARGET | PLANFILE [TARGET]]",
		Description: `Plans, shows the plan, asks, applies it, and prints the outputs. The next deploy completes an interrupted one,
wherever that ran.

` + targetHelp + `
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
		Flags:  project.StageFlags(cli.PlanFlags(cli.ApplyFlags(newStageFlag(), massDeleteFlag(), reviewedFlag(), approvedFlag(), ttlFlag())...)...),
		Before: untrusted.ReadsWith("dry-run"),
		Action: a.deploy,
	}
}

func (a *app) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "show what deploy would do; change nothing", ArgsUsage: "[TARGET]",
		Description: `Reads every resource and compares it with the program. Writes nothing, neither to state nor to the cloud.
What changed outside athanor is labelled "drift".

` + targetHelp + `

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
		Action: a.planOnly,
	}
}

func (a *app) destroyCommand() *cli.Command {
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
		Action: a.destroy,
	}
}

func (a *app) deploy(c *cli.Context) error {
	if c.Bool("dry-run") {
		return a.planOnly(c)
	}
	s, err := a.openSession(c)
	if err != nil || s == nil {
		return err
	}
	if err := s.readReview(c); err != nil {
		return err
	}
	if _, err := s.newStage(c, 0); err != nil {
		return err
	}
	p, err := s.plan(c.Context)
	p, err = s.offerTakeOver(c, p, err, s.plan)
	return s.proceed(c, p, err)
}

func (a *app) planOnly(c *cli.Context) error {
	if c.Bool("markdown") && (a.AsJSON || c.Bool("iam")) {
		return cli.Hint(errors.New("--markdown: the plan is printed in one form"), "leave out --json or --iam")
	}
	if untrusted.Is(c) {
		return a.planUntrusted(c)
	}
	s, err := a.openSession(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.plan(c.Context)
	return s.show(c, p, err)
}

func (a *app) destroy(c *cli.Context) error {
	s, err := a.openStage(c)
	if err != nil || s == nil {
		return err
	}
	plan := func(ctx context.Context) (*engine.Plan, error) {
		return s.planning(func() (*engine.Plan, error) { return s.engine.PlanDestroy(ctx, s.stage, s.graph, s.options) })
	}
	p, err := plan(c.Context)
	if c.Bool("dry-run") {
		return s.show(c, p, err)
	}
	p, err = s.offerTakeOver(c, p, err, plan)
	s.graph = nil // what the record says is in the plan; a large program need not be held while it goes
	if err := s.proceed(c, p, err); err != nil {
		return err
	}
	s.forget(c.Context, p)
	return nil
}

// forget lets a machine remember no store of a stage of which nothing is left: a store that is made anew has lost nothing. What
// was destroyed without its state may have been more than what was found.
func (s *session) forget(ctx context.Context, p *engine.Plan) {
	snap, err := s.engine.Store.Load(ctx, s.stage)
	if err == nil && !p.Recovered && len(snap.Rows)+len(snap.Damaged) == 0 {
		err = seal.RememberStore("", s.project.Root, s.stage.Stack, s.stage.Name, "")
	}
	if err != nil {
		s.app.Warn("this machine still remembers what was destroyed: %v", err)
	}
}

// show prints a plan and nothing else. It exits 2 when there are changes, and says so.
func (s *session) show(c *cli.Context, p *engine.Plan, refused error) error {
	a := s.app
	if p == nil {
		return refused
	}
	policy := needed(c, p)
	doc := render.PlanDocument{Plan: p, IAM: policy, NotObserved: s.notObserved()}
	doc.Problems, _ = a.Errors().Lines(refused)
	switch {
	case a.AsJSON:
		a.JSON(doc)
	case c.Bool("markdown"):
		if err := (render.Markdown{}).Plan(a.Out, doc); err != nil {
			return err
		}
	case policy == nil:
		s.showPlan(a.Out, p, true)
	case refused == nil:
		if err := a.Document(policy); err != nil {
			return err
		}
	}
	if !a.AsJSON {
		for _, r := range s.notObserved() {
			fmt.Fprintf(a.Err, "not observed: %s: %s\n", r.Address, r.Why)
		}
	}
	if refused != nil {
		return a.Refused(refused)
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(c.Context, file, p); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "saved: athanor deploy %s applies exactly this plan\n", file+targetElsewhere(s.target))
	}
	if c.Bool("submit") {
		if err := s.submitPlan(c.Context, p); err != nil {
			return err
		}
	}
	switch {
	case len(p.Blocked()) > 0:
		return a.Refused(s.shown(policy == nil, p.BlockedError(p.Blocked())))
	case p.Pending():
		fmt.Fprintln(a.Err, "exit code 2: changes are pending")
		return cli.Exit(cli.ExitPending)
	}
	return nil
}

// notObserved lists what an untrusted plan did not observe.
func (s *session) notObserved() []render.NotObserved {
	var list []render.NotObserved
	for _, address := range slices.Sorted(maps.Keys(s.unobserved)) {
		list = append(list, render.NotObserved{Address: address, Action: "not-observed", Why: s.unobserved[address]})
	}
	return list
}

// needed is the policy that --iam asks for, nil without it.
func needed(c *cli.Context, p *engine.Plan) map[string]any {
	if !c.Bool("iam") {
		return nil
	}
	return aws.LeastPolicy(engine.Needs(c.Context, p))
}

// proceed shows a plan, asks, applies it and reports.
func (s *session) proceed(c *cli.Context, p *engine.Plan, err error) error {
	a := s.app
	if p == nil {
		return err
	}
	if !a.AsJSON && (err != nil || p.Pending() || len(p.Blocked()) > 0) {
		s.showPlan(a.Err, p, !c.Bool("yes"))
	}
	if err != nil && a.AsJSON {
		return err
	}
	if err != nil {
		return a.Refused(err)
	}
	if err := s.refusal(c, p); err != nil {
		return err
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(c.Context, file, p); err != nil {
			return err
		}
	}
	if p.Pending() {
		if err := s.approved(c, p); err != nil {
			return err
		}
	}
	return s.expiring(c, func() error { return s.apply(c, p) })
}

// approved is why a plan is not applied; nil when its user, or a flag, says that it is.
func (s *session) approved(c *cli.Context, p *engine.Plan) error {
	if creates(c.Command.Name) {
		if typed, err := s.newStage(c, len(p.Actions)); err != nil || typed {
			return err
		}
	}
	return s.answered(c, p)
}

// answered is why a plan is not applied; nil when --yes or its user says that it is. A plan that deletes most of a stage says
// so above the question, and needs more than --yes.
func (s *session) answered(c *cli.Context, p *engine.Plan) error {
	if err := s.asReviewed(p); err != nil {
		return err
	}
	mass, err := s.massDeletion(c.Context, p)
	switch {
	case err != nil:
		return err
	case mass != "" && !c.Bool("allow-mass-delete") && (c.Bool("yes") || s.app.AsJSON):
		return cli.Hint(fmt.Errorf("%w: the plan %s; nothing was changed", engine.ErrNotApproved, mass), "--allow-mass-delete with --yes deletes them")
	case c.Bool("yes"):
		return nil
	case mass != "" && !s.app.AsJSON:
		fmt.Fprintf(s.app.Err, "This %s.\n", mass)
	}
	return s.approve(c.Context, p)
}

// massDeleteFlag permits a plan that deletes most of a stage.
func massDeleteFlag() cli.Flag {
	return &cli.BoolFlag{Category: cli.Safety, Name: "allow-mass-delete", Usage: "with --yes: allow a plan that deletes more than half of a stage of ten resources or more"}
}

// massDeletion says how much of a stage a plan deletes, where that is more than half of ten resources or more; "" elsewhere,
// and for what was asked to destroy the stage.
func (s *session) massDeletion(ctx context.Context, p *engine.Plan) (string, error) {
	const fewest = 10
	deleted := 0
	for i := range p.Actions {
		if p.Actions[i].Action == engine.Delete {
			deleted++
		}
	}
	if p.Destroy || s.reviewed != nil || deleted <= fewest/2 {
		return "", nil
	}
	snap, err := s.project.Store.Load(ctx, s.stage)
	if err != nil {
		return "", err
	}
	if all := len(snap.Rows); all >= fewest && 2*deleted > all {
		return fmt.Sprintf("deletes %d of the %d resources of %s", deleted, all, s.stage), nil
	}
	return "", nil
}

// creates reports whether a command can be the first one of a stage.
func creates(command string) bool { return command == "deploy" || command == "adopt" }

// refusal is why a plan that was shown is not begun; nil when it is.
func (s *session) refusal(c *cli.Context, p *engine.Plan) error {
	err := s.shown(true, p.Refusal())
	if err == nil || c.Command.Name != "deploy" {
		return err
	}
	return cli.Hint(err, "nothing was done; --exclude ADDRESS goes on without one and what needs it")
}

// shown returns an error that says what a plan says, which people have read where the plan was shown as text.
func (s *session) shown(asText bool, err error) error {
	if err == nil || s.app.AsJSON || !asText {
		return err
	}
	return render.Shown(err)
}

// approve asks whether a plan is to be applied. Where users' data may be deleted, the name of the stage is the yes.
func (s *session) approve(ctx context.Context, p *engine.Plan) error {
	a, details := s.app, func() { s.showDetails(p) }
	lost := losesData(p, holdsData(a.Catalog))
	if len(lost) == 0 {
		return a.Confirm(ctx, render.ApplyQuestion(p, s.question), terminal.IsYes, details)
	}
	if a.MayAsk() {
		a.Style(a.Err).LosesData(a.Err, lost)
	}
	isName := func(text string) bool { return strings.EqualFold(text, p.Stage) }
	return a.Confirm(ctx, render.NameQuestion(p, s.question), isName, details)
}

// losesData are the lines of a plan that may delete users' data.
func losesData(p *engine.Plan, holdsData func(kind string) bool) []engine.Planned {
	var lost []engine.Planned
	for i := range p.Actions {
		loses := slices.ContainsFunc(p.Actions[i].Steps, func(step operation.Step) bool {
			return slices.ContainsFunc(step.Operations, func(o operation.Operation) bool {
				return o.Verb == operation.Remove && o.Data && holdsData(o.Object.Kind)
			})
		})
		if loses {
			lost = append(lost, p.Actions[i])
		}
	}
	return lost
}

// holdsData reports whether objects of a kind can hold users' data.
func holdsData(catalog *reconcile.Catalog) func(kind string) bool {
	return func(kind string) bool {
		k, known := catalog.Kind(kind)
		return known && k.Spec().HoldsData
	}
}

// verdict turns a result into an exit code.
func verdict(res *engine.Result, p *engine.Plan) error {
	switch {
	case res.State == statestore.Cancelled:
		return cli.Exit(cli.ExitInterrupted)
	case res.Complete():
		return nil
	case res.Run == "" || !p.Pending():
		return cli.Exit(cli.ExitError)
	default:
		return cli.Exit(cli.ExitPartly)
	}
}
