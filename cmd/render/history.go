package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

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
	// Progress is how far a run is that has not ended; nil where that is unknown.
	Progress *Progression `json:"progress,omitempty"`
}

// Runs writes runs for people as a table, a line for each. Below a line stands what must be known of its run: why it ended so,
// or which process holds the stage.
func (s Style) Runs(w io.Writer, runs []Run) {
	if len(runs) == 0 {
		return
	}
	runs = cleaned(runs)
	ids := ShortRuns(runs)
	rows := [][]string{{"RUN", "COMMAND", "RESULT", "CHANGES", "TOOK", "STARTED"}}
	for i, r := range runs {
		rows = append(rows, s.row(ids[i], r))
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], columns(text))
		}
	}
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, text := range row {
			cells[j] = pad(text, widths[j])
			if rows[0][j] == "TOOK" {
				cells[j] = strings.Repeat(" ", widths[j]-columns(text)) + text
			}
		}
		s.write(w, strings.TrimRight(strings.Join(cells, "  "), " "), runHang)
		if i > 0 {
			s.remarks(w, runs[i-1])
		}
	}
}

// runHang is the indentation of what stands below the line of a run.
const runHang = 4

// row are the columns of a run.
func (s Style) row(id string, r Run) []string {
	result := string(r.State)
	switch r.State {
	case statestore.Failed, statestore.Lost:
		result = "! " + result
	case statestore.Running:
		result = "◐ " + result
	}
	changes, took, who := "", "", r.Host
	if r.Summary != nil {
		sum := *r.Summary
		sum.Unchanged = 0
		changes = strings.TrimSpace(s.Counts("", sum, false))
	}
	if r.Progress != nil && r.Progress.Total > 0 {
		changes = r.Progress.text() + " done"
	}
	if r.Duration > 0 {
		took = Elapsed(seconds(r.Duration))
	}
	if r.User != "" {
		who = r.User + "@" + r.Host
	}
	if r.Identity != "" && r.Identity != r.User { // $USER is what its owner says; this is what was authenticated
		who += " (" + r.Identity + ")"
	}
	return []string{id, r.Command, s.paint(stateColor(r.State), result), changes, took, r.Started.Local().Format(time.DateTime) + "  " + who}
}

// remarks writes what stands below the line of a run.
func (s Style) remarks(w io.Writer, r Run) {
	var notes []string
	switch {
	case r.Dead:
		notes = append(notes, "its process ended or its lease expired; the next run takes over")
	case r.State == statestore.Running:
		notes = append(notes, fmt.Sprintf("process %d on %s holds the stage", r.PID, r.Host))
	}
	if r.Note != "" {
		notes = append(notes, r.Note)
	}
	for _, n := range notes {
		s.write(w, strings.Repeat(" ", runHang)+strings.TrimSpace(n), runHang)
	}
}

// ShortRuns are the last parts of the ids of runs, which `athanor events` takes too. Runs that have one in common have their
// whole ids.
func ShortRuns(runs []Run) []string {
	short := func(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }
	count := map[string]int{}
	for _, r := range runs {
		count[short(r.Run)]++
	}
	ids := make([]string, len(runs))
	for i, r := range runs {
		if ids[i] = short(r.Run); count[ids[i]] > 1 {
			ids[i] = r.Run
		}
	}
	return ids
}
