package cmd

import (
	"io"
	"path/filepath"
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

// lines shows what objects print: with --json as JSON on standard output, else as lines behind their addresses.
type lines struct {
	*render.Lines
	app *app
}

// newLines shows on w what is not JSON; times says that each line begins with when it was written.
func (a *app) newLines(w io.Writer, times bool) *lines {
	return &lines{render.NewLines(w, a.style(w), times), a}
}

// Line shows one line. It may be called from many goroutines.
func (l *lines) Line(address string, line reconcile.LogLine) {
	if l.app.asJSON {
		l.app.json(logLine{Time: line.Time.UTC(), Type: "log", Address: address, Source: line.Source, Text: line.Text})
		return
	}
	l.Lines.Line(address, line)
}

// newDev makes the dev session of a project, whose objects print to l. The caller closes it.
func (p *project) newDev(l *lines) *reconcile.Dev {
	return &reconcile.Dev{Dir: filepath.Join(p.root, ".athanor", "dev"), Output: l.Line}
}
