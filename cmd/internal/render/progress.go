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
	// width of the terminal; 0 means plain lines.
	width int

	mu      sync.Mutex
	active  map[string]*activity
	drawn   int // lines of the live region on the screen
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

// NewProgress begins to show. Width is that of the terminal, 0 elsewhere.
func NewProgress(out io.Writer, style Style, width int) *Progress {
	p := &Progress{style: style, out: out, width: width, active: map[string]*activity{}, stop: make(chan struct{})}
	if width > 0 {
		p.stopped.Go(p.tick)
	}
	return p
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

// Close ends the live region.
func (p *Progress) Close() {
	close(p.stop)
	p.stopped.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.active)
	p.redraw(nil)
}

// Event shows one event.
func (p *Progress) Event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case engine.EventStart:
		p.active[e.Address] = &activity{event: e}
		return // the next tick draws it
	case engine.EventProgress:
		if a := p.active[e.Address]; a != nil && p.width > 0 {
			a.note = e.Note
			return
		}
	case engine.EventDone:
		delete(p.active, e.Address)
	case engine.EventRun, engine.EventSummary:
		return
	default:
	}
	p.redraw(p.lines(e))
}

// lines are the lasting lines of an event.
func (p *Progress) lines(e engine.Event) []string {
	v := verbs[e.Action]
	var text string
	switch {
	case e.Type == engine.EventHook && e.Status == engine.StatusDone:
		text = fmt.Sprintf("    %s: hook: %s", e.Address, e.Note)
	case e.Type == engine.EventHook:
		text = p.style.paint(red, fmt.Sprintf("  ! %s: hook %s", e.Address, e.Error))
	case e.Type == engine.EventWarning:
		text = p.style.paint(yellow, "  ! "+strings.TrimPrefix(e.Address+": ", ": ")+e.Note)
	case e.Type == engine.EventProgress:
		text = fmt.Sprintf("    %s: %s", e.Address, p.style.paint(dim, e.Note))
	case e.Status == engine.StatusFailed:
		lines := []string{p.style.paint(red, fmt.Sprintf("  ! %s  %s: %s", e.Address, e.Action, e.Error))}
		if e.Hint != "" {
			lines = append(lines, "      "+p.style.paint(cyan, "hint: "+e.Hint))
		}
		return lines
	case e.Status == engine.StatusBlocked:
		text = p.style.paint(dim, fmt.Sprintf("  ! %s  blocked: %s", e.Address, e.Note))
	case e.Status == engine.StatusWaiting:
		text = fmt.Sprintf("  %s %s  %s", p.style.paint(yellow, "…"), e.Address, p.style.paint(yellow, "waiting: "+e.Note))
	default:
		took := Elapsed(time.Duration(e.Elapsed * float64(time.Second)))
		text = fmt.Sprintf("  %s %s  %s", p.style.paint(v.color, v.sign), e.Address, p.style.paint(v.color, v.done))
		if len(e.Paths) > 0 && e.Action != engine.Create {
			text += " " + p.style.paint(dim, strings.Join(e.Paths, ", "))
		}
		text += p.style.paint(dim, "  "+took)
	}
	return []string{text}
}

// redraw wipes the live region, writes lasting lines, and draws the region again below them. The lock is held.
func (p *Progress) redraw(lasting []string) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
	for _, l := range lasting {
		b.WriteString(l + "\n")
	}
	if p.width > 0 {
		for _, l := range p.region() {
			b.WriteString(l + "\n")
			p.drawn++
		}
	}
	if b.Len() > 0 {
		io.WriteString(p.out, b.String()) //nolint:errcheck // a lost terminal must not fail a deploy
	}
}

// region is what is at work now, the longest at work first, scopes as a tree.
func (p *Progress) region() []string {
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
	var lines []string
	scope := ""
	for _, a := range running {
		addr, indent := a.event.Address, "  "
		if i := strings.LastIndexByte(addr, '/'); i >= 0 {
			if scope != addr[:i] {
				scope = addr[:i]
				lines = append(lines, p.style.paint(dim, "  "+scope+"/"))
			}
			addr, indent = addr[i+1:], "    "
		}
		text := fmt.Sprintf("%s%s %s  %s  %s", indent, verbs[a.event.Action].sign, addr, a.event.Action, Elapsed(time.Since(a.event.Time)))
		if a.note != "" {
			text += "  " + a.note
		}
		if runes := []rune(text); len(runes) >= p.width {
			text = string(runes[:max(p.width-2, 1)]) + "…"
		}
		lines = append(lines, p.style.paint(verbs[a.event.Action].color, text))
	}
	if more > 0 {
		lines = append(lines, p.style.paint(dim, fmt.Sprintf("  … and %d more", more)))
	}
	return lines
}
