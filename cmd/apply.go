package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/traces"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// apply runs a plan and reports how it went.
func (s *session) apply(c *cli.Context, p *engine.Plan) error {
	a := s.app
	s.announceWait(c, p)
	defer thrifty()()
	var progress *render.Progress
	if a.AsJSON {
		s.engine.Events = a.Event
	} else {
		if p.Pending() {
			fmt.Fprintln(a.Err)
		}
		progress = render.NewProgress(a.Screen(a.Err), p)
		progress.Approved(s.planID)
		s.engine.Events = progress.Event
	}
	ended := s.traced(c)
	var refused error
	apply := s.applyPlan
	if apply == nil {
		apply = s.engine.Apply
	}
	res, err := apply(c.Context, p, engine.ApplyOptions{
		PlanOptions: s.options, Graph: s.graph, Wait: c.Duration("wait"), Command: cmp.Or(s.command, c.Command.Name),
		Interrupt: a.Interrupts.Applying(func() { a.Stopping(progress) }),
		Approve: func(again *engine.Plan) bool {
			refused = s.approveAgain(c, again, progress)
			return refused == nil
		},
	})
	if refused != nil && errors.Is(err, engine.ErrNotApproved) {
		err = refused
	}
	if progress != nil {
		progress.Close()
	}
	ended(res, err)
	if res == nil {
		return err
	}
	if res.Run == "" {
		res.Took = time.Since(s.began) // it was planned and compared, and that was all
	}
	ending := render.Ending{Next: s.next(c), Exit: exitOf(verdict(res, p)), Errors: a.Errors()}
	if progress != nil {
		ending.Ended = progress.Ended()
	}
	s.report(res, p, ending)
	if err != nil && res.Calls.Mutations > 0 {
		return cli.Exit(a.ReportAs(err, cli.ExitPartly)) // the end could not be written to state; something was done
	}
	if err != nil {
		return err
	}
	return verdict(res, p)
}

// traced also notes the events of a run for an OpenTelemetry trace, where the environment asks for one. What it returns sends
// the trace; that it could not be sent is a warning.
func (s *session) traced(c *cli.Context) (ended func(*engine.Result, error)) {
	a := s.app
	trace, err := traces.Begin(os.Getenv, traces.About{
		Version: a.release.Text(), Stack: s.stage.Stack, Stage: s.stage.Name, Command: cmp.Or(s.command, c.Command.Name),
	})
	if err != nil {
		a.Warn("no trace is sent: %v", err)
	}
	if trace == nil {
		return func(*engine.Result, error) {}
	}
	show := s.engine.Events
	s.engine.Events = func(e engine.Event) {
		show(e)
		trace.Event(e)
	}
	return func(res *engine.Result, err error) {
		if res == nil || res.Run == "" {
			return // no run began
		}
		failure := ""
		switch {
		case err != nil:
			failure = s.engine.Redacted(err)
		case !res.Complete():
			failure = string(res.State)
		}
		if err := trace.End(c.Context, string(res.State), failure); err != nil {
			a.Warn("the trace was not sent: %v", err)
		}
	}
}

// next is the command that continues a run which was not completed.
func (s *session) next(c *cli.Context) string {
	words := []string{s.app.Name(), c.Command.Name}
	if s.command == "state" {
		words = []string{s.app.Name(), s.command, c.Command.Name}
	}
	if c.Command.Name == "drift" {
		words = append(words, "--repair")
	}
	if c.IsSet("stage") {
		words = append(words, "--stage", s.stage.Name)
	}
	if c.String("stack") != "" {
		words = append(words, "--stack", s.stage.Stack)
	}
	return strings.Join(append(words, c.Args().Slice()...), " ")
}

// exitOf is the exit code that a verdict stands for.
func exitOf(verdict error) int {
	if code, ok := errors.AsType[cli.ExitCode](verdict); ok {
		return int(code)
	}
	return cli.ExitDone
}

// announceWait says whom --wait waits for. Whether it still must is the engine's business.
func (s *session) announceWait(c *cli.Context, p *engine.Plan) {
	wait := c.Duration("wait")
	if wait <= 0 || !p.Pending() && !p.Destroy {
		return
	}
	snap, err := s.project.Store.Load(c.Context, s.stage)
	if err != nil || snap.Holder == nil || statestore.MovedBy(snap.Holder.Command) != "" {
		return
	}
	h := snap.Holder
	fmt.Fprintf(s.app.Err, "waiting up to %s for run %s (%s, pid %d on %s)\n", wait, h.Run, h.Command, h.PID, h.Host)
}

// approveAgain shows the plan that was made anew because the state moved before the run had the lease, and asks for it again.
// It gives why the plan is not applied.
func (s *session) approveAgain(c *cli.Context, p *engine.Plan, progress *render.Progress) error {
	a := s.app
	if a.AsJSON {
		a.JSON(render.PlanLine{Time: time.Now().UTC(), Type: "plan", Plan: p})
	} else {
		fmt.Fprintln(a.Err, "State changed meanwhile, and so did the plan:")
		s.showPlan(a.Err, p, false)
		progress.Replan(p)
	}
	if err := s.refusal(c, p); err != nil {
		return err
	}
	return s.answered(c, p)
}

// report prints how a run ended: what somebody must do, counts, outputs.
func (s *session) report(res *engine.Result, p *engine.Plan, ending render.Ending) {
	a, outputs := s.app, render.Outputs(res)
	if a.AsJSON {
		a.JSON(s.summary(res, p, outputs))
		return
	}
	a.Style(a.Err).Result(a.Err, res, ending)
	if !p.Destroy && !p.Drift {
		a.Style(a.Out).Outputs(a.Out, outputs)
	}
}

// summary is how a run ended as --json shows it.
func (s *session) summary(res *engine.Result, p *engine.Plan, outputs map[string]any) render.Summary {
	line := render.NewSummary(res, p, outputs, render.Errors{Mask: s.engine.Redacted})
	line.Stack, line.Stage = s.stage.Stack, s.stage.Name
	if line.InterruptedBy = res.InterruptedBy; res.InterruptedBy == engine.BySignal {
		line.InterruptedBy = s.app.Interrupts.By()
	}
	return line
}

// thrifty lets less garbage gather while a plan is applied, until the function that it gives is called: most of the time
// then is waiting, for calls and for the disk, and the plan and the record of all rows are held meanwhile. Who sets GOGC
// has said what he wants.
func thrifty() func() {
	const percent = 60
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
