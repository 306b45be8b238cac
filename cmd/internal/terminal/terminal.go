// Package terminal is what the command and its user say to each other: lines, JSON and errors, questions with their answers, and signals.
//
// It knows how something is shown and how long a question waits. It does not know what is deployed, nor which command asks.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// Terminal is where one call of the command shows and asks: its streams, and how they are written to.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// AsJSON and noColor are known before the flags are parsed, so that errors in the flags obey them.
	AsJSON, noColor, Detailed bool
	Interrupts                *interrupts
	// first is what the terminal shows until something is written; nil for nothing.
	first *firstLine
	// Dir is the directory of the stack at hand, from which places are, "" before it is known.
	Dir string
	// Excerpt returns a line of a file of the stack that people may see; nil shows none.
	Excerpt func(file string, line int) (string, bool)
	// Redacted masks the secrets that the engine has met; nil before there is an engine.
	Redacted func(error) string

	// asking is held while the user answers a question: nothing is drawn over it.
	asking sync.Mutex

	mu     sync.Mutex // one JSON line at a time, and what follows
	broken bool       // standard output went away
	line   []byte     // of the last event, to be used again
}

// aboveStatus is a terminal whose status line stays at its bottom.
type aboveStatus struct {
	*render.Status
	under io.Writer
}

// KeepStatus gives the terminal a status line, above which everything is shown from now on; nil where nothing is drawn.
func (t *Terminal) KeepStatus() *render.Status {
	if t.AsJSON || !t.draws(t.Err) {
		return nil
	}
	screen := t.Screen(t.Err)
	screen.Out = t.Err // what is shown above it waits for questions by itself
	status := render.NewStatus(screen)
	t.Err = aboveStatus{status, t.Err}
	return status
}

// JSON writes one line of JSON. A reader that goes away ends no run.
func (t *Terminal) JSON(v any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken {
		return
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	t.written(line.Bytes(), err)
}

// WroteJSON writes one line of JSON where --json asks for it, and reports whether it did.
func (t *Terminal) WroteJSON(v any) bool {
	if t.AsJSON {
		t.JSON(v)
	}
	return t.AsJSON
}

// JSONLines writes a line of JSON for each where --json asks for it, and reports whether it did.
func JSONLines[T any](t *Terminal, all []T) bool {
	if t.AsJSON {
		for _, v := range all {
			t.JSON(v)
		}
	}
	return t.AsJSON
}

// Event writes the line of an event.
func (t *Terminal) Event(e engine.Event) {
	t.mu.Lock()
	line, plain := e.AppendJSON(t.line[:0])
	if t.line = line; plain && !t.broken {
		t.written(append(line, '\n'), nil)
	}
	t.mu.Unlock()
	if !plain {
		t.JSON(e)
	}
}

// written writes a line to standard output, which says at the end that it could not be. The lock is held.
func (t *Terminal) written(line []byte, err error) {
	if err != nil {
		t.Warn("a line of JSON: %v", err)
		return
	}
	_, err = t.Out.Write(render.SafeJSON(line))
	t.broken = err != nil
}

// Document writes JSON that is to be kept and read: over several lines.
func (t *Terminal) Document(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := t.Out.Write(render.SafeJSON(text.Bytes()))
	return err
}

// Warn says what went wrong and stops nothing.
func (t *Terminal) Warn(format string, args ...any) {
	t.Style(t.Err).Warning(t.Err, fmt.Sprintf(format, args...))
}

// Waiting prints what a plan waits for.
func (t *Terminal) Waiting(e engine.Event) {
	if e.Type == engine.EventProgress {
		fmt.Fprintf(t.Err, "  %s: %s\n", e.Address, e.Note)
	}
}
