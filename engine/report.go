package engine

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// report is what becomes of each node of a run: it tells it as events, and counts it.
type report struct {
	run     string // its id
	redact  *redact.Redactor
	journal *statestore.Journal // keeps the events
	show    func(Event)         // nil: nobody looks

	mu       sync.Mutex
	statuses map[string]Status
	failures []*ResourceError
	waiting  map[string]string
	summary  Summary
	broken   bool            // something is blocked by a failure
	times    durations.Taken // of operations
	slowest  Slow

	order sync.Mutex // of events
}

// emit records and shows one event, with secrets masked.
func (p *report) emit(e Event) {
	e.Time, e.Run = time.Now().UTC(), p.run
	e.Note, e.Error, e.Hint = p.redact.Text(e.Note), p.redact.Text(e.Error), p.redact.Text(e.Hint)
	p.order.Lock()
	defer p.order.Unlock()
	body, err := json.Marshal(e)
	if err != nil {
		return // an event that cannot be told never fails a deploy
	}
	e.Seq = p.journal.Emit(body)
	if p.show != nil {
		p.show(e)
	}
}

// settled accounts for a node that needs nothing. One that is asleep lives in a dev session alone.
func (p *report) settled(n *node, asleep bool) {
	status := StatusDone
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.doing() == Blocked {
		status, p.broken = StatusBlocked, true
	}
	p.statuses[n.addr] = status
	if asleep {
		p.summary.InDev++
		return
	}
	p.summary.count(n.doing(), status)
	if n.plan.Waiting != "" {
		p.wait(n)
	}
}

// wait notes what somebody else must do. The lock is held.
func (p *report) wait(n *node) {
	if p.waiting == nil {
		p.waiting = map[string]string{}
	}
	p.waiting[n.addr] = n.plan.Waiting
}

// account counts a node's end.
func (p *report) account(n *node, action Action, status Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[n.addr] = status
	p.summary.count(action, status)
	if status == StatusWaiting {
		p.wait(n)
	}
}

func (p *report) setStatus(n *node, status Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, done := p.statuses[n.addr]; !done {
		p.statuses[n.addr] = status
		p.summary.count(n.doing(), status)
	}
}

// fail notes a failure, and returns the name of its cause. An interrupt is no failure.
func (p *report) fail(n *node, action Action, err error) string {
	if errors.Is(err, reconcile.ErrInterrupted) {
		return ""
	}
	f := &ResourceError{Address: n.addr, Kind: n.kindName(), Action: action, Err: p.redact.Error(err), Own: n.ownNames()}
	f.Common, f.CommonHint = commonOf(p.redact, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, f)
	return f.CauseID()
}

// blocked accounts for a node that cannot be done because of another: one that failed, or one that waits for
// somebody, which is no failure of the run.
func (p *report) blocked(n, cause *node, waits bool) {
	p.mu.Lock()
	p.broken = p.broken || !waits
	p.mu.Unlock()
	if n != cause { // why it failed was told
		p.emit(Event{
			Type: EventDone, Address: n.addr, Kind: n.kindName(), Action: n.doing(), Status: StatusBlocked,
			Note: "needs " + cause.addr,
		})
	}
	p.setStatus(n, StatusBlocked)
}

// ok reports that a node's work is done, or that it needed none.
func (p *report) ok(n *node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.statuses[n.addr]
	return s == StatusDone || s == StatusWaiting
}

// demote turns a node that was done into one that failed or was interrupted.
func (p *report) demote(n *node, status Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[n.addr] = status
	p.summary.count(Update, status)
	p.summary.add(n.doing(), -1)
}

func (p *report) recount(from, to Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summary.add(from, -1)
	p.summary.add(to, 1)
}

// handled reports a leftover that went first in the forward pass.
func (p *report) handled(n *node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, done := p.statuses[n.addr]
	return done && n.decl == nil
}

func (p *report) keep(n *node) {
	if n.decl == nil {
		p.setStatus(n, StatusBlocked)
	}
	p.emit(Event{
		Type: EventDone, Address: n.addr, Kind: n.kindName(), Action: Delete, Status: StatusBlocked,
		Note: "something that failed still needs it",
	})
}

// count counts the end of a part of a node's work.
func (p *report) count(action Action, status Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summary.count(action, status)
}

// reported does one step of an edit with its events, and accounts for it.
func (p *report) reported(n *node, do func() error) error {
	begun := time.Now()
	p.emit(Event{Type: EventStart, Address: n.addr, Kind: n.plan.Kind, Action: n.doing(), Status: StatusRunning})
	err := do()
	e := Event{
		Type: EventDone, Address: n.addr, Kind: n.plan.Kind, Action: n.doing(), Status: StatusDone, Elapsed: time.Since(begun).Seconds(),
	}
	if err != nil {
		ended(&e, err, true)
	}
	p.account(n, n.doing(), e.Status)
	p.emit(e)
	return err
}

// tell gives the events of an edit that is done.
func (p *report) tell(lines []Planned) error {
	for i := range lines {
		a := &lines[i]
		if a.Action == Unchanged {
			p.summary.count(Unchanged, StatusDone)
			continue
		}
		if err := p.reported(&node{declaration: declaration{addr: a.Address}, decision: decision{plan: a}}, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
