package execute

import (
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// durationsFact names the stage-wide fact that says how long operations take. It orders the calls of later runs, so that one
// that is missing, old or wrong costs time and nothing else.
const durationsFact = "durations"

// openDurations returns how long operations take as far as state says.
func openDurations(snap *statestore.Snapshot, key *seal.Key) durations.Table {
	v, err := state.OpenFact(snap, key, durationsFact)
	if v == nil || err != nil {
		return nil
	}
	return durations.Of(v)
}

// expected returns how long operations take as far as a table and this run say.
func (p *report) expected(known durations.Table) durations.Table {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, _ = known.With(&p.times)
	return known
}

// keepDurations adds to the last change of a run what the run has shown of how long operations take, if that is anything new.
func (r *Run) keepDurations(end *statestore.Change, known durations.Table) {
	if !r.Runner.KeepDurations {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, differs := known.With(&r.times)
	if !differs {
		return
	}
	if end.Meta == nil {
		end.Meta = map[string][]byte{}
	}
	end.Meta[durationsFact], end.KeyID = state.SealFact(r.Draft.Stage, r.Runner.Key, durationsFact, known.Tree()), r.Runner.Key.ID()
}

// Step is one resource of a run, and how long the work on it took.
type Step struct {
	Address string  `json:"address"`
	Seconds float64 `json:"seconds"`
	// Limited are the further seconds in which its calls waited since a service limits how often it is called.
	Limited float64 `json:"limited,omitempty"`
}

// whole are the seconds of the work with those of the waiting.
func (s Step) whole() float64 { return s.Seconds + s.Limited }

// Slow says what a run took long for.
type Slow struct {
	Longest Step `json:"longest"`
	// Path is what the end of the run waited for, in order.
	Path []Step `json:"criticalPath"`
}

// long is how long a run takes that says what it took long for.
const long = 10 * time.Second

// slow notes what a part of the run took long for. Its parts follow each other.
func (p *report) slow(longest Step, path []Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if longest.whole() > p.slowest.Longest.whole() {
		p.slowest.Longest = longest
	}
	p.slowest.Path = append(p.slowest.Path, path...)
}

// tookLong returns what a run took long for, nil when it was over soon.
func (p *report) tookLong(took time.Duration) *Slow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if took < long || len(p.slowest.Path) == 0 {
		return nil
	}
	return &p.slowest
}

// took notes how long an operation on an object took. It reports whether the run had not shown that before, and it matters.
func (p *report) took(kind string, operation plan.Action, seconds float64) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := time.Duration(seconds * float64(time.Second))
	return p.times.Add(kind, string(operation), d) && d >= matters
}

// matters is how long an operation takes at least whose time changes what is urgent.
const matters = 10 * time.Millisecond
