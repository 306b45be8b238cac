package session

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// Planning shows how planning goes, until it has ended.
func (s *Session) Planning(plan func() (*engine.Plan, error)) (*engine.Plan, error) {
	a, events := s.Opener, s.Engine.Events
	if a.AsJSON {
		return plan()
	}
	reading := render.NewReading(a.Screen(a.Err), s.Stage.String())
	s.Engine.Reading = reading.Read
	s.Engine.Events = func(e engine.Event) {
		if e.Type == engine.EventProgress {
			reading.Note(fmt.Sprintf("  … %s: waits: %s", e.Address, e.Note))
		}
	}
	defer func() {
		reading.Close()
		s.Engine.Reading, s.Engine.Events = nil, events
	}()
	return plan()
}

// ShowPlan writes a plan for people. What does not fit on their terminal is shown by a pager when they are there to read it.
func (s *Session) ShowPlan(w io.Writer, p *engine.Plan, attended bool) {
	var text bytes.Buffer
	style := s.Opener.Style(w)
	style.Plan(&text, p, costText(s, p))
	if attended && s.Opener.Paged(w, text.String()) {
		style.PlanCounts(w, p, costText(s, p))
		return
	}
	w.Write(text.Bytes()) //nolint:errcheck // like all that is printed
}

// ShowDetails shows a plan in full, on the terminal where its approval is asked for.
func (s *Session) ShowDetails(p *engine.Plan) {
	var text bytes.Buffer
	style := s.Opener.Style(s.Opener.Err)
	style.Detailed = true
	style.Plan(&text, p, costText(s, p))
	if !s.Opener.Paged(s.Opener.Err, text.String()) {
		s.Opener.Err.Write(text.Bytes()) //nolint:errcheck // like all that is printed
	}
}

// costText is what planning took.
func costText(s *Session, p *engine.Plan) string {
	return costOf(engine.Reads(p), s.Began, p.Made, time.Now())
}

// costOf says how many reads a plan took, and how long: until it was made, where that is known. It may be shown again a while later.
func costOf(reads int64, began, made, now time.Time) string {
	if reads == 0 {
		return ""
	}
	word := " reads, "
	if reads == 1 {
		word = " read, "
	}
	if made.Before(began) {
		made = now
	}
	return strconv.FormatInt(reads, 10) + word + render.Elapsed(made.Sub(began))
}
