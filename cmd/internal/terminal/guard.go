package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
)

// guard stands before a terminal: what commands print may hold what a service or a program says, and of what a terminal
// obeys only what athanor itself draws with may pass. A stream that is no terminal is left as it is.
type guard struct {
	file *os.File
	// first is what the terminal shows before anything is written; nil for nothing.
	first *firstLine
}

// Guarded is a stream that commands write to.
func Guarded(file *os.File) io.Writer {
	if !IsTerminal(file) {
		return file
	}
	return &guard{file: file}
}

// Write writes a text. Code that draws writes each of its sequences in one piece.
func (g *guard) Write(p []byte) (int, error) {
	g.first.end()
	if _, err := io.WriteString(g.file, drawn(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// drawn is a text whose sequences are athanor's own: colours, upwards, to the margin, wiping, wrapping.
func drawn(text string) string {
	var b strings.Builder
	done := 0
	for _, at := range render.Drawing.FindAllStringIndex(text, -1) {
		b.WriteString(render.Escaped(text[done:at[0]]) + text[at[0]:at[1]])
		done = at[1]
	}
	b.WriteString(render.Escaped(text[done:]))
	return b.String()
}

// fileOf is the file behind a stream; nil when there is none.
func fileOf(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *guard:
		return s.file
	case aboveStatus:
		return fileOf(s.under)
	case *output:
		return fileOf(s.under)
	}
	return nil
}

// Unguarded is a stream without its guard, for what a user asked for as it is.
func Unguarded(stream io.Writer) io.Writer {
	switch s := stream.(type) {
	case *guard:
		s.first.end()
		return s.file
	case *output:
		return &output{Unguarded(s.under), s.lost}
	}
	return stream
}

// firstLine is what a terminal shows while a command that plans gets ready: before the kinds are listed, files are read and a store is
// opened. What is written next takes its place.
type firstLine struct {
	under io.Writer
	once  sync.Once
}

// planningCommands show what planning does, and begin with a first line.
var planningCommands = []string{"plan", "deploy", "destroy", "drift"}

// Start reads of a command line how errors are shown, and shows the first line of it, until what it returns is called.
func (t *Terminal) Start(args []string) (end func()) {
	t.AsJSON, t.noColor = cli.HasSwitch(args, "json"), cli.HasSwitch(args, "no-color")
	t.first = t.newFirstLine(args)
	for _, stream := range []io.Writer{t.Out, t.Err} {
		if g, ok := stream.(*guard); ok {
			g.first = t.first
		}
	}
	t.Out = &output{t.Out, new(loss)}
	return t.first.end
}

// EndFirstLine makes room for what writes to the terminal by itself.
func (t *Terminal) EndFirstLine() { t.first.end() }

// newFirstLine writes the first line of a command line; nil for one that shows none.
func (t *Terminal) newFirstLine(args []string) *firstLine {
	guard, ok := t.Err.(*guard)
	if !ok || !t.draws(guard) || t.AsJSON || !slices.Contains(planningCommands, commandName(args)) ||
		slices.ContainsFunc([]string{"help", "h", "v", "version"}, func(name string) bool { return cli.HasSwitch(args, name) }) {
		return nil
	}
	f := &firstLine{under: guard.file}
	io.WriteString(f.under, "planning") //nolint:errcheck // a lost terminal must not fail a plan
	return f
}

// commandName is the first word of a command line that is no flag.
func commandName(args []string) string {
	for _, word := range args[min(1, len(args)):] {
		if !strings.HasPrefix(word, "-") {
			return word
		}
	}
	return ""
}

// end removes the line.
func (f *firstLine) end() {
	if f == nil {
		return
	}
	f.once.Do(func() { io.WriteString(f.under, "\r\x1b[K") }) //nolint:errcheck // as above
}
