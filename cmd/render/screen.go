package render

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Screen is where something is shown that goes on: a terminal with a live region, or a stream of plain lines.
type Screen struct {
	Out   io.Writer
	Style Style
	// Size returns the columns and rows of the terminal; nil for a stream of plain lines.
	Size func() (columns, rows int)
	// Clock is that of the machine when it is nil.
	Clock Clock
}

func (s *Screen) now() time.Time { return s.clock().Now() }

func (s *Screen) clock() Clock {
	if s.Clock == nil {
		return systemClock{}
	}
	return s.Clock
}

// sized is the style at the width that the terminal has now, and the number of its rows.
func (s *Screen) sized() (Style, int) {
	style, rows := s.Style, 0
	if s.Size != nil {
		columns, lines := s.Size()
		style, rows = style.At(columns), lines
	}
	return style, rows
}

// at is the time of day before a plain line.
func (s *Screen) at(t time.Time) string {
	return s.Style.paint(dim, t.Local().Format(time.TimeOnly)) + " "
}

// The terminal's own words: up n lines, wipe to the end of the line or screen, wrap long lines or do not.
const (
	wipeLine   = "\x1b[K"
	wipeScreen = "\x1b[J"
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
)

// region is what is drawn at the bottom of a terminal and drawn again in place.
type region struct {
	drawn []string
}

// draw returns what puts lasting lines where the region was, and the new region below them. Lines that are as they were are
// left alone. It is written as one piece, so that nothing flickers.
func (r *region) draw(lasting, lines []string) string {
	if len(lasting) == 0 && len(lines) == 0 && len(r.drawn) == 0 {
		return ""
	}
	var b strings.Builder
	if len(r.drawn) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", len(r.drawn))
	}
	for _, l := range lasting {
		// A lasting line may be wrapped over lines of the region that was.
		b.WriteString(wipeScreen + l + "\n")
	}
	if len(lines) > 0 {
		b.WriteString(noWrap)
	}
	changed := len(lasting) > 0 || len(lines) != len(r.drawn)
	for i, l := range lines {
		if len(lasting) > 0 || i >= len(r.drawn) || r.drawn[i] != l {
			changed = true
			b.WriteString(wipeLine + l) // wiped first: behind a line as wide as the terminal there is nothing to wipe
		}
		b.WriteString("\n")
	}
	if len(lines) > 0 {
		b.WriteString(wrap)
	}
	if !changed {
		return ""
	}
	if len(lasting) > 0 || len(lines) != len(r.drawn) {
		b.WriteString(wipeScreen)
	}
	r.drawn = lines
	return b.String()
}

// clipped cuts the lines of a region to the width of the terminal: one that is drawn again must not wrap.
func (s Style) clipped(lines []string) []string {
	for i, l := range lines {
		if l = s.twin(strings.ReplaceAll(l, "\n", " ")); s.Width > 0 && columns(l) > s.Width {
			all := cells(l)
			l = joined(all[:fitting(all, s.Width-1)]) + s.twin("…")
		}
		lines[i] = l
	}
	return lines
}
