package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// Progress shows a run as it goes: on a terminal what was done and below it a live region with what runs and what waits, elsewhere
// plain lines with the time of day.
type Progress struct {
	screen Screen
	began  time.Time
	// until is called to end the redraws.
	until func()

	mu      sync.Mutex
	region  region
	name    string // of the stage
	plan    string // that the service holds and was approved, "" for none
	needs   map[string][]string
	local   map[string]bool // addresses of objects on this machine
	pending map[string]bool // addresses of what has not begun
	active  map[string]*activity
	column  int // width of addresses
	total   int // of resources to work on
	done    int
	bound   int // of lasting lines about what was done; 0: none
	hidden  int
	last    time.Time // when a line was written
	closed  bool
	stop    bool // somebody asked the run to stop
	failed  map[string][]string
	ended   Ended
}

// Ended is what went wrong with single resources in a run.
type Ended struct {
	// Failed, Blocked and Interrupted are the last events of resources, in their order.
	Failed, Blocked, Interrupted []engine.Event
	// Places are the places of resources in the program, file:line.
	Places map[string]string
}

// activity is one resource that is worked on.
type activity struct {
	event engine.Event
	note  string
}

// NewProgress begins to show how a plan is applied.
func NewProgress(screen Screen, plan *engine.Plan) *Progress {
	p := &Progress{screen: screen, active: map[string]*activity{}, failed: map[string][]string{}}
	p.began = screen.now()
	p.last = p.began
	p.Replan(plan)
	every := lookEvery
	if screen.Size != nil {
		every = redrawEvery
	}
	p.until = screen.clock().Every(every, p.tick)
	return p
}

// Approved names the plan of the service that is applied; the first line of the run names it too.
func (p *Progress) Approved(plan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = clean(plan)
}

// Replan says that another plan is applied than the one that was announced.
func (p *Progress) Replan(plan *engine.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = clean(plan.Stack + "/" + plan.Stage)
	p.column, p.total = 0, plan.Changes()
	p.local, p.pending, p.needs, p.ended.Places = map[string]bool{}, map[string]bool{}, map[string][]string{}, map[string]string{}
	for _, a := range plan.Actions {
		address := clean(a.Address)
		if a.Local {
			p.local[address] = true
		}
		if a.Source != "" {
			p.ended.Places[address] = clean(a.Source)
		}
		switch a.Action {
		case engine.Unchanged, engine.Wait, engine.Blocked:
		default:
			p.pending[address] = true
			p.column = max(p.column, min(columns(address), widestAddress))
			for _, need := range a.Needs {
				p.needs[address] = append(p.needs[address], clean(need))
			}
		}
	}
}

// Bound leaves out the lines about what was done beyond the first most, and counts them. What failed is always shown.
func (p *Progress) Bound(most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = most
}

// tick draws again so that elapsed times go on, and where nothing is drawn says that the run goes on.
func (p *Progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen.Size != nil {
		p.redraw(nil)
		return
	}
	if now := p.screen.now(); now.Sub(p.last) >= silence && !p.closed {
		p.plain(now, p.heartbeat(now))
	}
}

// Close wipes the live region. What comes later is shown as plain lines.
func (p *Progress) Close() {
	p.until()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var rest []string
	if p.hidden > 0 {
		rest = []string{p.screen.Style.paint(dim, fmt.Sprintf("    and %d more", p.hidden))}
	}
	p.redraw(rest)
}

// Ended returns what went wrong. It is complete once the run has ended.
func (p *Progress) Ended() Ended {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// Stopping says that somebody asked the run to stop.
func (p *Progress) Stopping(text string) {
	p.mu.Lock()
	p.stop = true
	p.mu.Unlock()
	p.Say(text)
}

// Running returns how many resources are worked on.
func (p *Progress) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.active)
}

// Say shows a line that lasts.
func (p *Progress) Say(text string) { p.Print(p.screen.Style.paint(yellow, clean(text))) }

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
	p.out(p.region.draw(nil, nil))
	show()
}

// Event shows one event.
func (p *Progress) Event(e engine.Event) {
	e = cleaned(e)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case engine.EventStart:
		delete(p.pending, e.Address)
		p.active[e.Address] = &activity{event: e}
		return // the next redraw shows it
	case engine.EventProgress:
		if a := p.active[e.Address]; a != nil {
			same := a.note == e.Note
			if a.note = e.Note; same || p.screen.Size != nil {
				return
			}
		}
	case engine.EventDone:
		delete(p.pending, e.Address)
		delete(p.active, e.Address)
		if p.done++; p.end(e) || p.hide(e) {
			return
		}
	case engine.EventRun:
		if p.screen.Size != nil || e.Status != engine.StatusRunning {
			return
		}
	case engine.EventSummary:
		return
	default:
	}
	if p.screen.Size == nil {
		line := p.screen.Style.plainLine(e, p.name, p.total, p.tag(e))
		if e.Type == engine.EventRun && p.plan != "" {
			line += ", plan " + p.plan
		}
		p.plain(e.Time, line)
		return
	}
	if lines := p.screen.Style.lines(e, p.column, p.tag(e)); len(lines) > 0 {
		p.redraw(lines)
	}
}

// end notes what went wrong with a resource, and reports whether there is nothing to show of it before the run has ended: it is
// blocked, or failed like another one.
func (p *Progress) end(e engine.Event) bool {
	switch e.Status {
	case engine.StatusFailed:
		p.ended.Failed = append(p.ended.Failed, e)
		if e.Cause != "" {
			p.failed[e.Cause] = append(p.failed[e.Cause], e.Address)
			return len(p.failed[e.Cause]) > 1
		}
	case engine.StatusBlocked:
		p.ended.Blocked = append(p.ended.Blocked, e)
		return true
	case engine.StatusInterrupted:
		p.ended.Interrupted = append(p.ended.Interrupted, e)
	default:
	}
	return false
}

// hide reports whether the line about something that was done is left out.
func (p *Progress) hide(e engine.Event) bool {
	if p.bound == 0 || p.done <= p.bound || e.Status != engine.StatusDone {
		return false
	}
	p.hidden++
	return true
}

func (p *Progress) tag(e engine.Event) string {
	if p.local[e.Address] {
		return localTag
	}
	return ""
}

// plain writes a line with its time of day. The lock is held.
func (p *Progress) plain(at time.Time, line string) {
	now := p.screen.now()
	if at.IsZero() {
		at = now
	}
	if line != "" {
		p.last = now
		style, _ := p.screen.sized()
		p.out(strings.Join(wrapped(style.twin(p.screen.at(at)+line), style.Width, len("15:04:05 x ")), "\n") + "\n")
	}
}

func (p *Progress) out(text string) {
	if text != "" {
		io.WriteString(p.screen.Out, text) //nolint:errcheck // a lost terminal must not fail a deploy
	}
}

// redraw writes lasting lines where the live region was, and the region again below them. The lock is held.
func (p *Progress) redraw(lasting []string) {
	style, rows := p.screen.sized()
	if p.screen.Size == nil {
		for _, l := range lasting {
			p.plain(time.Time{}, l)
		}
		return
	}
	var wrappedLines, live []string
	for _, l := range lasting {
		wrappedLines = append(wrappedLines, wrapped(style.twin(l), style.Width, 6)...)
	}
	if !p.closed {
		live = style.clipped(p.live(style, rows))
	}
	p.out(p.region.draw(wrappedLines, live))
}

// running are the resources that are worked on, the longest first.
func (p *Progress) running() []*activity {
	return slices.SortedFunc(maps.Values(p.active), func(a, b *activity) int {
		return cmp.Or(a.event.Time.Compare(b.event.Time), cmp.Compare(a.event.Address, b.event.Address))
	})
}

// live is the live region: what runs, the longest first, then what waits for that, then the counts; at most half of the screen.
func (p *Progress) live(s Style, rows int) []string {
	if len(p.active) == 0 {
		return nil
	}
	now, most := p.screen.now(), max(3, rows/2)-1
	var lines []string
	running := p.running()
	for i, a := range running {
		next := p.rows(s, a, now)
		if len(lines)+len(next) > most-1 && i < len(running)-1 || len(lines)+len(next) > most {
			lines = append(lines, s.paint(dim, fmt.Sprintf("  … and %d more running", len(running)-i)))
			break
		}
		lines = append(lines, next...)
	}
	for _, address := range slices.Sorted(maps.Keys(p.pending)) {
		if on := p.waitsFor(address); on != "" && len(lines) < most {
			lines = append(lines, "  "+s.paint(yellow, "…")+" "+pad(address, p.column)+"  "+s.paint(dim, "needs "+on))
		}
	}
	return append(lines, p.status(s, now))
}

// waitsFor names what runs and an address that has not begun needs.
func (p *Progress) waitsFor(address string) string {
	var on []string
	for _, need := range p.needs[address] {
		if p.active[need] != nil {
			on = append(on, need)
		}
	}
	return strings.Join(on, ", ")
}

// spinner are the frames of what runs, and how long each is shown.
var spinner = []string{"◐", "◓", "◑", "◒"}

const frame = 250 * time.Millisecond

// deadline finds until when something is waited for.
var deadline = regexp.MustCompile(`until \d\d:\d\d:\d\d`)

// rows are the lines of one resource that is worked on. What it waits for stands behind it, or below it where there is no room;
// of a narrow terminal's only the deadline.
func (p *Progress) rows(s Style, a *activity, now time.Time) []string {
	elapsed := now.Sub(a.event.Time)
	head := "  " + s.paint(blue, spinner[int(elapsed/frame)&3]) + " " + pad(a.event.Address, p.column) + "  "
	if !s.narrow() {
		head += s.paint(blue, pad(verbs[a.event.Action].doing, len("updating"))) + "  "
	}
	head += Elapsed(elapsed)
	note := Plainly(oneLine(a.note))
	if s.narrow() && note != "" {
		note = deadline.FindString(note)
	}
	switch {
	case note == "":
		return []string{head}
	case s.Width == 0 || columns(head)+2+columns(note) <= s.Width || s.Width >= 120 || s.narrow():
		return []string{head + "  " + note}
	}
	return append([]string{head}, wrapped("      "+note, s.Width, 6)...)
}

// status are the counts of a run, and what Ctrl-C does.
func (p *Progress) status(s Style, now time.Time) string {
	waiting := ""
	if n := len(p.pending); n > 0 {
		waiting = fmt.Sprintf(", %d waiting", n)
	}
	text := fmt.Sprintf("%d of %d done, %d running%s", min(p.done, p.total), p.total, len(p.active), waiting)
	if !s.narrow() {
		text = s.paint(bold, p.name) + "  " + text
	}
	text += "   " + Elapsed(now.Sub(p.began))
	does := "Ctrl-C stops"
	if p.stop {
		does = "stopping; Ctrl-C again abandons what runs"
	}
	if columns(text)+columns(does)+3 > s.Width {
		return text
	}
	return text + strings.Repeat(" ", max(3, min(6, s.Width-columns(text)-columns(does)))) + s.paint(dim, does)
}

// heartbeat says that a run goes on of which nothing was written for a while.
func (p *Progress) heartbeat(now time.Time) string {
	text := fmt.Sprintf("… %d of %d done", min(p.done, p.total), p.total)
	running := p.running()
	if len(running) == 0 {
		return text
	}
	first := running[0]
	text += fmt.Sprintf("; %s %s for %s", first.event.Address, verbs[first.event.Action].doing, Elapsed(now.Sub(first.event.Time)))
	if first.note != "" {
		text += ": " + Plainly(oneLine(first.note))
	}
	if more := len(running) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more running", more)
	}
	return text
}

// plainLine is the line of an event in a stream of plain lines, "" for none. The name is the stage's, total how much there is to
// do, and tag follows what was done.
func (s Style) plainLine(e engine.Event, name string, total int, tag string) string {
	v, took := verbs[e.Action], Elapsed(seconds(e.Elapsed))
	line := func(sign string, c color, text string) string {
		if e.Address != "" {
			text = e.Address + ": " + text
		}
		return s.paint(c, sign) + " " + text
	}
	note := Plainly(oneLine(e.Note))
	switch {
	case e.Type == engine.EventRun:
		return fmt.Sprintf("%s %s of %s: %s", e.Action, e.Run, name, counted(total, "change"))
	case e.Type == engine.EventHook && e.Status != engine.StatusFailed:
		return line(" ", dim, "hook: "+note)
	case e.Type == engine.EventHook:
		return line("!", red, "hook: "+oneLine(Plainly(e.Error)))
	case e.Type == engine.EventWarning:
		return line("!", yellow, note)
	case e.Type == engine.EventProgress:
		return line("…", yellow, note)
	case e.Status == engine.StatusFailed:
		return line("!", red, fmt.Sprintf("%s failed after %s: %s", e.Action, took, oneLine(cause(e))))
	case e.Status == engine.StatusInterrupted:
		return line("!", yellow, strings.TrimRight("interrupted after "+took+": "+strings.TrimPrefix(note, "interrupted "), ": "))
	case e.Status == engine.StatusWaiting:
		return line("…", yellow, "waits for you: "+note)
	case e.Status == engine.StatusSkipped:
		return line("…", yellow, "not started")
	}
	return line(v.sign, v.color, fmt.Sprintf("%s%s in %s", v.done, tag, took))
}

// lines are the lasting lines of an event; column is the width of addresses, and tag follows what was done.
func (s Style) lines(e engine.Event, column int, tag string) []string {
	v, address := verbs[e.Action], pad(e.Address, column)
	note, took := Plainly(oneLine(e.Note)), s.paint(dim, "  "+Elapsed(seconds(e.Elapsed)))
	line := func(sign string, c color, text string) string {
		if e.Address == "" {
			return fmt.Sprintf("  %s %s", s.paint(c, sign), s.paint(c, text))
		}
		return fmt.Sprintf("  %s %s  %s", s.paint(c, sign), address, s.paint(c, text))
	}
	switch {
	case e.Type == engine.EventHook && e.Status != engine.StatusFailed:
		return []string{line(" ", dim, "hook: "+note)}
	case e.Type == engine.EventHook:
		return []string{line("!", red, "hook: "+oneLine(Plainly(e.Error)))}
	case e.Type == engine.EventWarning:
		return []string{line("!", yellow, note)}
	case e.Type == engine.EventProgress:
		return []string{line("…", yellow, note)}
	case e.Status == engine.StatusFailed:
		return []string{line("!", red, "failed ") + took}
	case e.Status == engine.StatusInterrupted:
		text := line("!", yellow, "interrupted") + took
		if note != "" {
			text += "  " + strings.TrimPrefix(note, "interrupted ")
		}
		return []string{text}
	case e.Status == engine.StatusWaiting:
		return []string{line("…", yellow, "waits for you: "+note)}
	case e.Status == engine.StatusSkipped:
		return []string{line("…", yellow, "not started")}
	}
	return []string{line(v.sign, v.color, pad(v.done+tag, len("updated"))) + took}
}

// cause is the error of an event without the verb before it.
func cause(e engine.Event) string {
	return strings.TrimPrefix(Plainly(clean(e.Error)), string(e.Action)+": ")
}
