// Package render makes what people read: plans, progress, summaries, errors.
//
// It knows the engine's documents and events and how wide a terminal is. It decides nothing, and masks
// nothing itself: what it is given is masked already. What comes from outside loses its control characters,
// so that no service can draw on the terminal.
package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Style says how to draw.
type Style struct {
	// Color uses ANSI colours.
	Color bool
	// Detailed shows long values whole and unchanged resources by name.
	Detailed bool
}

type color string

const (
	green  color = "32"
	yellow color = "33"
	red    color = "31"
	cyan   color = "36"
	dim    color = "2"
	bold   color = "1"
)

func (s Style) paint(c color, text string) string {
	if !s.Color || text == "" || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// verb is how an action looks.
type verb struct {
	sign  string
	color color
	// done is the past tense.
	done string
}

var verbs = map[engine.Action]verb{
	engine.Create:    {"+", green, "created"},
	engine.Adopt:     {"<", cyan, "adopted"},
	engine.Recover:   {"=", cyan, "recovered"},
	engine.Update:    {"~", yellow, "updated"},
	engine.Replace:   {"±", yellow, "replaced"},
	engine.Delete:    {"-", red, "deleted"},
	engine.Move:      {">", cyan, "moved"},
	engine.Forget:    {"×", red, "forgotten"},
	engine.Wait:      {"…", yellow, "waiting"},
	engine.Unchanged: {" ", dim, "unchanged"},
	engine.Blocked:   {"!", red, "blocked"},
}

// valueWidth is how long a value may be before it is cut on a line.
const valueWidth = 72

// Value writes a tree value for people: strings plainly where nothing is lost, tokens as references.
func (s Style) Value(v any) string {
	return s.cut(text(v))
}

// text is the whole of a value on one line.
func text(v any) string {
	switch x := v.(type) {
	case nil:
		return "(unset)"
	case string:
		shown := token.Show(x)
		unclear := func(r rune) bool { return r == '"' || !unicode.IsPrint(r) }
		if shown == "" || shown != strings.TrimSpace(shown) || !utf8.ValidString(shown) || strings.ContainsFunc(shown, unclear) {
			shown = strconv.Quote(shown)
		}
		return clean(shown)
	default:
		return clean(token.Show(string(tree.Canonical(x))))
	}
}

func (s Style) cut(text string) string {
	if runes := []rune(text); !s.Detailed && len(runes) > valueWidth {
		return string(runes[:valueWidth-1]) + "…"
	}
	return text
}

// change writes what a value was and what it will be. Of two long texts the place where they part is shown.
func (s Style) change(have, want any) string {
	a, b := []rune(text(have)), []rune(text(want))
	if s.Detailed || len(a)+len(b) <= valueWidth {
		return string(a) + " → " + string(b)
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	const before, shown = 16, valueWidth / 2
	from := max(0, same-before)
	window := func(r []rune) string {
		if from >= len(r) {
			return "…"
		}
		part := string(r[from:min(len(r), from+shown)])
		if from > 0 {
			part = "…" + part
		}
		if from+shown < len(r) {
			part += "…"
		}
		return part
	}
	return window(a) + " → " + window(b)
}

// Elapsed writes a duration as people say it.
func Elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	default:
		return d.Round(time.Second).String()
	}
}

// Error writes an error and what can be done about it.
func (s Style) Error(w io.Writer, text string, hints []string) {
	for i, line := range strings.Split(clean(text), "\n") {
		if i == 0 {
			line = s.paint(red, "error: ") + line
		} else {
			line = "       " + line
		}
		fmt.Fprintln(w, line)
	}
	s.Hints(w, hints)
}

// Hints writes what can be done.
func (s Style) Hints(w io.Writer, hints []string) {
	for _, h := range hints {
		fmt.Fprintln(w, s.paint(cyan, "hint:  ")+clean(h))
	}
}

// Waiting says what somebody must do.
func (s Style) Waiting(w io.Writer, address, what string) {
	fmt.Fprintf(w, "%s %s\n", s.paint(yellow, clean(address)+" waits for you:"), clean(what))
}
