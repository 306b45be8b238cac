package render

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Problem is one problem of an error that lists several, as --json shows it.
type Problem struct {
	Address string   `json:"address,omitempty"`
	Source  string   `json:"source,omitempty"`
	Error   string   `json:"error"`
	Hints   []string `json:"hints,omitempty"`
}

// ErrorLine is the last line of --json when a command ends with an error.
type ErrorLine struct {
	Type     string             `json:"type"`
	Error    string             `json:"error"`
	Hints    []string           `json:"hints,omitempty"`
	Problems []Problem          `json:"problems,omitempty"`
	Holder   *statestore.Holder `json:"holder,omitempty"`
	Exit     int                `json:"exit"`
	// InterruptedBy says who ended the command, as in the summary.
	InterruptedBy string `json:"interruptedBy,omitempty"`
}

// Errors shows errors. Mask hides the secrets in one, Place shortens a place in the program; nil leaves both as they are.
type Errors struct {
	Mask  func(error) string
	Place func(string) string
}

func (e Errors) mask(err error) string {
	if e.Mask == nil {
		return err.Error()
	}
	return e.Mask(err)
}

func (e Errors) place(source string) string {
	if e.Place == nil {
		return source
	}
	return e.Place(source)
}

// Line is an error as --json shows it.
func (e Errors) Line(kind string, err error, code int) ErrorLine {
	err = withWayOut(err)
	line := ErrorLine{Type: kind, Error: e.mask(err), Hints: Hints(err), Problems: e.Lines(err), Exit: code}
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		line.Holder = &held.Holder
	}
	return line
}

// Lines are the problems of an error as --json shows them.
func (e Errors) Lines(err error) []Problem {
	var list []Problem
	for _, p := range Problems(err) {
		list = append(list, Problem{Address: p.Address, Source: e.place(p.Source), Error: e.mask(p.Err), Hints: Hints(p.Err)})
	}
	return list
}

// Print writes an error for people.
func (e Errors) Print(w io.Writer, s Style, err error) {
	err = withWayOut(err)
	if problems := Problems(err); len(problems) > 0 {
		e.PrintAll(w, s, problems)
		s.Hints(w, outerHints(err))
		return
	}
	s.Error(w, e.mask(err), Hints(err))
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		h := cleaned(held.Holder)
		fmt.Fprintf(w, "  run      %s\n  host     %s\n  pid      %d\n  command  %s\n  since    %s\n  expires  %s\n",
			h.Run, h.Host, h.PID, h.Command, h.Since.Local().Format(time.RFC3339), h.Expires.Local().Format(time.RFC3339))
	}
}

// withWayOut adds what can be done about an error whose maker knows no command.
func withWayOut(err error) error {
	way := ""
	switch {
	case errors.Is(err, statestore.ErrHeld):
		way = "--wait 5m waits for it to end, athanor cancel asks it to stop"
	case errors.Is(err, statestore.ErrFenced):
		way = "`athanor history` shows how the run ended; the next deploy continues"
	case errors.Is(err, statestore.ErrNewer):
		way = "use the newer athanor that wrote it"
	case errors.Is(err, statestore.ErrDamaged):
		way = "restore a backup of it, or move it away and run athanor deploy: existing objects are found again by reading"
	case errors.Is(err, engine.ErrStale):
		way = "run athanor plan again and review what changed"
	case errors.Is(err, plan.ErrChanged):
		way = "plan again"
	default:
		return err
	}
	return reconcile.WithHint(err, "%s", way)
}

// manyProblems is how many are shown before the rest is only counted.
const manyProblems = 25

// PrintAll writes problems for people, each with its place and its own hints.
func (e Errors) PrintAll(w io.Writer, s Style, problems []engine.Problem) {
	for i, p := range problems {
		if i == manyProblems {
			fmt.Fprintf(w, "and %d more\n", len(problems)-i)
			return
		}
		// Neighbours with the same way out share one hint.
		hints := Hints(p.Err)
		if next := i + 1; next < min(len(problems), manyProblems) && slices.Equal(hints, Hints(problems[next].Err)) {
			hints = nil
		}
		shown := engine.Problem{Address: p.Address, Source: e.place(p.Source), Err: errors.New(e.mask(p.Err))}
		s.Error(w, shown.String(), hints)
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

// Problems are the single problems of an error that lists them.
func Problems(err error) []engine.Problem {
	if e, ok := errors.AsType[*engine.RefusedError](err); ok {
		return e.Problems
	}
	if e, ok := errors.AsType[*engine.GraphError](err); ok {
		return e.Problems
	}
	return nil
}

// Hints are the hints of an error, each once. An error type may carry its own.
func Hints(err error) []string {
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
