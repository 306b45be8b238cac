package render

import (
	"fmt"
	"io"
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
			text = string(e.Status) + s.paint(dim, "  "+Elapsed(time.Duration(e.Elapsed*float64(time.Second))))
		}
		return []string{"  " + s.paint(bold, text)}
	case engine.EventStart:
		return []string{fmt.Sprintf("    %s  %s", e.Address, s.paint(dim, string(e.Action)+" begins"))}
	default:
		return s.lines(e, 0, "")
	}
}
