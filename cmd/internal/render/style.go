// Package render makes what people read: plans, progress, summaries, errors.
//
// It knows the engine's documents and events and how wide a terminal is. It decides nothing, and masks
// nothing itself: what it is given is masked already.
package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

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
	if !s.Color || text == "" {
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
	engine.Wait:      {"…", dim, "waiting"},
	engine.Unchanged: {" ", dim, "unchanged"},
	engine.Blocked:   {"!", red, "blocked"},
}

// valueWidth is how long a value may be before it is cut on a plan's line.
const valueWidth = 100

// value writes a tree value for people: strings plainly where nothing is lost, tokens as references.
func (s Style) value(v any) string {
	var text string
	switch x := v.(type) {
	case nil:
		return s.paint(dim, "(unset)")
	case string:
		if text = token.Show(x); text == "" || strings.ContainsAny(text, "\n\t\"") || text != strings.TrimSpace(text) {
			text = strconv.Quote(text)
		}
	default:
		text = token.Show(string(tree.Canonical(x)))
	}
	if runes := []rune(text); !s.Detailed && len(runes) > valueWidth {
		text = string(runes[:valueWidth-1]) + "…"
	}
	return text
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

// Error writes an error and what can be done about it, one line each.
func (s Style) Error(w io.Writer, text string, hints []string) {
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			line = s.paint(red, "error: ") + line
		} else {
			line = "       " + line
		}
		fmt.Fprintln(w, line)
	}
	for _, h := range hints {
		fmt.Fprintln(w, s.paint(cyan, "hint:  ")+h)
	}
}
