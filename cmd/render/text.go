package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// widestLine is the longest line that is drawn on a terminal, however wide that is.
const widestLine = 250

// At is the style for a terminal of so many columns.
func (s Style) At(columns int) Style {
	s.Width = min(columns, widestLine)
	return s
}

// columns returns how many cells a text takes on a terminal. Colours take none.
func columns(text string) int {
	return displaywidth.Options{ControlSequences: true}.String(text)
}

// pad returns a text with spaces behind it, as wide as a column.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// asciiGlyphs are the twins of the glyphs for terminals that show ASCII alone.
var asciiGlyphs = strings.NewReplacer(
	"±", "#", "×", "x", "…", ".", "→", "->", "↻", "@", "│", "|", "┌", "|", "·", "-", "◐", "|", "◓", "/", "◑", "-", "◒", `\`,
)

// twin is a line in the glyphs that the terminal shows.
func (s Style) twin(line string) string {
	if !s.ASCII {
		return line
	}
	return asciiGlyphs.Replace(line)
}

// write writes a line, wrapped to the width of the terminal. The lines after the first are indented by hang.
func (s Style) write(w io.Writer, line string, hang int) {
	for _, part := range wrapped(s.twin(line), s.Width, hang) {
		if s.Width > 0 {
			part = strings.ReplaceAll(part, unbroken, " ")
		}
		fmt.Fprintln(w, part)
	}
}

// unbroken is a space at which no line ends.
const unbroken = "\u00a0"

// endsGap is the space between both ends of a line where they do not stand at its ends.
const endsGap = 4

// ends writes a line with a text at its left and a quiet one at its right end. Where both do not fit, the right one has a line of
// its own, and a narrow terminal shows the left one alone.
func (s Style) ends(w io.Writer, left, right string) {
	if s.Width == 0 && right != "" {
		s.write(w, left+strings.Repeat(" ", endsGap)+s.paint(dim, right), 0)
		return
	}
	room := min(s.Width, prose)
	gap := room - columns(left) - columns(right)
	if gap < 2 && columns(left)+endsGap+columns(right) <= s.Width {
		gap = endsGap // a wide terminal has room behind the usual end
	}
	switch {
	case right == "", s.narrow() && gap < 2:
		s.write(w, left, 6)
	case gap < 2:
		s.write(w, left, 6)
		s.write(w, strings.Repeat(" ", max(0, room-columns(right)))+s.paint(dim, right), 6)
	default:
		s.write(w, left+strings.Repeat(" ", gap)+s.paint(dim, right), 6)
	}
}

// cell is one character as a terminal shows it, in the colours that are set before it.
type cell struct {
	text, colors string
	width        int
	// kept says of a space that no line ends at it: it is inside of a command.
	kept bool
}

// commandText finds what people copy: a command in backquotes, or one of athanor or export up to where its sentence goes on.
var commandText = regexp.MustCompile("`[^`]+`|\\b(?:athanor [a-z]|export [A-Z_])[^ ,;\x1b]*(?: [^ ,;\x1b]+)*")

// advice writes a line whose commands stay in one piece: an indented label and a text. A command that does not fit behind the label
// has a line of its own. One that is longer than the terminal is left to the terminal, which copies it as one line.
func (s Style) advice(w io.Writer, indent int, label, text string) {
	line, hang := strings.Repeat(" ", indent)+label+text, indent+columns(label)
	if label == "" {
		hang += 2
	}
	room := s.Width - hang
	if s.Width == 0 || columns(line) <= s.Width {
		s.write(w, line, hang)
		return
	}
	if at := commandText.FindStringIndex(text); at != nil && at[0] == 0 && at[1] == len(text) {
		s.write(w, strings.TrimRight(strings.Repeat(" ", indent)+label, " "), 0)
		fmt.Fprintln(w, s.twin(strings.Repeat(" ", max(0, min(indent+2, s.Width-columns(text))))+text))
		return
	}
	for _, at := range commandText.FindAllStringIndex(text, -1) {
		if size := columns(text[at[0]:at[1]]); size > room && size+indent <= s.Width {
			hang, room = indent, s.Width-indent // the longest command decides where the lines after the first begin
		}
	}
	all := cells(s.twin(line))
	head := len(all) - len(cells(s.twin(text)))
	for _, at := range commandText.FindAllStringIndex(text, -1) {
		if columns(text[at[0]:at[1]]) > room {
			continue
		}
		from := head + len(cells(s.twin(text[:at[0]])))
		for i := range all[from : from+len(cells(s.twin(text[at[0]:at[1]])))] {
			all[from+i].kept = true
		}
	}
	for _, part := range wrappedCells(all, s.Width, hang) {
		fmt.Fprintln(w, part)
	}
}

// cells splits a line.
func cells(line string) []cell {
	var all []cell
	colors := ""
	for g := (displaywidth.Options{ControlSequences: true}).StringGraphemes(line); g.Next(); {
		text := g.Value()
		switch {
		case text == "\x1b[0m":
			colors = ""
		case strings.HasPrefix(text, "\x1b"):
			colors += text
		default:
			all = append(all, cell{text: text, colors: colors, width: g.Width()})
		}
	}
	return all
}

// wrapped splits a line to a width at its spaces, a longer word behind one of / . : - and else anywhere. A width of 0 is that of
// no terminal: nothing is split.
func wrapped(line string, width, hang int) []string {
	if width <= 0 || columns(line) <= width {
		return []string{line}
	}
	return wrappedCells(cells(line), width, hang)
}

// wrappedCells splits a line that is longer than the width.
func wrappedCells(all []cell, width, hang int) []string {
	if hang > width/2 {
		hang = min(6, width/4)
	}
	var lines []string
	for indent := 0; len(all) > 0; indent = hang {
		end := fitting(all, width-indent)
		at := end
		if end < len(all) {
			at = breakAt(all, end, width-hang, len(lines) == 0)
		}
		lines = append(lines, strings.Repeat(" ", indent)+joined(all[:at]))
		for all = all[at:]; len(all) > 0 && all[0].text == " "; {
			all = all[1:]
		}
	}
	return lines
}

// fitting returns how many cells fit into a width, at least one.
func fitting(all []cell, width int) int {
	used := 0
	for i, c := range all {
		if used += c.width; used > width && i > 0 {
			return i
		}
	}
	return len(all)
}

// breakAt returns where a line ends of which the first end cells fit: at its last space, or behind punctuation inside of a word that
// is longer than the next line. Only a word that fills the line is broken elsewhere. Spaces that indent the first line are no place for it.
func breakAt(all []cell, end, next int, first bool) int {
	start := 0
	for first && start < end && all[start].text == " " {
		start++
	}
	space := end
	for space > start && !all[space].ends() {
		space--
	}
	word := 0
	for i := space + 1; i < len(all) && !all[i].ends(); i++ {
		word += all[i].width
	}
	if space > start && word <= next {
		return space
	}
	for i := end - 1; i > max(start, space); i-- {
		if strings.Contains("/.:-", all[i].text) {
			return i + 1
		}
	}
	if space > start && space < end {
		return space
	}
	return end
}

// ends reports whether a line may end at a cell.
func (c cell) ends() bool { return c.text == " " && !c.kept }

// joined is a line of cells, in their colours, without spaces at its end.
func joined(all []cell) string {
	for len(all) > 0 && all[len(all)-1].text == " " {
		all = all[:len(all)-1]
	}
	var b strings.Builder
	colors := ""
	for _, c := range all {
		if c.colors != colors {
			if colors != "" {
				b.WriteString("\x1b[0m")
			}
			b.WriteString(c.colors)
			colors = c.colors
		}
		b.WriteString(c.text)
	}
	if colors != "" {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// middle cuts a text in its middle to a width.
func middle(text string, width int) string {
	if columns(text) <= width || width < 3 {
		return text
	}
	all := cells(text)
	head := fitting(all, width/2)
	tail, used := len(all), 0
	for tail > head && used+all[tail-1].width <= width-1-width/2 {
		tail--
		used += all[tail].width
	}
	return joined(all[:head]) + "…" + joined(all[tail:])
}

// ShellWord quotes a word for a shell where it needs to be.
func ShellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=@:/._-+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Plural is a count with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
