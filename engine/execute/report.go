package execute

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// report is what becomes of each node of a run: it tells it as events, and counts it.
type report struct {
	run     string // its id
	redact  *redact.Redactor
	journal *statestore.Journal // keeps the events
	show    func(plan.Event)    // nil: nobody looks

	mu       sync.Mutex
	statuses map[string]plan.Status
	failures []*ResourceError
	waiting  map[string]string
	summary  plan.Summary
	broken   bool            // something is blocked by a failure
	times    durations.Taken // of operations
	slowest  Slow

	order sync.Mutex // of events
}

// eventSize is a bit more than most events take.
const eventSize = 224

// emit records and shows one event, with secrets masked.
func (p *report) emit(e plan.Event) {
	e.Time, e.Run = time.Now().UTC(), p.run
	e.Note, e.Error, e.Hint = p.redact.Text(e.Note), p.redact.Text(e.Error), p.redact.Text(e.Hint)
	body, ok := e.AppendJSON(make([]byte, 0, eventSize))
	if !ok {
		var err error
		if body, err = json.Marshal(e); err != nil {
			return // an event that cannot be told never fails a deploy
		}
	}
	p.order.Lock()
	defer p.order.Unlock()
	e.Seq = p.journal.Emit(body)
	if p.show != nil {
		p.show(e)
	}
}

// settled accounts for a node that needs nothing. One that is asleep lives in a dev session alone.
func (p *report) settled(n *plan.Node, asleep bool) {
	status := plan.StatusDone
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.Doing() == plan.Blocked {
		status, p.broken = plan.StatusBlocked, true
	}
	p.statuses[n.Address] = status
	if asleep {
		p.summary.InDev++
		return
	}
	p.summary.Count(n.Doing(), status)
	if n.Plan.Waiting != "" {
		p.wait(n)
	}
}

// wait notes what somebody else must do. The lock is held.
func (p *report) wait(n *plan.Node) {
	if p.waiting == nil {
		p.waiting = map[string]string{}
	}
	p.waiting[n.Address] = n.Plan.Waiting
}

// account counts a node's end.
func (p *report) account(n *plan.Node, action plan.Action, status plan.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[n.Address] = status
	p.summary.Count(action, status)
	if status == plan.StatusWaiting {
		p.wait(n)
	}
}

func (p *report) setStatus(n *plan.Node, status plan.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, done := p.statuses[n.Address]; !done {
		p.statuses[n.Address] = status
		p.summary.Count(n.Doing(), status)
	}
}

// fail notes a failure, and returns the name of its cause. An interrupt is no failure.
func (p *report) fail(n *plan.Node, action plan.Action, err error) string {
	if errors.Is(err, reconcile.ErrInterrupted) {
		return ""
	}
	f := &ResourceError{Address: n.Address, Kind: n.KindName(), Action: action, Err: p.redact.Error(err), Own: n.OwnNames()}
	f.Common, f.CommonHint = plan.CommonOf(p.redact, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, f)
	return f.CauseID()
}

// failUpdate accounts for an update that is no task of its own and that failed or was interrupted.
func (p *report) failUpdate(n *plan.Node, err error, account func(*plan.Node, plan.Status)) {
	e := plan.Event{Type: plan.EventDone, Address: n.Address, Kind: n.KindName(), Action: plan.Update}
	ended(&e, err, true)
	e.Cause = p.fail(n, plan.Update, err)
	account(n, e.Status)
	p.emit(e)
}

// blocked accounts for a node that cannot be done because of another: one that failed, or one that waits for
// somebody, which is no failure of the run.
func (p *report) blocked(n, cause *plan.Node, waits bool) {
	p.mu.Lock()
	p.broken = p.broken || !waits
	p.mu.Unlock()
	if n != cause { // why it failed was told
		p.emit(plan.Event{
			Type: plan.EventDone, Address: n.Address, Kind: n.KindName(), Action: n.Doing(), Status: plan.StatusBlocked,
			Note: "needs " + cause.Address,
		})
	}
	p.setStatus(n, plan.StatusBlocked)
}

// ok reports that a node's work is done, or that it needed none.
func (p *report) ok(n *plan.Node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.statuses[n.Address]
	return s == plan.StatusDone || s == plan.StatusWaiting
}

// demote turns a node that was done into one that failed or was interrupted.
func (p *report) demote(n *plan.Node, status plan.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[n.Address] = status
	p.summary.Count(plan.Update, status)
	p.summary.Add(n.Doing(), -1)
}

func (p *report) recount(from, to plan.Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summary.Add(from, -1)
	p.summary.Add(to, 1)
}

// handled reports a leftover that went first in the forward pass.
func (p *report) handled(n *plan.Node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, done := p.statuses[n.Address]
	return done && n.Decl == nil
}

func (p *report) keep(n *plan.Node) {
	if n.Decl == nil {
		p.setStatus(n, plan.StatusBlocked)
	}
	p.emit(plan.Event{
		Type: plan.EventDone, Address: n.Address, Kind: n.KindName(), Action: plan.Delete, Status: plan.StatusBlocked,
		Note: "something that failed still needs it",
	})
}

// count counts the end of a part of a node's work.
func (p *report) count(action plan.Action, status plan.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summary.Count(action, status)
}

// Reported does one step of an edit with its events, and accounts for it.
func (p *report) Reported(n *plan.Node, do func() error) error {
	begun := time.Now()
	p.emit(plan.Event{Type: plan.EventStart, Address: n.Address, Kind: n.Plan.Kind, Action: n.Doing(), Status: plan.StatusRunning})
	err := do()
	e := plan.Event{
		Type: plan.EventDone, Address: n.Address, Kind: n.Plan.Kind, Action: n.Doing(), Status: plan.StatusDone, Elapsed: time.Since(begun).Seconds(),
	}
	if err != nil {
		ended(&e, err, true)
	}
	p.account(n, n.Doing(), e.Status)
	p.emit(e)
	return err
}

// Tell gives the events of an edit that is done.
func (p *report) Tell(lines []plan.Planned) error {
	for i := range lines {
		a := &lines[i]
		if a.Action == plan.Unchanged {
			p.summary.Count(plan.Unchanged, plan.StatusDone)
			continue
		}
		if err := p.Reported(&plan.Node{Declaration: plan.Declaration{Address: a.Address}, Decision: plan.Decision{Plan: a}}, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
