package session

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

// Apply runs a plan and reports how it went.
func (s *Session) Apply(c *cli.Context, p *engine.Plan) error {
	a := s.Opener
	announceWait(s, c, p)
	defer thrifty()()
	var progress *render.Progress
	if a.AsJSON {
		s.Engine.Events = a.Event
	} else {
		if p.Pending() {
			fmt.Fprintln(a.Err)
		}
		progress = render.NewProgress(a.Screen(a.Err), p)
		progress.Approved(s.planID)
		s.Engine.Events = progress.Event
	}
	ended := s.traced(c)
	var refused error
	apply := s.ApplyPlan
	if apply == nil {
		apply = s.Engine.Apply
	}
	res, err := apply(c.Context, p, engine.ApplyOptions{
		PlanOptions: s.Options, Graph: s.Graph, Wait: c.Duration("wait"), Command: cmp.Or(s.Command, c.Command.Name),
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
		res.Took = time.Since(s.Began) // it was planned and compared, and that was all
	}
	ending := render.Ending{Next: continuation(s, c), Exit: exitOf(Verdict(res, p)), Errors: a.Errors()}
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
	return Verdict(res, p)
}

// traced also notes the events of a run for an OpenTelemetry trace, where the environment asks for one. What it returns sends
// the trace; that it could not be sent is a warning.
func (s *Session) traced(c *cli.Context) (ended func(*engine.Result, error)) {
	a := s.Opener
	trace, err := traces.Begin(os.Getenv, traces.About{
		Version: a.Release.Text(), Stack: s.Stage.Stack, Stage: s.Stage.Name, Command: cmp.Or(s.Command, c.Command.Name),
	})
	if err != nil {
		a.Warn("no trace is sent: %v", err)
	}
	if trace == nil {
		return func(*engine.Result, error) {}
	}
	show := s.Engine.Events
	s.Engine.Events = func(e engine.Event) {
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
			failure = s.Engine.Redacted(err)
		case !res.Complete():
			failure = string(res.State)
		}
		if err := trace.End(c.Context, string(res.State), failure); err != nil {
			a.Warn("the trace was not sent: %v", err)
		}
	}
}

// continuation is the command that continues a run which was not completed.
func continuation(s *Session, c *cli.Context) string {
	words := []string{s.Opener.Name(), c.Command.Name}
	if s.Command == "state" {
		words = []string{s.Opener.Name(), s.Command, c.Command.Name}
	}
	if c.Command.Name == "drift" {
		words = append(words, "--repair")
	}
	if c.IsSet("stage") {
		words = append(words, "--stage", s.Stage.Name)
	}
	if c.String("stack") != "" {
		words = append(words, "--stack", s.Stage.Stack)
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
func announceWait(s *Session, c *cli.Context, p *engine.Plan) {
	wait := c.Duration("wait")
	if wait <= 0 || !p.Pending() && !p.Destroy {
		return
	}
	snap, err := s.Project.Store.Load(c.Context, s.Stage)
	if err != nil || snap.Holder == nil || statestore.MovedBy(snap.Holder.Command) != "" {
		return
	}
	h := snap.Holder
	fmt.Fprintf(s.Opener.Err, "waiting up to %s for run %s (%s, pid %d on %s)\n", wait, h.Run, h.Command, h.PID, h.Host)
}

// approveAgain shows the plan that was made anew because the state moved before the run had the lease, and asks for it again.
// It gives why the plan is not applied.
func (s *Session) approveAgain(c *cli.Context, p *engine.Plan, progress *render.Progress) error {
	a := s.Opener
	if a.AsJSON {
		a.JSON(render.PlanLine{Time: time.Now().UTC(), Type: "plan", Plan: p})
	} else {
		fmt.Fprintln(a.Err, "State changed meanwhile, and so did the plan:")
		s.ShowPlan(a.Err, p, false)
		progress.Replan(p)
	}
	if err := refusalOf(s, c, p); err != nil {
		return err
	}
	return s.answered(c, p)
}

// report prints how a run ended: what somebody must do, counts, outputs.
func (s *Session) report(res *engine.Result, p *engine.Plan, ending render.Ending) {
	a, outputs := s.Opener, render.Outputs(res)
	if a.WroteJSON(s.Summary(res, p, outputs)) {
		return
	}
	a.Style(a.Err).Result(a.Err, res, ending)
	if !p.Destroy && !p.Drift {
		a.Style(a.Out).Outputs(a.Out, outputs)
	}
}

// Summary is how a run ended as --json shows it.
func (s *Session) Summary(res *engine.Result, p *engine.Plan, outputs map[string]any) render.Summary {
	line := render.NewSummary(res, p, outputs, render.Errors{Mask: s.Engine.Redacted})
	line.Stack, line.Stage = s.Stage.Stack, s.Stage.Name
	if line.InterruptedBy = res.InterruptedBy; res.InterruptedBy == engine.BySignal {
		line.InterruptedBy = s.Opener.Interrupts.By()
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
