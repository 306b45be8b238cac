// Package render makes what people read: plans, progress, summaries, errors.
//
// It knows the engine's documents and events and how wide a terminal is. It decides nothing, and masks
// nothing itself: what it is given is masked already. What comes from outside loses its control characters,
// so that no service can draw on the terminal.
package render

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	// ASCII uses glyphs that every terminal has.
	ASCII bool
	// Detailed shows values whole, each resource by itself, and unchanged resources by name.
	Detailed bool
	// Width is that of the terminal; 0 for a stream that is none: nothing is wrapped and nothing is cut.
	Width int
}

const (
	// slim is the width from which a line has the word of what is done; wide that from which the differences of a resource begin
	// on its own line.
	slim, wide = 64, 160
	// prose is how far to the right the end of a line of text goes.
	prose = 100
)

func (s Style) narrow() bool { return s.Width > 0 && s.Width < slim }
func (s Style) broad() bool  { return s.Width >= wide }

// color is a role as one of the eight base colours, so that the theme of the terminal decides how it looks.
type color string

const (
	green   color = "32" // what comes
	yellow  color = "33" // what changes
	red     color = "31" // what goes, and what fails
	magenta color = "35" // what is swapped
	cyan    color = "36" // what is taken over, and what can be done
	blue    color = "34" // what runs
	dim     color = "2"
	bold    color = "1"
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
	// word, doing and done are what it is called before, while it runs and afterwards.
	word, doing, done string
}

var verbs = map[engine.Action]verb{
	engine.Create:    {"+", green, "create", "creating", "created"},
	engine.Adopt:     {"<", cyan, "adopt", "adopting", "adopted"},
	engine.Recover:   {"=", cyan, "recover", "recovering", "recovered"},
	engine.Update:    {"~", yellow, "update", "updating", "updated"},
	engine.Replace:   {"±", magenta, "replace", "replacing", "replaced"},
	engine.Delete:    {"-", red, "delete", "deleting", "deleted"},
	engine.Move:      {">", cyan, "move", "moving", "moved"},
	engine.Forget:    {"×", red, "remove from state", "removing from state", "removed from state"},
	engine.Wait:      {"…", yellow, "wait", "waiting", "waiting"},
	engine.Unchanged: {" ", dim, "unchanged", "unchanged", "unchanged"},
	engine.Blocked:   {"!", red, "blocked", "blocked", "blocked"},
}

// Value writes a tree value for people: strings plainly where nothing is lost, tokens as references.
func (s Style) Value(v any) string { return text(v) }

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

// opaque finds what nobody reads: digests and base64.
var opaque = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z0-9]+:)?(?:[0-9a-f]{32,}|[A-Za-z0-9+/_-]{40,}={0,2})$`)
})

// shortened cuts what may be cut to a number of columns, on a terminal: a digest in its middle, and code or a document, which has
// several lines or would fill several.
func (s Style) shortened(text string, width int) string {
	switch {
	case s.Detailed || s.Width == 0 || columns(text) <= width:
		return text
	case opaque().MatchString(text), isDocument(text, width):
		return middle(text, max(width, minValue))
	}
	return text
}

// minValue is the least that is shown of a value.
const minValue = 16

// isDocument reports whether a text is code, a policy, or longer than anything that is read on a terminal.
func isDocument(text string, width int) bool {
	return strings.Contains(text, `\n`) || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || columns(text) > 4*width
}

// change writes what a value was and what it will be. Of two documents the place where they part is shown.
func (s Style) change(have, want any, width int) string {
	a, b := text(have), text(want)
	arrow := " → "
	if s.Detailed || s.Width == 0 || columns(a)+columns(b)+3 <= width || !isDocument(a, width) && !isDocument(b, width) {
		a, b = s.shortened(a, width/2-2), s.shortened(b, width/2-2)
	} else {
		a, b = window([]rune(a), []rune(b), max(width/2-4, minValue))
	}
	return s.paint(red, a) + arrow + s.paint(green, b)
}

// window returns the parts of two texts where they begin to differ.
func window(a, b []rune, width int) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := max(0, same-width/3)
	part := func(r []rune) string {
		if from >= len(r) {
			return "…"
		}
		text := string(r[from:min(len(r), from+width)])
		if from > 0 {
			text = "…" + text
		}
		if from+width < len(r) {
			text += "…"
		}
		return text
	}
	return part(a), part(b)
}

// Elapsed writes a duration as people say it.
func Elapsed(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	d = d.Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// seconds is a number of seconds as a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Error writes an error and what can be done about it.
func (s Style) Error(w io.Writer, text string, hints []string) {
	s.errorText(w, text)
	s.Hints(w, hints)
}

func (s Style) errorText(w io.Writer, text string) {
	for i, line := range strings.Split(clean(text), "\n") {
		if i == 0 {
			line = s.paint(red, "error: ") + line
		} else {
			line = "       " + line
		}
		s.write(w, line, 7)
	}
}

// Warning writes what went wrong and stops nothing, in the plain words of an error.
func (s Style) Warning(w io.Writer, text string) {
	lines := wrapped(s.twin(s.paint(yellow, "warning: ")+oneLine(Plainly(clean(text)))), s.Width, len("warning: "))
	fmt.Fprintln(w, strings.Join(lines, "\n")) // in one piece: a server has many at once
}

// Hints writes what can be done.
func (s Style) Hints(w io.Writer, hints []string) {
	for _, h := range hints {
		s.advice(w, 0, s.paint(cyan, "hint:")+"  ", clean(h))
	}
}

// Waiting says what somebody must do.
func (s Style) Waiting(w io.Writer, address, what string) {
	s.write(w, s.paint(yellow, clean(address)+" waits for you:")+" "+clean(what), 4)
}
