package terminal

import (
	"io"
	"os"
	"strings"

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
	}
	return nil
}

// Unguarded is a stream without its guard, for what a user asked for as it is.
func Unguarded(stream io.Writer) io.Writer {
	if g, ok := stream.(*guard); ok {
		g.first.end()
		return g.file
	}
	return stream
}
