package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// event is the part of an engine's event that pages show. Its texts are redacted.
type event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Address string    `json:"address"`
	Kind    string    `json:"kind"`
	Action  string    `json:"action"`
	Status  string    `json:"status"`
	Note    string    `json:"note"`
	Error   string    `json:"error"`
	Hint    string    `json:"hint"`
	Cause   string    `json:"cause"`
	Paths   []string  `json:"paths"`
	Elapsed float64   `json:"elapsed"`
	Total   int       `json:"total"`

	seq uint64
}

func eventOf(e statestore.Event, plainly func(string) string) event {
	var read event
	if json.Unmarshal(e.Body, &read) != nil {
		read = event{Type: "warning", Note: "this event cannot be read"}
	}
	if read.Error != "" {
		read.Error = plainly(read.Error)
	}
	if read.Type == "warning" {
		read.Note = plainly(read.Note)
	}
	read.seq = e.Seq
	return read
}

// eventLine is one line of the log of a run.
type eventLine struct {
	Seq     uint64 `json:"seq"`
	Clock   string `json:"clock"`
	Address string `json:"address"`
	Text    string `json:"text"`
	Class   string `json:"class"`
	// State is how a node of the graph stands after the event: "", on, ok, bad or warn.
	State string `json:"state,omitempty"`
}

// line says an event in words.
func (e *event) line() eventLine {
	l := eventLine{Seq: e.seq, Clock: e.Time.UTC().Format(time.TimeOnly), Address: e.Address}
	v := verbOf(e.Action)
	took := ""
	if e.Elapsed > 0 {
		took = " in " + seconds(e.Elapsed)
	}
	switch e.Type {
	case "run":
		l.Address = "run"
		if e.Status == string(statestore.Running) {
			l.Text = e.Action + " started"
		} else {
			l.Text = e.Status + took
		}
	case "start":
		l.Text, l.State = v.Word+" started", "on"
	case "progress":
		l.Text = e.Note
	case "done":
		l.Text, l.State = v.Past+took, "ok"
		switch e.Status {
		case "done":
		case "failed":
			l.Text, l.State, l.Class = v.Word+" failed"+took+": "+e.Error, "bad", "bad"
		case "waiting":
			l.Text, l.State = "waits: "+e.Note, "warn"
			return l
		default:
			l.Text, l.State, l.Class = e.Status, "warn", "warn"
		}
		if e.Note != "" {
			l.Text += ", " + e.Note
		}
	default:
		l.Text = strings.TrimSpace(e.Type + " " + e.Status)
		if e.Note != "" {
			l.Text += ": " + e.Note
		}
		if e.Error != "" {
			l.Text += ": " + e.Error
		}
		if e.Type == "warning" {
			l.Class = "warn"
		}
	}
	return l
}

// change is what a run did to one resource.
type change struct {
	Address, Kind, Link string
	Verb                verb
	Action              string
	State               string // as in the last event: running, done, failed, …
	Note, Error, Hint   string
	Paths               []string
	Cause               string
	Began, Ended        time.Time
	Elapsed             float64
	Critical            bool
}

// Status is how the change stands, as a shape and a word.
func (c *change) Status() status {
	switch c.State {
	case "done":
		return status{"ok", "ok", c.Verb.Past}
	case "running":
		return status{"run", "run", c.Verb.Now}
	case "failed":
		return status{"bad", "bad", "failed"}
	case "waiting":
		return status{"", "wait", "waits"}
	case "blocked", "not started":
		return status{"warn", "wait", c.State}
	default:
		return status{"warn", "warn", c.State}
	}
}

// Changed lists the paths that were changed.
func (c *change) Changed() string { return strings.Join(c.Paths, ", ") }

// outcome is what the events of a run come to.
type outcome struct {
	changes []*change   // in the order in which they began
	lines   []eventLine // of the newest events, as many as a page shows
	events  int
	began   time.Time
	last    uint64 // sequence number of the newest event
	total   int    // resources that the run works on; 0 where it does not say
}

// outcomeOf reads events in their order.
func outcomeOf(events []statestore.Event, plainly func(string) string) *outcome {
	o := &outcome{events: len(events)}
	open := map[string]*change{}    // by address and action: a replacement is more than one
	running := map[string]*change{} // by address: what was to be updated can end as unchanged
	for i, stored := range events {
		e := eventOf(stored, plainly)
		o.last, o.total = e.seq, max(o.total, e.Total)
		if len(events)-i <= mostLines {
			o.lines = append(o.lines, e.line())
		}
		if o.began.IsZero() {
			o.began = e.Time
		}
		if e.Address == "" || e.Type != "start" && e.Type != "progress" && e.Type != "done" {
			continue
		}
		key := e.Address + "\x00" + e.Action
		c := open[key]
		if begun := running[e.Address]; c == nil && begun != nil && begun.State == "running" && e.Type == "done" {
			c = begun
			c.Action, c.Verb = e.Action, verbOf(e.Action)
		}
		if c == nil {
			c = &change{Address: e.Address, Kind: e.Kind, Action: e.Action, Verb: verbOf(e.Action), Began: e.Time, State: "running"}
			open[key] = c
			o.changes = append(o.changes, c)
		}
		if c.take(&e); e.Type == "start" {
			running[e.Address] = c
		}
	}
	return o
}

// take adds an event to a change.
func (c *change) take(e *event) {
	c.Note = cmp.Or(e.Note, c.Note)
	if e.Type == "start" {
		c.State, c.Ended, c.Note = "running", time.Time{}, e.Note
	}
	if e.Type != "done" {
		return
	}
	c.State, c.Ended, c.Note, c.Error, c.Hint, c.Cause, c.Elapsed = e.Status, e.Time, e.Note, e.Error, e.Hint, e.Cause, e.Elapsed
	c.Kind = cmp.Or(e.Kind, c.Kind)
	if len(e.Paths) > 0 {
		c.Paths = e.Paths
	}
	if began := e.Time.Add(-time.Duration(e.Elapsed * float64(time.Second))); e.Elapsed > 0 && began.Before(c.Began) {
		c.Began = began
	}
}

// critical finds what the end of a run waited for: what ended last, before it what ended last of all that it needed, and so
// on. What is at work ends last, the longest of it. Needs are those of state by address; a deletion needs the deletions of what
// needed it.
func critical(changes []*change, needs map[string][]string, now time.Time) []string {
	ended := func(c *change) time.Time {
		if c.State == "running" {
			return now.Add(max(now.Sub(c.Began), 0))
		}
		return c.Ended
	}
	by := map[string]*change{}
	neededBy := map[string][]string{}
	var last *change
	for _, c := range changes {
		if ended(c).IsZero() || c.State == "blocked" {
			continue
		}
		by[c.Address] = c
		if last == nil || ended(c).After(ended(last)) {
			last = c
		}
	}
	for address, of := range needs {
		for _, need := range of {
			neededBy[need] = append(neededBy[need], address)
		}
	}
	var path []string
	for c := last; c != nil && !c.Critical; {
		c.Critical = true
		path = append(path, c.Address)
		before := needs[c.Address]
		if c.Action == "delete" {
			before = neededBy[c.Address]
		}
		var next *change
		for _, address := range before {
			if b := by[address]; b != nil && !b.Critical && (next == nil || ended(b).After(ended(next))) {
				next = b
			}
		}
		c = next
	}
	slices.Reverse(path)
	return path
}

// changesOf returns what events say about one resource, in the order in which it began. Events of other resources are not decoded.
func changesOf(events []statestore.Event, address string, plainly func(string) string) []*change {
	parts := plainParts(address)
	var of []statestore.Event
	for _, e := range events {
		if mentions(e.Body, parts) {
			of = append(of, e)
		}
	}
	return slices.DeleteFunc(outcomeOf(of, plainly).changes, func(c *change) bool { return c.Address != address })
}

// plainParts are the parts of a text that each encoder of JSON writes as they are.
func plainParts(text string) [][]byte {
	return bytes.FieldsFunc([]byte(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// mentions reports whether a body can be that of an event of the address with these parts: that it has each of them, in their order.
func mentions(body []byte, parts [][]byte) bool {
	for _, part := range parts {
		i := bytes.Index(body, part)
		if i < 0 {
			return false
		}
		body = body[i+len(part):]
	}
	return true
}

// endedRuns keeps what is known of runs that have ended: their events never change.
type endedRuns struct {
	mu    sync.Mutex
	known map[string]endedRun
	size  int
}

// endedRun is either the events of a run, or what they came to.
type endedRun struct {
	events  []statestore.Event
	outcome *outcome
}

func (r endedRun) size() int {
	if r.outcome != nil {
		return r.outcome.events
	}
	return len(r.events)
}

// mostKept is how many events of ended runs are kept in memory.
const mostKept = 200_000

func (k *endedRuns) get(key string) (endedRun, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, known := k.known[key]
	return r, known
}

func (k *endedRuns) put(key string, r endedRun) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.size -= k.known[key].size()
	if k.known == nil || k.size+r.size() > mostKept {
		k.known, k.size = map[string]endedRun{}, 0
	}
	k.known[key] = r
	k.size += r.size()
}

// endedRun reads what is known of a run: of one that has ended it is kept.
func (p *Page) endedRun(ctx context.Context, stage statestore.Stage, r statestore.Run) (known endedRun, keep func(endedRun), err error) {
	hidden, err := p.isPrivate(ctx, stage)
	if err != nil {
		return endedRun{}, nil, err
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%v", stage.Stack, stage.Name, r.ID, hidden) // what is shown of it may change
	keep = func(of endedRun) {
		if r.State != statestore.Running {
			p.ended.put(key, of)
		}
	}
	if known, is := p.ended.get(key); is {
		return known, keep, nil
	}
	events, err := p.settings.Store.Events(ctx, stage, r.ID, 0, 0)
	return endedRun{events: events}, keep, err
}

// outcome reads what a run came to. It must not be changed.
func (p *Page) outcome(ctx context.Context, stage statestore.Stage, r statestore.Run) (*outcome, error) {
	known, keep, err := p.endedRun(ctx, stage, r)
	if err != nil || known.outcome != nil {
		return known.outcome, err
	}
	o := outcomeOf(known.events, p.settings.Plainly)
	keep(endedRun{outcome: o})
	return o, nil
}

// allLines reads the lines of all events of a run.
func (p *Page) allLines(ctx context.Context, stage statestore.Stage, run string) ([]eventLine, error) {
	events, err := p.settings.Store.Events(ctx, stage, run, 0, 0)
	lines := make([]eventLine, len(events))
	for i, stored := range events {
		e := eventOf(stored, p.settings.Plainly)
		lines[i] = e.line()
	}
	return lines, err
}

// changesIn reads what a run did to one resource. The changes must not be changed.
func (p *Page) changesIn(ctx context.Context, stage statestore.Stage, r statestore.Run, address string) ([]*change, error) {
	known, keep, err := p.endedRun(ctx, stage, r)
	if err != nil {
		return nil, err
	}
	if known.outcome == nil {
		keep(known)
		return changesOf(known.events, address, p.settings.Plainly), nil
	}
	var of []*change
	for _, c := range known.outcome.changes {
		if c.Address == address {
			of = append(of, c)
		}
	}
	return of, nil
}
