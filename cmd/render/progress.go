package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// Progress shows a run as it goes: plain lines, or on a terminal also a live region with what is at work now.
type Progress struct {
	style Style
	out   io.Writer
	// width gives the width of the terminal; nil means plain lines.
	width func() int
	began time.Time

	mu      sync.Mutex
	active  map[string]*activity
	local   map[string]bool // addresses of things on this machine
	column  int             // width of addresses
	total   int             // of resources to work on
	done    int
	drawn   int // lines of the live region on the screen
	bound   int // of lasting lines about what was done; 0: none
	hidden  int
	closed  bool
	stop    chan struct{}
	stopped sync.WaitGroup
}

// activity is one resource at work.
type activity struct {
	event engine.Event
	note  string
}

// liveRows bounds the live region.
const liveRows = 12

// NewProgress begins to show how a plan is applied. Width gives that of the terminal; nil for a stream that is none.
func NewProgress(out io.Writer, style Style, width func() int, plan *engine.Plan) *Progress {
	p := &Progress{style: style, out: out, width: width, began: time.Now(), active: map[string]*activity{}, stop: make(chan struct{})}
	p.Replan(plan)
	if width != nil {
		p.stopped.Go(p.tick)
	}
	return p
}

// Replan says that another plan is applied than the one that was announced.
func (p *Progress) Replan(plan *engine.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.column, p.total, p.local = 0, 0, map[string]bool{}
	for _, a := range plan.Actions {
		p.local[a.Address] = a.Local
		switch a.Action {
		case engine.Unchanged, engine.Wait, engine.Blocked:
		default:
			p.total++
			p.column = max(p.column, min(runes(a.Address), widest))
		}
	}
}

// Bound leaves out the lines about what was done beyond the first most, and counts them. What failed is always shown.
func (p *Progress) Bound(most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = most
}

// tick redraws so that elapsed times go on.
func (p *Progress) tick() {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.redraw(nil)
			p.mu.Unlock()
		}
	}
}

// Close wipes the live region. What comes later is shown as plain lines.
func (p *Progress) Close() {
	close(p.stop)
	p.stopped.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var rest []string
	if p.hidden > 0 {
		rest = []string{p.style.paint(dim, fmt.Sprintf("    and %d more", p.hidden))}
	}
	p.redraw(rest)
}

// Say shows a line that lasts.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redraw([]string{p.style.paint(yellow, clean(text))})
}

// Print shows a line that lasts, as it is.
func (p *Progress) Print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redraw([]string{line})
}

// Apart wipes the live region while something else is shown.
func (p *Progress) Apart(show func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\r%s", p.drawn, wipeScreen)
		p.drawn = 0
	}
	show()
}

// Event shows one event.
func (p *Progress) Event(e engine.Event) {
	e = cleaned(e)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case engine.EventStart:
		p.active[e.Address] = &activity{event: e}
		return // the next tick draws it
	case engine.EventProgress:
		a := p.active[e.Address]
		if a != nil && (p.width != nil || a.note == e.Note) {
			a.note = e.Note
			return
		}
		if a != nil {
			a.note = e.Note
		}
	case engine.EventDone:
		delete(p.active, e.Address)
		if p.done++; p.bound > 0 && p.done > p.bound && e.Status == engine.StatusDone {
			p.hidden++
			return
		}
	case engine.EventRun, engine.EventSummary:
		return
	default:
	}
	tag := ""
	if p.local[e.Address] {
		tag = localTag
	}
	p.redraw(p.style.lines(e, p.column, tag))
}

// lines are the lasting lines of an event; column is the width of addresses, and tag follows what was done.
func (s Style) lines(e engine.Event, column int, tag string) []string {
	v, address := verbs[e.Action], fmt.Sprintf("%-*s", column, e.Address)
	note := clean(e.Note)
	line := func(sign string, c color, text string) string {
		if e.Address == "" {
			return fmt.Sprintf("  %s %s", s.paint(c, sign), s.paint(c, text))
		}
		return fmt.Sprintf("  %s %s  %s", s.paint(c, sign), address, s.paint(c, text))
	}
	var lines []string
	switch {
	case e.Type == engine.EventHook && e.Status != engine.StatusFailed:
		lines = []string{line(" ", dim, "hook: "+note)}
	case e.Type == engine.EventHook:
		lines = []string{line("!", red, "hook: "+clean(e.Error))}
	case e.Type == engine.EventWarning:
		lines = []string{line("!", yellow, note)}
	case e.Type == engine.EventProgress:
		lines = []string{line(" ", dim, note)}
	case e.Status == engine.StatusFailed:
		lines = []string{line("!", red, "failed: "+verbed(e))}
	case e.Status == engine.StatusBlocked:
		lines = []string{line("!", red, "blocked: "+note)}
	case e.Status == engine.StatusWaiting:
		lines = []string{line("…", yellow, "waits for you: "+note)}
	default:
		text := line(v.sign, v.color, v.done+tag)
		if len(e.Paths) > 0 && e.Action == engine.Update {
			text += " " + s.paint(dim, strings.Join(e.Paths, ", "))
		}
		lines = []string{text + s.paint(dim, "  "+Elapsed(time.Duration(e.Elapsed*float64(time.Second))))}
	}
	if e.Hint != "" {
		lines = append(lines, "      "+s.paint(cyan, "hint: ")+clean(e.Hint))
	}
	return lines
}

// verbed is the error of an event with its verb before it, once.
func verbed(e engine.Event) string {
	text, verb := clean(e.Error), string(e.Action)+": "
	if strings.HasPrefix(text, verb) {
		return text
	}
	return verb + text
}

// The terminal's own words: up n lines, wipe to the end of the line or screen, wrap long lines or do not.
const (
	wipeLine   = "\x1b[K"
	wipeScreen = "\x1b[J"
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
)

// redraw writes lasting lines where the live region was, and the region again below them, as one write, so that
// nothing flickers. The lock is held.
func (p *Progress) redraw(lasting []string) {
	var b strings.Builder
	if p.width == nil {
		for _, l := range lasting {
			b.WriteString(l + "\n")
		}
	} else {
		p.frame(&b, lasting)
	}
	if b.Len() > 0 {
		io.WriteString(p.out, b.String()) //nolint:errcheck // a lost terminal must not fail a deploy
	}
}

func (p *Progress) frame(b *strings.Builder, lasting []string) {
	var region []string
	if !p.closed {
		region = p.region()
	}
	if p.drawn == 0 && len(region) == 0 && len(lasting) == 0 {
		return
	}
	if p.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r", p.drawn)
	}
	for _, l := range lasting {
		// A lasting line may wrap over lines of the region that was.
		b.WriteString(wipeScreen + l + "\n")
	}
	if len(region) > 0 {
		b.WriteString(noWrap)
		for _, l := range region {
			b.WriteString(l + wipeLine + "\n")
		}
		b.WriteString(wrap)
	}
	b.WriteString(wipeScreen)
	p.drawn = len(region)
}

// region is what is at work now, the longest at work first when there is no room for all, scopes as a tree.
func (p *Progress) region() []string {
	if len(p.active) == 0 {
		return nil
	}
	running := make([]*activity, 0, len(p.active))
	for _, a := range p.active {
		running = append(running, a)
	}
	slices.SortFunc(running, func(a, b *activity) int {
		return cmp.Or(a.event.Time.Compare(b.event.Time), cmp.Compare(a.event.Address, b.event.Address))
	})
	more := max(0, len(running)-liveRows)
	running = running[:len(running)-more]
	slices.SortFunc(running, func(a, b *activity) int { return cmp.Compare(a.event.Address, b.event.Address) })
	width := p.width()
	lines := p.tree(running, width)
	status := fmt.Sprintf("  %d of %d done, %d at work, %s", min(p.done, p.total), p.total, len(p.active), Elapsed(time.Since(p.began)))
	return append(lines, p.style.paint(dim, fit(status, width)))
}

// tree draws resources at work below their scopes.
func (p *Progress) tree(running []*activity, width int) []string {
	var lines []string
	scope := ""
	for _, a := range running {
		address, indent := a.event.Address, "  "
		within := ""
		if i := strings.LastIndexByte(address, '/'); i >= 0 {
			within, address, indent = address[:i], address[i+1:], "    "
		}
		if within != scope && within != "" {
			lines = append(lines, p.style.paint(dim, fit("  "+within+"/", width)))
		}
		scope = within
		v := verbs[a.event.Action]
		text := fmt.Sprintf("%s%s %s  %s  %s", indent, v.sign, address, a.event.Action, Elapsed(time.Since(a.event.Time)))
		if a.note != "" {
			text += "  " + strings.ReplaceAll(clean(a.note), "\n", " ")
		}
		lines = append(lines, p.style.paint(v.color, fit(text, width)))
	}
	return lines
}

// fit cuts a line to the width of the terminal.
func fit(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:max(width-1, 0)]) + "…"
	}
	return text
}
