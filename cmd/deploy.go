package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/cmd/internal/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

func (a *app) deployCommand() *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "make the cloud match the program", ArgsUsage: "[TARGET]",
		Description: "Plans, shows the plan, asks, applies it, and prints the outputs.\n\n" +
			"TARGET is a directory with athanor.yaml or a Go main package, a YAML file, a graph as JSON, - for standard input, " +
			"or a plan that `athanor plan --out` saved. The default is the current directory.\n\n" +
			"Deploying is safe to interrupt and to run again: whatever was begun is found and finished.",
		Flags:  planning(append(applying(), &cli.BoolFlag{Name: "dry-run", Usage: "only plan"})...),
		Action: a.deploy,
	}
}

func (a *app) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "show what deploy would do; change nothing", ArgsUsage: "[TARGET]",
		Description: "Looks at every resource and compares it with the program. Writes nothing, neither to the record nor to the cloud.\n\n" +
			"Exit code 0: nothing to do; 2: there are changes.",
		Flags:  planning(),
		Action: func(c *cli.Context) error { return a.planOnly(c) },
	}
}

func (a *app) destroyCommand() *cli.Command {
	return &cli.Command{
		Name: "destroy", Usage: "delete everything of a stage", ArgsUsage: "[TARGET]",
		Description: "Works from the record and from reading alone: a program that does not compile is no obstacle (--stack NAME).",
		Flags: shared(append(append(deleting(), applying()...),
			&cli.StringFlag{Name: "stack", Usage: "destroy stack `NAME` from its record alone", DefaultText: " "},
			&cli.BoolFlag{Name: "detailed", Usage: "show long values whole"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be deleted"})...),
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
	return s.proceed(c, p, err, "deploy")
}

// planOnly plans and shows. It exits 2 when there are changes, and says so.
func (a *app) planOnly(c *cli.Context) error {
	s, err := a.openSession(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.plan(c.Context)
	if p == nil {
		return err
	}
	if file := c.String("out"); file != "" && err == nil {
		if err := s.savePlan(file, p); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		a.json(p)
	} else {
		a.planStyle(c).Plan(a.out, p)
	}
	if err != nil {
		return a.refused(c, err)
	}
	if hasBlocked(p) {
		return exit(ExitError)
	}
	if p.Pending() {
		if !c.Bool("json") {
			fmt.Fprintln(a.err, "Exit code 2: changes are pending.")
		}
		return exit(ExitPending)
	}
	return nil
}

func hasBlocked(p *engine.Plan) bool {
	for _, action := range p.Actions {
		if action.Action == engine.Blocked {
			return true
		}
	}
	return false
}

// refused ends with what a plan refuses: it was shown with the plan, so only the reasons follow.
func (a *app) refused(c *cli.Context, err error) error {
	var refused *engine.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	if c.Bool("json") {
		return &exitError{code: ExitError, err: err}
	}
	for _, p := range refused.Problems {
		a.style(c).Error(a.err, p.String(), hintsOf(p.Err))
	}
	return exit(ExitError)
}

func (a *app) destroy(c *cli.Context) error {
	s, err := a.openDestroy(c)
	if err != nil || s == nil {
		return err
	}
	p, err := s.engine.PlanDestroy(c.Context, s.stage, s.graph, s.options)
	if c.Bool("dry-run") && p != nil {
		a.planStyle(c).Plan(a.out, p)
		return err
	}
	return s.proceed(c, p, err, "destroy")
}

// proceed shows a plan, asks, applies it and reports.
func (s *session) proceed(c *cli.Context, p *engine.Plan, err error, command string) error {
	a := s.app
	if p == nil {
		return err
	}
	asJSON := c.Bool("json")
	if !asJSON && (err != nil || p.Pending() || hasBlocked(p)) {
		a.planStyle(c).Plan(a.err, p)
	}
	if err != nil {
		return a.refused(c, err)
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(file, p); err != nil {
			return err
		}
	}
	if p.Pending() && !c.Bool("yes") {
		if err := a.approve(c, p, command); err != nil {
			return err
		}
	}
	return s.apply(c, p, command)
}

func (a *app) planStyle(c *cli.Context) render.Style {
	return render.Style{Color: a.colored(c, a.out), Detailed: c.Bool("detailed")}
}

// approve asks. Without a terminal nobody can answer, and nothing changes.
func (a *app) approve(c *cli.Context, p *engine.Plan, command string) error {
	f, ok := a.in.(*os.File)
	if _, isTerminal := terminal(f); !ok || !isTerminal || c.Bool("json") {
		return &exitError{code: ExitNotApproved, err: hint(engine.ErrNotApproved, "there is no terminal to ask on; --yes goes ahead without asking")}
	}
	verb := "Deploy this"
	if command == "destroy" {
		verb = "Delete all of this"
	}
	fmt.Fprintf(a.err, "%s to %s / %s? [y/N] ", verb, p.Stack, p.Stage)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	fmt.Fprintln(a.err, "Nothing was changed.")
	return exit(ExitNotApproved)
}

// apply runs a plan and reports how it went.
func (s *session) apply(c *cli.Context, p *engine.Plan, command string) error {
	a, asJSON := s.app, c.Bool("json")
	ctx, stop, release := interrupts(c.Context, func() {
		fmt.Fprintln(a.err, "\nstopping: running calls finish and are recorded; once more cancels them")
	})
	defer release()
	var progress *render.Progress
	if asJSON {
		s.engine.Events = func(e engine.Event) { a.json(e) }
	} else {
		width, _ := terminal(a.err)
		progress = render.NewProgress(a.err, a.style(c), width)
		s.engine.Events = progress.Event
	}
	res, err := s.engine.Apply(ctx, p, engine.ApplyOptions{
		PlanOptions: s.options, Saved: s.saved, Wait: c.Duration("wait"), Command: command, Interrupt: stop,
		Approve: func(again *engine.Plan) bool { return s.approveAgain(c, again, command) },
	})
	if progress != nil {
		progress.Close()
	}
	if err != nil && res == nil {
		return err
	}
	if res.Run != "" {
		if err := s.project.remember(context.WithoutCancel(ctx), s.stage); err != nil {
			fmt.Fprintln(a.err, "warning: this machine could not remember the store:", err)
		}
	}
	s.report(c, res, command)
	if err != nil {
		return err
	}
	return s.verdict(res, p)
}

func (s *session) approveAgain(c *cli.Context, p *engine.Plan, command string) bool {
	fmt.Fprintln(s.app.err, "The record changed meanwhile. The plan is now:")
	s.app.planStyle(c).Plan(s.app.err, p)
	return s.app.approve(c, p, command) == nil
}

// verdict turns a result into an exit code.
func (s *session) verdict(res *engine.Result, p *engine.Plan) error {
	switch {
	case res.State == statestore.Cancelled:
		return exit(ExitInterrupted)
	case res.Summary.Failed+res.Summary.Blocked+res.Summary.NotStarted == 0:
		return nil
	case res.Run == "" || !p.Pending():
		return exit(ExitError)
	default:
		return exit(ExitPartly)
	}
}
