package render

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// goPlace finds the place before a message of the Go compiler.
var goPlace = regexp.MustCompile(`^\s*([^\s:]+\.go:\d+:\d+): `)

// goMessages finds an error that holds messages of the Go compiler.
var goMessages = regexp.MustCompile(`(?m)^\s*[^\s:]+\.go:\d+:\d+: `)

// splitPlace splits file:line or file:line:column. The column is 0 when there is none, the line when it is no such place.
func splitPlace(place string) (file string, line, column int) {
	parts := strings.Split(place, ":")
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	n := len(parts)
	if n >= 3 && number(parts[n-2]) > 0 && number(parts[n-1]) > 0 {
		return strings.Join(parts[:n-2], ":"), number(parts[n-2]), number(parts[n-1])
	}
	if n >= 2 && number(parts[n-1]) > 0 {
		return strings.Join(parts[:n-1], ":"), number(parts[n-1]), 0
	}
	return place, 0, 0
}

// snippet writes the line of a program at a place, and a caret below what is meant. Title stands above it, "" for none.
func (s Style) snippet(w io.Writer, title, place, source string) {
	file, line, column := splitPlace(place)
	number := fmt.Sprint(line)
	gutter := strings.Repeat(" ", max(2, len(number)+1))
	if title != "" {
		s.write(w, gutter+s.paint(dim, "┌ "+title), len(gutter)+2)
	}
	text, from, to := s.marked(source, column, filepath.Ext(file) == ".go", len(gutter)+2)
	fmt.Fprintln(w, s.twin(strings.Repeat(" ", len(gutter)-len(number))+s.paint(dim, number+"│")+" "+strings.TrimRight(text, " ")))
	if to > from {
		fmt.Fprintln(w, s.twin(gutter+s.paint(dim, "│")+strings.Repeat(" ", from+1)+s.paint(red, strings.Repeat("^", to-from))))
	}
}

// marked returns a line of a program as it is shown, and from which to which column of it what is meant goes. Tabs become spaces,
// and a line that is longer than the terminal is wide is cut around what is meant.
func (s Style) marked(source string, column int, inGo bool, gutter int) (text string, from, to int) {
	source = strings.TrimRight(clean(source), "\n")
	at := runeAt(source, column, inGo)
	expand := func(text string) string { return strings.ReplaceAll(text, "\t", "    ") }
	text = expand(source)
	if at >= 0 {
		from = columns(expand(source[:at]))
		to = from + columns(wordAt(source[at:], inGo))
	}
	room := s.Width - gutter
	if s.Width == 0 || columns(text) <= room || room < 8 {
		return text, from, to
	}
	all, cut := cells(text), 0
	if to > room-1 {
		cut = min(max(0, from-room/3), len(all)-1)
	}
	shown := all[cut:]
	head := ""
	if cut > 0 {
		head, shown = "…", shown[1:]
	}
	end := fitting(shown, room-1-columns(head))
	text = head + joined(shown[:end])
	if end < len(shown) {
		text += "…"
	}
	return text, from - cut, min(to-cut, room)
}

// runeAt is the byte at which a column of a line begins, -1 for none. Go counts bytes, YAML characters.
func runeAt(source string, column int, bytes bool) int {
	switch {
	case column < 1:
		return -1
	case bytes && column <= len(source) && utf8.RuneStart(source[column-1]):
		return column - 1
	case bytes:
		return -1
	}
	n := 1
	for i := range source {
		if n == column {
			return i
		}
		n++
	}
	return -1
}

// wordAt is what stands at the beginning of a text: a name in Go, in YAML a key, a quoted text or a word.
func wordAt(text string, inGo bool) string {
	end := len(text)
	for i, r := range text {
		isName := r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= utf8.RuneSelf
		if inGo && !isName {
			end = max(i, 1)
			break
		}
		if !inGo && i == 0 && (r == '"' || r == '\'') {
			if n := strings.IndexRune(text[1:], r); n >= 0 {
				return text[:n+2]
			}
		}
		if !inGo && (r == ' ' || r == '\t' || strings.ContainsRune(",]}", r) && i > 0 || r == ':' && (i+1 == len(text) || text[i+1] == ' ')) {
			end = max(i, 1)
			break
		}
	}
	return text[:end]
}
