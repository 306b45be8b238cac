package cmd

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/statestore"
)

func whyFlag(usage string) cli.Flag { return &cli.StringFlag{Name: "why", Usage: usage} }

func cancelCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "ask the run that holds a stage to stop", ArgsUsage: "[TARGET]",
		Description: `Works like Ctrl-C, from any machine that reaches the state store: the run starts nothing new, lets running calls
finish, writes their results to state and ends as cancelled, with exit code 130 there. It notices with its next
write to state, at most ten seconds later. Asking twice is harmless. The next deploy continues.

Exit codes: 0 it was asked, or nothing holds the stage; 1 error.`,
		UsageText: `cancel                          what runs on the stack in this directory
cancel --stage prod --why "wrong branch"
events --follow                 watch it end`,
		Flags:  project.StageFlags(whyFlag("give the reason `WHY`, which the history keeps"), cli.StackFlag("read")),
		Action: func(c *cli.Context) error { return cancelRun(o, c) },
	}
}

func unlockCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "unlock", Usage: "take a stage away from the run that holds it", ArgsUsage: "[TARGET]",
		Description: `Rarely needed: a run that died is taken over by the next one, on this machine at once, from elsewhere within
30 seconds. This is for one that lives and hangs, and does not obey cancel. Its run ends as lost. It starts
nothing more: before each change it asks whether the stage is still its own. A call that is under way can not
be called back, so look whether one is.

Exit codes: 0 it is free; 1 error; 5 not approved: without a terminal it takes --yes.`,
		UsageText: `unlock --why "the runner hangs"
unlock --stage prod --why "the runner hangs" --yes`,
		Flags: project.StageFlags(
			whyFlag("give the reason `WHY`, which the history keeps with your name; required"),
			cli.YesFlag(),
			cli.StackFlag("read")),
		Action: func(c *cli.Context) error { return unlockStage(o, c) },
	}
}

// orderLine is what `cancel --json` and `unlock --json` print.
type orderLine struct {
	Type  string `json:"type"` // "cancel", "unlock"
	Stack string `json:"stack"`
	Stage string `json:"stage"`
	// Done says that a run was asked to stop, or lost its lease. False: nothing holds the stage.
	Done bool   `json:"done"`
	Run  string `json:"run,omitempty"`
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	Why  string `json:"why,omitempty"`
}

func cancelRun(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenRuns(c, 0)
	if err != nil || s == nil {
		return err
	}
	run, err := s.AtWork(c)
	if err != nil {
		return err
	}
	if run != nil && statestore.MovedBy(run.Command) != "" {
		run = nil // it is no process that could stop; openRuns has said where the stage is
	}
	return giveOrder(s, c, run, statestore.Order{}, "is asked to stop: running calls finish and are written to state")
}

func unlockStage(o *session.Opener, c *cli.Context) error {
	if c.String("why") == "" {
		return cli.Hint(errors.New("unlock: why? The history keeps the reason"), `athanor unlock --why "the runner hangs"`)
	}
	s, err := o.OpenRuns(c, 0)
	if err != nil || s == nil {
		return err
	}
	run, err := s.AtWork(c)
	if err != nil {
		return err
	}
	if run != nil {
		if statestore.MovedBy(run.Command) != "" {
			fmt.Fprint(o.Err, "         If something was deployed there, leave it there: two states of the same objects undo each other's changes.\n"+
				"         The history at the other store says what ran.\n")
		}
	}
	if run != nil && !c.Bool("yes") {
		question := fmt.Sprintf("Take %s away from run %s (%s, pid %d on %s)?", s.Stage, run.ID, run.Command, run.PID, run.Host)
		if err := o.Ask(c.Context, question); err != nil {
			return err
		}
	}
	return giveOrder(s, c, run, statestore.Order{Unlock: true}, "has lost the stage, which is free; it starts nothing more")
}

// giveOrder hands an order to the run that was shown, and to no other one.
func giveOrder(s *session.Session, c *cli.Context, run *statestore.Run, o statestore.Order, done string) error {
	a, line := s.Opener, orderLine{Type: c.Command.Name, Stack: s.Stage.Stack, Stage: s.Stage.Name}
	if run != nil {
		o.Run, o.Who, o.Why = run.ID, s.Project.WhoFrom(), c.String("why")
		var err error
		if line.Done, err = s.Project.Store.Interrupt(c.Context, s.Stage, o); err != nil {
			return err
		}
	}
	if line.Done {
		line.Run, line.Host, line.PID, line.Why = run.ID, run.Host, run.PID, o.Why
	}
	switch {
	case a.AsJSON:
		a.JSON(line)
	case line.Done:
		fmt.Fprintf(a.Out, "%s: run %s (%s, pid %d on %s) %s\n", s.Stage, run.ID, run.Command, run.PID, run.Host, done)
	case run != nil:
		fmt.Fprintf(a.Out, "%s: run %s holds it no longer\n", s.Stage, run.ID)
	default:
		fmt.Fprintf(a.Out, "%s: no run holds it\n", s.Stage)
	}
	return nil
}
