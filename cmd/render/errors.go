package render

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Problem is one problem of an error that lists several, as --json shows it.
type Problem struct {
	Address string   `json:"address,omitempty"`
	Source  string   `json:"source,omitempty"`
	Error   string   `json:"error"`
	Hints   []string `json:"hints,omitempty"`
	// Cause is the same for all problems with one cause.
	Cause string `json:"cause,omitempty"`
}

// ErrorLine is the last line of --json when a command ends with an error.
type ErrorLine struct {
	Type     string    `json:"type"`
	Error    string    `json:"error"`
	Hints    []string  `json:"hints,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	// Causes are the errors that several problems have in common.
	Causes []engine.Cause     `json:"causes,omitempty"`
	Holder *statestore.Holder `json:"holder,omitempty"`
	Exit   int                `json:"exit"`
	// InterruptedBy says who ended the command, as in the summary.
	InterruptedBy string `json:"interruptedBy,omitempty"`
}

// Errors shows errors. Mask hides the secrets in one, Place shortens a place in the program; nil leaves both as they are. Line
// returns the line of the program at a place, without secrets, and false where there is none that may be shown; nil shows none.
type Errors struct {
	Mask   func(error) string
	Place  func(string) string
	Source func(file string, line int) (string, bool)
}

func (e Errors) mask(err error) string {
	if e.Mask == nil {
		return Plainly(err.Error())
	}
	return Plainly(e.Mask(err))
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
	line := ErrorLine{Type: kind, Error: e.mask(err), Hints: Hints(err), Exit: code}
	line.Problems, line.Causes = e.Lines(err)
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		line.Holder = &held.Holder
	}
	return line
}

// Lines are the problems of an error as --json shows them, and the causes that several of them have in common.
func (e Errors) Lines(err error) ([]Problem, []engine.Cause) {
	list := Problems(err)
	causes, ids := e.common(list)
	var lines []Problem
	for _, p := range list {
		lines = append(lines, Problem{Address: p.Address, Source: e.place(p.Source), Error: e.mask(p.Err), Hints: Hints(p.Err), Cause: ids[p.Address]})
	}
	return lines, causes
}

// common returns the causes that several problems have in common, and the cause of each of their addresses.
func (e Errors) common(list []engine.Problem) (causes []engine.Cause, ids map[string]string) {
	ids = map[string]string{}
	for _, g := range engine.GroupProblems(list) {
		if !g.Shared() {
			continue
		}
		for _, addr := range g.Cause.Addresses {
			ids[addr] = g.Cause.ID
		}
		g.Cause.Error = e.mask(errors.New(g.Cause.Error))
		causes = append(causes, g.Cause)
	}
	return causes, ids
}

// shownError is an error whose causes people have read in the plan already.
type shownError struct{ error }

func (e shownError) Unwrap() error { return e.error }

// Shown says of an error that the plan which was shown has its causes: those of several resources are not repeated.
func Shown(err error) error { return shownError{err} }

// Print writes an error for people.
func (e Errors) Print(w io.Writer, s Style, err error) {
	err = withWayOut(err)
	if problems := Problems(err); len(problems) > 0 {
		_, shown := errors.AsType[shownError](err)
		e.PrintAll(w, s, problems, shown)
		s.Hints(w, outerHints(err))
		return
	}
	e.plain(w, s, e.mask(err), Hints(err))
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		h := cleaned(held.Holder)
		fmt.Fprintf(w, "  run      %s\n  host     %s\n  pid      %d\n  command  %s\n  since    %s\n  expires  %s\n",
			h.Run, h.Host, h.PID, h.Command, h.Since.Local().Format(time.RFC3339), h.Expires.Local().Format(time.RFC3339))
	}
}

// withWayOut adds what can be done about an error whose maker knows no command.
func withWayOut(err error) error {
	way := ""
	switch moved := statestore.MovedTo(err); {
	case moved != "":
		way = "name the new store with --store or $ATHANOR_STORE: " + moved
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
	case errors.Is(err, operation.ErrChanged):
		way = "plan again"
	default:
		return err
	}
	return reconcile.WithHint(err, "%s", way)
}

// manyProblems is how many are shown before the rest is only counted.
const manyProblems = 10

// PrintAll writes problems for people, each with its place and its own hints. Those with one cause are one error, which
// names the addresses. Shown: the text of such a cause stands in the plan above.
func (e Errors) PrintAll(w io.Writer, s Style, problems []engine.Problem, shown bool) {
	groups := engine.GroupProblems(problems)
	for i, g := range groups {
		if i == manyProblems {
			fmt.Fprintf(w, "and %d more\n", len(groups)-i)
			return
		}
		if g.Shared() {
			e.printShared(w, s, g.Cause, shown)
			continue
		}
		// Neighbours with the same way out share one hint.
		hints := Hints(g.First.Err)
		if next := i + 1; next < min(len(groups), manyProblems) && !groups[next].Shared() && slices.Equal(hints, Hints(groups[next].First.Err)) {
			hints = nil
		}
		if i > 0 && s.Width > 0 {
			fmt.Fprintln(w)
		}
		e.problem(w, s, g.First, hints)
	}
}

// problem writes one problem, the line of the program at its place, and what can be done. On a terminal the place stands above the
// line, elsewhere before the message, where editors and CI systems find it.
func (e Errors) problem(w io.Writer, s Style, p engine.Problem, hints []string) {
	shown := engine.Problem{Address: p.Address, Source: e.place(p.Source), Err: errors.New(e.mask(p.Err))}
	source, ok := e.line(p.Source)
	if !ok {
		s.Error(w, shown.String(), hints)
		return
	}
	title := ""
	if s.Width > 0 {
		title, shown.Source = shown.Source, ""
	}
	s.errorText(w, shown.String())
	s.snippet(w, title, p.Source, source)
	s.Hints(w, hints)
}

// line is the line of the program at a place.
func (e Errors) line(place string) (string, bool) {
	file, number, _ := splitPlace(place)
	if e.Source == nil || number == 0 {
		return "", false
	}
	return e.Source(filepath.Clean(file), number)
}

// plain writes an error that is no list of problems. Below each message of the Go compiler stands the line that it is about.
func (e Errors) plain(w io.Writer, s Style, text string, hints []string) {
	if !goMessages.MatchString(text) || e.Source == nil {
		s.Error(w, text, hints)
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			s.errorText(w, line)
			continue
		}
		s.write(w, "       "+clean(line), 7)
		if at := goPlace.FindStringSubmatch(line); at != nil {
			if source, ok := e.line(at[1]); ok {
				s.snippet(w, "", at[1], source)
			}
		}
	}
	s.Hints(w, hints)
}

// printShared writes one error of several resources, whose addresses people have read where the plan was shown.
func (e Errors) printShared(w io.Writer, s Style, c engine.Cause, shown bool) {
	text, hints := e.mask(errors.New(c.Error)), []string{}
	if c.Hint != "" {
		hints = []string{c.Hint}
	}
	if shown && c.Follows == "" {
		text, hints = "the plan says why", nil
	}
	text = fmt.Sprintf("%s: %s", counted(len(c.Addresses), "resource"), text)
	if !shown {
		text += "\n" + s.addresses(c.Addresses, 7)
	}
	s.Error(w, text, hints)
}

// manyAddresses is how many are listed before the rest is only counted.
const manyAddresses = 50

// addresses lists addresses in lines that can be read, behind an indentation.
func (s Style) addresses(all []string, indent int) string {
	width := 100
	if s.Width > 0 {
		width = min(width, s.Width-indent)
	}
	var lines []string
	line := ""
	for i, addr := range all {
		if i == manyAddresses {
			line += fmt.Sprintf("and %d more", len(all)-i)
			break
		}
		if i < len(all)-1 {
			addr += ", "
		}
		if runes(line+addr) > width && line != "" {
			lines, line = append(lines, strings.TrimSuffix(line, " ")), ""
		}
		line += addr
	}
	return strings.Join(append(lines, line), "\n")
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

// Hints are the hints of an error, each once.
func Hints(err error) []string {
	var once []string
	for _, h := range reconcile.Hints(err) {
		if !slices.Contains(once, h) {
			once = append(once, h)
		}
	}
	return once
}
