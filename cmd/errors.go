package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

func hint(err error, text string) error { return reconcile.WithHint(err, "%s", text) }

// errInterrupted ends a command that was interrupted before it changed anything.
var errInterrupted = errors.New("interrupted; nothing was changed")

// problem is one thing that is wrong, as --json shows it.
type problem struct {
	Address string   `json:"address,omitempty"`
	Source  string   `json:"source,omitempty"`
	Error   string   `json:"error"`
	Hints   []string `json:"hints,omitempty"`
}

// errorLine is the last line of --json when a command ends with an error.
type errorLine struct {
	Type     string             `json:"type"`
	Error    string             `json:"error"`
	Hints    []string           `json:"hints,omitempty"`
	Problems []problem          `json:"problems,omitempty"`
	Holder   *statestore.Holder `json:"holder,omitempty"`
	Exit     int                `json:"exit"`
	// InterruptedBy says who ended the command, as in the summary.
	InterruptedBy string `json:"interruptedBy,omitempty"`
}

// codeOf is the exit code that an error calls for.
func codeOf(err error) int {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted), errors.Is(err, reconcile.ErrInterrupted):
		return cli.ExitInterrupted
	case errors.Is(err, statestore.ErrHeld), errors.Is(err, errDevRuns):
		return cli.ExitLocked
	case errors.Is(err, engine.ErrNotApproved):
		return cli.ExitNotApproved
	default:
		return cli.ExitError
	}
}

// report shows an error, as a person or a program wants it, and gives its exit code.
func (a *app) report(err error) int { return a.reportAs(err, codeOf(err)) }

func (a *app) reportAs(err error, code int) int {
	held, isHeld := errors.AsType[*statestore.HeldError](err)
	if way := wayOut(err); way != "" {
		err = hint(err, way)
	}
	if a.asJSON {
		line := errorLine{Type: "error", Error: a.masked(err), Hints: hintsOf(err), Problems: a.jsonProblems(err), Exit: code}
		if isHeld {
			line.Holder = &held.Holder
		}
		if code == cli.ExitInterrupted && a.interrupts != nil {
			line.InterruptedBy = a.interrupts.by()
		}
		a.json(line)
		return code
	}
	if problems := problemsOf(err); len(problems) > 0 {
		a.reportAll(problems)
		a.style(a.err).Hints(a.err, outerHints(err))
		return code
	}
	a.style(a.err).Error(a.err, a.masked(err), hintsOf(err))
	if isHeld {
		a.printHolder(held.Holder)
	}
	return code
}

// wayOut is what can be done about errors whose makers know no command.
func wayOut(err error) string {
	switch {
	case errors.Is(err, statestore.ErrHeld):
		return "--wait 5m waits for it to end, athanor cancel asks it to stop"
	case errors.Is(err, statestore.ErrFenced):
		return "`athanor history` says what became of the run; the next deploy continues"
	case errors.Is(err, statestore.ErrNewer):
		return "a newer athanor wrote it, and can read it"
	case errors.Is(err, statestore.ErrDamaged):
		return "put a copy of it back, or move it away and deploy: what is there is found again by reading"
	case errors.Is(err, engine.ErrStale):
		return "plan again, and look at what moved"
	case errors.Is(err, plan.ErrChanged):
		return "plan again"
	}
	return ""
}

// manyProblems is how many are shown before the rest is only counted.
const manyProblems = 25

// reportAll shows problems, each with its place and its own hints.
func (a *app) reportAll(problems []engine.Problem) {
	style := a.style(a.err)
	for i, p := range problems {
		if i == manyProblems {
			fmt.Fprintf(a.err, "and %d more\n", len(problems)-i)
			return
		}
		// Neighbours with the same way out share one hint.
		hints := hintsOf(p.Err)
		if next := i + 1; next < min(len(problems), manyProblems) && slices.Equal(hints, hintsOf(problems[next].Err)) {
			hints = nil
		}
		shown := engine.Problem{Address: p.Address, Source: a.place(p.Source), Err: errors.New(a.masked(p.Err))}
		style.Error(a.err, shown.String(), hints)
	}
}

// outerHints are those around an error that lists problems, which have their own.
func outerHints(err error) []string {
	var hints []string
	for err != nil {
		if h, ok := err.(*reconcile.HintError); ok { //nolint:errorlint // this walks the chain itself
			hints = append(hints, h.Hint)
		}
		err = errors.Unwrap(err)
	}
	return hints
}

func (a *app) printHolder(h statestore.Holder) {
	fmt.Fprintf(a.err, "  run      %s\n  host     %s\n  pid      %d\n  command  %s\n  since    %s\n  expires  %s\n",
		h.Run, h.Host, h.PID, h.Command, h.Since.Local().Format(time.RFC3339), h.Expires.Local().Format(time.RFC3339))
}

// problemsOf are the single problems of an error that lists them.
func problemsOf(err error) []engine.Problem {
	if e, ok := errors.AsType[*engine.RefusedError](err); ok {
		return e.Problems
	}
	if e, ok := errors.AsType[*engine.GraphError](err); ok {
		return e.Problems
	}
	return nil
}

// hintsOf are the hints of an error, each once. An error type may carry its own.
func hintsOf(err error) []string {
	hints := reconcile.Hints(err)
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		hints = append(hints, h.Hint())
	}
	var once []string
	for _, h := range hints {
		if !slices.Contains(once, h) {
			once = append(once, h)
		}
	}
	return once
}

// masked is the text of an error without the secrets that this run has met.
func (a *app) masked(err error) string {
	if a.redacted == nil {
		return err.Error()
	}
	return a.redacted(err)
}

// jsonProblems are the problems of an error as --json shows them.
func (a *app) jsonProblems(err error) []problem {
	var list []problem
	for _, p := range problemsOf(err) {
		list = append(list, problem{Address: p.Address, Source: a.place(p.Source), Error: a.masked(p.Err), Hints: hintsOf(p.Err)})
	}
	return list
}
