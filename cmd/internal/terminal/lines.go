package terminal

import (
	"io"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/reconcile"
)

// logLine is one line of an object's log as --json writes it.
type logLine struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Address string    `json:"address"`
	Source  string    `json:"source,omitempty"`
	Text    string    `json:"text"`
}

// Lines shows what objects print: with --json as JSON on standard output, else as lines behind their addresses.
type Lines struct {
	*render.Lines
	terminal *Terminal
}

// NewLines shows on w what is not JSON; times says that each line begins with when it was written.
func (t *Terminal) NewLines(w io.Writer, times bool) *Lines {
	return &Lines{render.NewLines(w, t.Style(w), times), t}
}

// Line shows one line. It may be called from many goroutines.
func (l *Lines) Line(address string, line reconcile.LogLine) {
	if l.terminal.WroteJSON(logLine{Time: line.Time.UTC(), Type: "log", Address: address, Source: line.Source, Text: line.Text}) {
		return
	}
	l.Lines.Line(address, line)
}
