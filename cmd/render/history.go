package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// State writes the state of a run, padded to a width.
func (s Style) State(state statestore.RunState, width int) string {
	return s.paint(stateColor(state), fmt.Sprintf("%-*s", width, state))
}

func stateColor(state statestore.RunState) color {
	switch state {
	case statestore.Succeeded:
		return green
	case statestore.Failed, statestore.Lost:
		return red
	default:
		return yellow
	}
}

// Clean is a text from outside without its control characters.
func (s Style) Clean(text string) string { return clean(text) }

// Event writes one event of a run that is read from the record, with its time.
func (s Style) Event(w io.Writer, e engine.Event) {
	e = cleaned(e)
	at := s.paint(dim, e.Time.Local().Format(time.DateTime))
	if e.Time.IsZero() {
		at = fmt.Sprintf("%*s", len(time.DateTime), "")
	}
	for _, l := range s.told(e) {
		fmt.Fprintf(w, "%s%s\n", at, l)
	}
}

// told are the lines of an event: those of a progress, and what only a record shows.
func (s Style) told(e engine.Event) []string {
	switch e.Type {
	case engine.EventRun:
		text := string(e.Action) + " began"
		if e.Status != engine.StatusRunning {
			text = string(e.Status) + s.paint(dim, "  "+Elapsed(seconds(e.Elapsed)))
		}
		return []string{"  " + s.paint(bold, text)}
	case engine.EventStart:
		return []string{fmt.Sprintf("    %s  %s", e.Address, s.paint(dim, string(e.Action)+" begins"))}
	case engine.EventDone:
		return s.toldDone(e)
	default:
		return s.lines(e, 0, "")
	}
}

// toldDone are the lines of the end of a resource, with why it failed or was not done, and with what was changed of it.
func (s Style) toldDone(e engine.Event) []string {
	line := func(text string) string {
		return fmt.Sprintf("  %s %s  %s", s.paint(red, "!"), e.Address, s.paint(red, text))
	}
	lines := s.lines(e, 0, "")
	switch e.Status {
	case engine.StatusFailed:
		lines = []string{line("failed: " + string(e.Action) + ": " + cause(e))}
	case engine.StatusBlocked:
		lines = []string{line("blocked: " + oneLine(e.Note))}
	default:
		if len(e.Paths) > 0 && e.Action == engine.Update {
			lines[0] += "  " + s.paint(dim, strings.Join(e.Paths, ", "))
		}
	}
	if e.Hint != "" {
		lines = append(lines, "      "+s.paint(cyan, "hint: ")+clean(e.Hint))
	}
	return lines
}

// Run is a run as --json shows it.
type Run struct {
	Run     string              `json:"run"`
	Stack   string              `json:"stack"`
	Stage   string              `json:"stage"`
	Command string              `json:"command"`
	State   statestore.RunState `json:"state"`
	// Dead says that it runs by the record alone: nobody holds its lease any more.
	Dead bool   `json:"dead,omitempty"`
	User string `json:"user,omitempty"`
	// Identity is what was authenticated: the role in the database, or the uid.
	Identity string    `json:"identity,omitempty"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	// Duration is in seconds.
	Duration float64 `json:"duration,omitempty"`
	Note     string  `json:"note,omitempty"`
	// Summary are the counts, as in the last line of a deploy.
	Summary *engine.Summary `json:"summary,omitempty"`
}

// Runs writes runs for people, a line or two for each.
func (s Style) Runs(w io.Writer, runs []Run) {
	runs = cleaned(runs)
	commands, states := 0, 0
	for _, r := range runs {
		commands, states = max(commands, len(r.Command)), max(states, len(r.State))
	}
	for _, r := range runs {
		s.run(w, r, commands, states)
	}
}

func (s Style) run(w io.Writer, l Run, commands, states int) {
	who := l.Host
	if l.User != "" {
		who = l.User + "@" + l.Host
	}
	if l.Identity != "" {
		who += " (" + l.Identity + ")"
	}
	took := ""
	if l.Duration > 0 {
		took = Elapsed(seconds(l.Duration))
	}
	line := fmt.Sprintf("%s  %-*s  %s  %s  %8s  %s, pid %d", l.Run, commands, l.Command,
		s.State(l.State, states), l.Started.Local().Format(time.DateTime), took, who, l.PID)
	fmt.Fprintln(w, line)
	var notes []string
	if l.Summary != nil {
		notes = append(notes, s.Counts("", *l.Summary, false))
	}
	if l.Note != "" {
		notes = append(notes, clean(l.Note))
	}
	if l.Dead {
		notes = append(notes, "its process ended or its lease expired; the next run takes over")
	}
	for _, n := range notes {
		fmt.Fprintf(w, "    %s\n", strings.TrimSpace(n))
	}
}
