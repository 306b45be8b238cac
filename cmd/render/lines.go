package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Lines shows what objects print, each line behind the address of its object. It may be used from many goroutines: a
// line is written whole, in one piece. What it is given is masked already.
type Lines struct {
	style Style
	out   io.Writer
	times bool

	mu     sync.Mutex
	under  *Progress // nil: nothing is drawn below
	column int
	colors map[string]color
}

// NewLines shows lines on a stream; times says that each begins with when it was written.
func NewLines(out io.Writer, style Style, times bool) *Lines {
	return &Lines{style: style, out: out, times: times, colors: map[string]color{}}
}

// Expect makes room for addresses, so that all lines are aligned from the first on.
func (l *Lines) Expect(addresses ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range addresses {
		l.column = max(l.column, min(runes(a), widest))
	}
}

// Above lets lines appear above the live region of a run, until it is called with nil.
func (l *Lines) Above(p *Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under = p
}

// Line shows one line.
func (l *Lines) Line(address string, line reconcile.LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	address = clean(address)
	text := l.text(address, line)
	if l.under != nil {
		l.under.Print(text)
		return
	}
	io.WriteString(l.out, text+"\n") //nolint:errcheck // a reader that goes away ends nothing
}

// text is one line as it is shown. The lock is held.
func (l *Lines) text(address string, line reconcile.LogLine) string {
	l.column = max(l.column, min(runes(address), widest))
	var b strings.Builder
	if l.times && !line.Time.IsZero() {
		b.WriteString(l.style.paint(dim, line.Time.Local().Format(time.DateTime+".000")) + " ")
	}
	bar, text := "|", printable(line.Text)
	switch line.Source {
	case reconcile.SourceStderr:
		bar = l.style.paint(red, "|")
	case reconcile.SourceAthanor:
		text = l.style.paint(dim, text)
	}
	fmt.Fprintf(&b, "%s %s %s", l.style.paint(l.color(address), fmt.Sprintf("%-*s", l.column, address)), bar, text)
	return strings.TrimRight(b.String(), " ")
}

// color is that of an address: the next one of a few, by who came first.
func (l *Lines) color(address string) color {
	palette := []color{cyan, green, yellow, "35", "34", "36;1", "32;1", "33;1", "35;1", "34;1"}
	c, ok := l.colors[address]
	if !ok {
		c = palette[len(l.colors)%len(palette)]
		l.colors[address] = c
	}
	return c
}

// drawing finds what programs write to colour and to move about on a terminal.
var drawing = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// printable is a line as a terminal would show it in the end, without what draws: of what was written over, the last.
func printable(text string) string {
	text = strings.TrimRight(drawing.ReplaceAllString(text, ""), "\r\n")
	if i := strings.LastIndexByte(text, '\r'); i >= 0 {
		text = text[i+1:]
	}
	return strings.ReplaceAll(clean(text), "\n", " ")
}
