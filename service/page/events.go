package page

import (
	"cmp"
	"context"
	"encoding/json"
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

	seq uint64
}

func eventOf(e statestore.Event) event {
	var read event
	if json.Unmarshal(e.Body, &read) != nil {
		read = event{Type: "warning", Note: "this event cannot be read"}
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
	changes []*change // in the order in which they began
	lines   []eventLine
	began   time.Time
	last    uint64 // sequence number of the newest event
}

// outcomeOf reads events in their order.
func outcomeOf(events []statestore.Event) *outcome {
	o := &outcome{}
	open := map[string]*change{}    // by address and action: a replacement is more than one
	running := map[string]*change{} // by address: what was to be updated can end as unchanged
	for _, stored := range events {
		e := eventOf(stored)
		o.last = e.seq
		o.lines = append(o.lines, e.line())
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

// endedRuns keeps what runs came to that have ended: their events never change.
type endedRuns struct {
	mu    sync.Mutex
	known map[string]*outcome
	size  int
}

// mostKept is how many events of ended runs are kept in memory.
const mostKept = 200_000

func (k *endedRuns) get(key string) *outcome {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[key]
}

func (k *endedRuns) put(key string, o *outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || k.size+len(o.lines) > mostKept {
		k.known, k.size = map[string]*outcome{}, 0
	}
	k.known[key] = o
	k.size += len(o.lines)
}

// outcome reads what a run came to. It must not be changed.
func (p *Page) outcome(ctx context.Context, stage statestore.Stage, r statestore.Run) (*outcome, error) {
	key := stage.Stack + "\x00" + stage.Name + "\x00" + r.ID
	if o := p.ended.get(key); o != nil {
		return o, nil
	}
	events, err := p.settings.Store.Events(ctx, stage, r.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	o := outcomeOf(events)
	if r.State != statestore.Running {
		p.ended.put(key, o)
	}
	return o, nil
}
