package cmd

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// planning shows how planning goes, until it has ended.
func (s *session) planning(plan func() (*engine.Plan, error)) (*engine.Plan, error) {
	a, events := s.app, s.engine.Events
	if a.AsJSON {
		return plan()
	}
	reading := render.NewReading(a.Screen(a.Err), s.stage.String())
	s.engine.Reading = reading.Read
	s.engine.Events = func(e engine.Event) {
		if e.Type == engine.EventProgress {
			reading.Note(fmt.Sprintf("  … %s: waits: %s", e.Address, e.Note))
		}
	}
	defer func() {
		reading.Close()
		s.engine.Reading, s.engine.Events = nil, events
	}()
	return plan()
}

// showPlan writes a plan for people. What does not fit on their terminal is shown by a pager when they are there to read it.
func (s *session) showPlan(w io.Writer, p *engine.Plan, attended bool) {
	var text bytes.Buffer
	style := s.app.Style(w)
	style.Plan(&text, p, s.cost(p))
	if attended && s.app.Paged(w, text.String()) {
		style.PlanCounts(w, p, s.cost(p))
		return
	}
	w.Write(text.Bytes()) //nolint:errcheck // like all that is printed
}

// showDetails shows a plan in full, on the terminal where its approval is asked for.
func (s *session) showDetails(p *engine.Plan) {
	var text bytes.Buffer
	style := s.app.Style(s.app.Err)
	style.Detailed = true
	style.Plan(&text, p, s.cost(p))
	if !s.app.Paged(s.app.Err, text.String()) {
		s.app.Err.Write(text.Bytes()) //nolint:errcheck // like all that is printed
	}
}

// cost is what planning took.
func (s *session) cost(p *engine.Plan) string {
	return costOf(engine.Reads(p), s.began, p.Made, time.Now())
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
