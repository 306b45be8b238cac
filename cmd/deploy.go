package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/statestore"
)

func (a *app) deployCommand() *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "make the cloud match the program", ArgsUsage: "[TARGET | PLANFILE]",
		Description: `Plans, shows the plan, asks, applies it, and prints the outputs. The next deploy completes an interrupted one,
wherever that ran.

` + targetHelp + `
A PLANFILE is what ` + "`plan --out`" + ` wrote: exactly that plan is applied, or nothing if anything changed since.

Exit codes: 0 done, or nothing to do; 1 error, nothing done; 3 another run holds the stage; 4 some
resources failed, the others are done; 5 not approved: without a terminal it takes --yes.`,
		UsageText: `deploy                          the stack in this directory
deploy ./shop --stage prod      another one, its stage prod
deploy --yes --json             for scripts: no question, events as JSON lines
deploy plan.json                what plan --out plan.json saved
graph --json | athanor deploy - -y`,
		Flags:  stageFlags(cli.PlanFlags(cli.ApplyFlags()...)...),
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
		Flags: stageFlags(cli.PlanFlags(&cli.BoolFlag{
			Name: "iam", Usage: "print the least policy of AWS IAM that allows exactly this plan to be deployed",
		}, &cli.BoolFlag{
			Name: "markdown", Usage: "print the plan as Markdown, for the comment of a pull request",
		}, &cli.BoolFlag{
			Name: "untrusted", Usage: "plan a stranger's stack: run no program, read no secret, say what was not observed (also $" + untrustedVariable + ")",
		})...),
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
		Flags: stageFlags(cli.DeleteFlags(cli.ApplyFlags(
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
	p, err := s.plan(c.Context)
	p, err = s.offerTakeOver(c, p, err, s.plan)
	return s.proceed(c, p, err)
}

func (a *app) planOnly(c *cli.Context) error {
	if c.Bool("markdown") && (a.asJSON || c.Bool("iam")) {
		return hint(errors.New("--markdown: the plan is printed in one form"), "leave out --json or --iam")
	}
	if untrusted(c) {
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
		return s.engine.PlanDestroy(ctx, s.stage, s.graph, s.options)
	}
	p, err := plan(c.Context)
	if c.Bool("dry-run") {
		return s.show(c, p, err)
	}
	p, err = s.offerTakeOver(c, p, err, plan)
	s.graph = nil // what the record says is in the plan; a large program need not be held while it goes
	return s.proceed(c, p, err)
}

// show prints a plan and nothing else. It exits 2 when there are changes, and says so.
func (s *session) show(c *cli.Context, p *engine.Plan, refused error) error {
	a := s.app
	if p == nil {
		return refused
	}
	policy := needed(c, p)
	doc := render.PlanDocument{Plan: p, Problems: a.errors().Lines(refused), IAM: policy, NotObserved: s.notObserved()}
	switch {
	case a.asJSON:
		a.json(doc)
	case c.Bool("markdown"):
		if err := (render.Markdown{}).Plan(a.out, doc); err != nil {
			return err
		}
	case policy == nil:
		a.style(a.out).Plan(a.out, p)
	case refused == nil:
		if err := a.document(policy); err != nil {
			return err
		}
	}
	if !a.asJSON {
		for _, r := range s.notObserved() {
			fmt.Fprintf(a.err, "not observed: %s: %s\n", r.Address, r.Why)
		}
	}
	if refused != nil {
		return a.refused(refused)
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(file, p); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "saved: athanor deploy %s applies exactly this plan\n", file)
	}
	switch {
	case len(stuck(p)) > 0:
		return a.refused(blockedError(stuck(p)))
	case p.Pending():
		fmt.Fprintln(a.err, "exit code 2: changes are pending")
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
	return aws.LeastPolicy(p.Needs(c.Context))
}

// refused ends with what a plan refuses. With --json it is in the document already.
func (a *app) refused(err error) error {
	if problems := render.Problems(err); len(problems) > 0 && !a.asJSON {
		a.errors().PrintAll(a.err, a.style(a.err), problems)
	} else if len(problems) == 0 {
		return err
	}
	return cli.Exit(cli.ExitError)
}

// stuck are what the plan could not plan.
func stuck(p *engine.Plan) []engine.Planned {
	var blocked []engine.Planned
	for _, action := range p.Actions {
		if action.Action == engine.Blocked {
			blocked = append(blocked, action)
		}
	}
	return blocked
}

// proceed shows a plan, asks, applies it and reports.
func (s *session) proceed(c *cli.Context, p *engine.Plan, err error) error {
	a := s.app
	if p == nil {
		return err
	}
	if !a.asJSON && (err != nil || p.Pending() || len(stuck(p)) > 0) {
		a.style(a.err).Plan(a.err, p)
	}
	if err != nil && a.asJSON {
		return err
	}
	if err != nil {
		return a.refused(err)
	}
	if err := stopped(c, p); err != nil {
		return err
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(file, p); err != nil {
			return err
		}
	}
	if p.Pending() && !c.Bool("yes") {
		if err := s.approve(c.Context, p); err != nil {
			return err
		}
	}
	return s.apply(c, p)
}

// stopped is why a plan is not begun; nil when it is. What fails before anything is done stops everything; what fails
// later, or by its entry alone, stops only what needs it. A deletion and a repair stop for nothing.
func stopped(c *cli.Context, p *engine.Plan) error {
	stops := p.Stops()
	switch {
	case len(stops) == 0, p.Destroy, p.Drift:
		return nil
	case c.Command.Name != "deploy":
		return blockedError(stops)
	}
	return hint(blockedError(stops), "nothing was done; --exclude ADDRESS goes on without one and what needs it")
}

// blockedError lists what could not be planned, as errors with their places.
func blockedError(blocked []engine.Planned) error {
	e := &engine.RefusedError{}
	for _, b := range blocked {
		err := errors.New(b.Problem)
		if b.Hint != "" {
			err = hint(err, b.Hint)
		}
		e.Problems = append(e.Problems, engine.Problem{Address: b.Address, Source: b.Source, Err: err})
	}
	return e
}

// approve asks whether a plan is to be applied.
func (s *session) approve(ctx context.Context, p *engine.Plan) error {
	question := cmp.Or(s.question, "Deploy this to")
	if p.Destroy {
		question = "Delete all of this from"
	}
	return s.app.ask(ctx, fmt.Sprintf("%s %s/%s?", question, p.Stack, p.Stage))
}

// ask asks a question; anything but a yes is an error. Without a terminal nobody can answer, and nothing changes.
func (a *app) ask(ctx context.Context, question string) error {
	if a.asJSON || !isTerminal(a.in) {
		return hint(fmt.Errorf("%w; nothing was changed", engine.ErrNotApproved), "--yes goes ahead without asking, where nobody can be asked")
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	switch yes, err := a.answer(ctx); {
	case err != nil:
		fmt.Fprintln(a.err)
		return err
	case !yes:
		fmt.Fprintln(a.err, "Nothing was changed.")
		return cli.Exit(cli.ExitNotApproved)
	}
	return nil
}

// answer reads a yes or a no. The end of input is a no.
func (a *app) answer(ctx context.Context) (bool, error) {
	type reply struct {
		text string
		err  error
	}
	read := make(chan reply, 1)
	go func() {
		line, err := readLine(a.in)
		read <- reply{line, err}
	}()
	select {
	case <-ctx.Done():
		return false, errInterrupted
	case <-a.interrupts.stopped:
		return false, errInterrupted
	case r := <-read:
		if errors.Is(r.err, io.EOF) {
			fmt.Fprintln(a.err)
			return false, nil
		}
		return r.text == "y" || r.text == "yes", r.err
	}
}

// verdict turns a result into an exit code.
func verdict(res *engine.Result, p *engine.Plan) error {
	switch {
	case res.State == statestore.Cancelled:
		return cli.Exit(cli.ExitInterrupted)
	case res.Summary.Failed+res.Summary.Blocked+res.Summary.NotStarted == 0:
		return nil
	case res.Run == "" || !p.Pending():
		return cli.Exit(cli.ExitError)
	default:
		return cli.Exit(cli.ExitPartly)
	}
}
