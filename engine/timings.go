package engine

import (
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// durationsFact names the stage-wide fact that says how long operations take. It orders the calls of later runs, so that one
// that is missing, old or wrong costs time and nothing else.
const durationsFact = "durations"

// openDurations returns how long operations take as far as state says.
func (e *Engine) openDurations(snap *statestore.Snapshot) durations.Table {
	sealed := snap.Meta[durationsFact]
	if sealed == nil {
		return nil
	}
	plain, err := e.Key.Open(sealed, state.Binding(snap.Stage, "\x00"+durationsFact))
	if err != nil {
		return nil
	}
	v, err := tree.Decode(plain)
	if err != nil {
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
func (r *run) keepDurations(end *statestore.Change) {
	if !r.e.KeepDurations || r.w.edit != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, differs := r.e.openDurations(r.w.snap).With(&r.times)
	if !differs {
		return
	}
	sealed := r.e.Key.Seal(tree.Canonical(known.Tree()), state.Binding(r.w.stage, "\x00"+durationsFact))
	if end.Meta == nil {
		end.Meta = map[string][]byte{}
	}
	end.Meta[durationsFact], end.KeyID = sealed, r.e.Key.ID()
}

// took notes how long an operation on an object took.
func (p *report) took(kind string, operation Action, seconds float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times.Add(kind, string(operation), time.Duration(seconds*float64(time.Second)))
}
