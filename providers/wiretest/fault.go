package wiretest

import (
	"path"
	"slices"
	"sync"
)

// Kind says what happens to a call.
type Kind string

// The kinds of faults.
const (
	// Hold keeps the call before it reaches the cloud until it is released.
	// A caller that goes away meanwhile has had no effect.
	Hold Kind = "hold"

	// HoldAnswer lets the call have its effect and keeps the answer until it
	// is released.
	HoldAnswer Kind = "hold answer"

	// CutBefore breaks the connection before the call reaches the cloud: no
	// effect.
	CutBefore Kind = "cut before"

	// DropAnswer lets the call have its effect and breaks the connection
	// instead of answering.
	DropAnswer Kind = "drop answer"

	// Throttle refuses the call without effect, with the service's own
	// throttling error.
	Throttle Kind = "throttle"

	// ServerError answers with the service's own internal error, status 500,
	// without effect.
	ServerError Kind = "server error"

	// Deny refuses the call without effect, with the service's own error for
	// a missing permission.
	Deny Kind = "deny"

	// Refuse refuses the call without effect, with the error of [Fault.Code].
	Refuse Kind = "refuse"

	// Stale answers a read with the answer that the same request had the last
	// time it reached the cloud. A request that was never made is answered as
	// if nothing existed yet: a list is empty, anything else is not found.
	// Calls that change something pass untouched and are not counted, and so
	// do reads of which there always is something, such as the caller's
	// identity.
	Stale Kind = "stale"
)

// Fault is a rule: which calls, and what happens to them. Its zero selection
// is the next call of any kind.
type Fault struct {
	// Op selects by [Call.Name]: "SQS.CreateQueue", or a pattern of
	// path.Match: "SQS.*". Empty selects all.
	Op string

	// When selects further. Nil selects all. It runs under the proxy's lock,
	// so it must not call the proxy.
	When func(Call) bool

	// Nth is the number of the first selected call that is hit, counted from
	// the arming of the fault. 0 means 1. A call hit by a fault that was armed
	// earlier is not counted, so two faults on one operation come in turn.
	Nth int

	// Times is the number of calls hit. 0 means 1, below 0 means all.
	Times int

	// Kind is what happens.
	Kind Kind

	// Code is the error code of [Refuse], in the service's own words:
	// "AWS.SimpleQueueService.QueueDeletedRecently", "10014".
	Code string

	// Status is the HTTP status of [Refuse]. 0 means 400.
	Status int
}

func (f Fault) selects(c Call) bool {
	if f.Kind == Stale && (c.Mutating || c.Constant) {
		return false
	}
	if f.Op != "" {
		if ok, _ := path.Match(f.Op, c.Name()); !ok {
			return false
		}
	}
	return f.When == nil || f.When(c)
}

// due reports whether the seen-th selected call is hit.
func (f Fault) due(seen int) bool {
	nth, times := max(f.Nth, 1), f.Times
	if times == 0 {
		times = 1
	}
	return seen >= nth && (times < 0 || seen < nth+times)
}

// Armed is a fault that waits for its calls.
type Armed struct {
	fault    Fault
	rules    *rules
	reached  chan struct{}
	released chan struct{}
	once     sync.Once

	// Guarded by rules.mu.
	seen, fired int
}

// Reached returns a channel that is closed when the first call is hit.
func (a *Armed) Reached() <-chan struct{} { return a.reached }

// Fired returns the number of calls hit so far.
func (a *Armed) Fired() int {
	a.rules.mu.Lock()
	defer a.rules.mu.Unlock()
	return a.fired
}

// Release releases what [Hold] and [HoldAnswer] keep, now and later. The end of
// the test breaks the connections of what is still kept.
func (a *Armed) Release() { a.once.Do(func() { close(a.released) }) }

// Disarm takes the fault away. What it keeps stays kept.
func (a *Armed) Disarm() {
	a.rules.mu.Lock()
	defer a.rules.mu.Unlock()
	a.rules.armed = slices.DeleteFunc(a.rules.armed, func(b *Armed) bool { return a == b })
}

// rules are the armed faults in the order of arming.
type rules struct {
	mu    sync.Mutex
	armed []*Armed
}

func (r *rules) arm(f Fault) *Armed {
	a := &Armed{fault: f, rules: r, reached: make(chan struct{}), released: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = append(r.armed, a)
	return a
}

// take returns the fault that hits c, or nil.
func (r *rules) take(c Call) *Armed {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.armed {
		if !a.fault.selects(c) {
			continue
		}
		a.seen++
		if !a.fault.due(a.seen) {
			continue
		}
		a.fired++
		if a.fired == 1 {
			close(a.reached)
		}
		return a
	}
	return nil
}
