// Package rate finds how often a service may be called, and keeps to it.
//
// A service allows so many calls in a time, seldom publishes how many, and counts the calls of everybody. A limiter is shared by
// all calls that count against one quota. It begins carefully, doubles while nothing is throttled, and after that stays about
// what went through between two refusals. It knows calls, answers and time. It does not know services, nor what a call is.
package rate

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/queue"
)

// Quota is what is published of a service's limit. Its zero fields are not known.
type Quota struct {
	// Rate is the number of calls a second that a limiter begins with, and Burst how many may be made at once.
	Rate, Burst float64
	// Published: Rate is the service's own word for what it allows, so that more is tried seldom.
	Published bool
	// Calls is how many may be made in a Window.
	Calls  int
	Window time.Duration
	// Longest bounds how long the service can ask to be left alone; 0 means 30 s.
	Longest time.Duration
}

const (
	firstRate   = 10                     // calls per second at first, where nothing is published
	firstBurst  = 5                      // calls at once
	doubling    = 8                      // growth per second before the first refusal: e⁸ is 3,000 times
	raising     = 1                      // growth per second while a service allows more than was found
	raisedTrip  = 0.25                   // growth at most, in that case, until the answer to a call that shows it
	slowest     = 0.5                    // calls per second, however often the service throttles
	less        = 0.3                    // of the rate that was refused, at least
	agrees      = 0.2                    // how far a refusal may be from what was found to be expected
	dip         = 0.1                    // of what was found, by which the rate is lower after a refusal
	flat        = 4 * time.Second        // from there to what was found, at least
	flatTrips   = 4                      // times from a call to its answer, until then
	flatCalls   = 25                     // calls until then: few of them are refused of a service that allows few
	flatLongest = 8 * time.Second        // for so many calls
	unsure      = 4                      // times sooner, where little is known
	more        = 1.15                   // of what was found: a service that lets more through was raised
	enough      = 20                     // calls that show it
	usedWithin  = 200 * time.Millisecond // after a call had to wait: a rate that nobody needs does not grow
	idle        = time.Second            // without such a call the service may have saved calls up
	saved       = time.Second            // in which it would have allowed those, as most services count
	firstPause  = 100 * time.Millisecond
	callsEach   = 3                // of a piece of work: its object is read, changed, and read again
	lastPause   = 5 * time.Second  // between the calls that try whether the service answers again
	longest     = 30 * time.Second // that a service can ask for
)

// Limiter holds the calls under one quota to the rate that it finds. It is safe for concurrent use.
type Limiter struct {
	quota Quota

	mu      sync.Mutex
	waiting queue.Queue
	timer   *time.Timer // serves those who wait; nil: nobody does
	rate    float64     // calls per second
	burst   float64
	tokens  float64       // for calls whose turn comes
	due     float64       // those of them that are sent: no more of them at once than the service would take
	at      time.Time     // when tokens were counted
	quiet   time.Time     // until then the service wants to be left alone
	alone   time.Duration // that it asked for, with the last refusal

	begun   uint64        // calls
	trip    time.Duration // from a call to its answer, smoothed
	grown   time.Time     // when the rate last grew
	waited  time.Time     // when a call last had to wait
	refused refusal       // the last one
	count   count         // of calls that went through since
	found   float64       // calls per second that the service allows; 0: not known
	sure    bool          // that it is found, by enough calls between two refusals
	climbed time.Duration // in which the rate grew since the last refusal
	moved   time.Time     // when a call last succeeded

	left  int // calls in the window
	until time.Time
	out   int // calls under way, which the service may not have counted yet
}

// count is from where the calls are counted that a service allows.
type count struct {
	from  time.Time
	begun uint64        // calls before
	saved time.Duration // in which the service would have allowed those that it may have saved up by then
}

// refusal is when a service throttled, and what was under way then.
type refusal struct {
	at    time.Time     // zero: it never did
	begun uint64        // calls that had begun: whatever becomes of them is part of this refusal
	pause time.Duration // between single calls until one succeeds; 0 once one did
}

// New returns a limiter that begins with what is published.
func New(q Quota) *Limiter {
	l := &Limiter{quota: q, rate: q.Rate, burst: q.Burst, left: q.Calls}
	if l.rate == 0 {
		l.rate, l.burst = firstRate, firstBurst
	}
	if l.quota.Longest == 0 {
		l.quota.Longest = longest
	}
	l.burst = max(l.burst, 1)
	l.tokens, l.due = l.burst, l.burst
	l.at = time.Now()
	l.moved, l.count = l.at, count{from: l.at, saved: saved}
	if q.Published {
		l.found, l.sure, l.count.saved = l.rate, true, seconds(l.burst/l.rate)
		l.climbed = l.flat()
	}
	return l
}

// errTurn is what a call waits for that the service would throttle.
var errTurn = errors.New("the service limits how often it is called")

// Wait blocks until a call may be made. Who waits goes on in the order of priority.
func (l *Limiter) Wait(ctx context.Context) error {
	l.mu.Lock()
	w := l.waiting.Join(reconcile.PriorityOf(ctx))
	l.serve()
	l.mu.Unlock()
	select {
	case <-w.Turn():
		return ctx.Err()
	default:
	}
	defer reconcile.Yield(ctx)()
	since := time.Now()
	defer func() { reconcile.WaitedForService(ctx, time.Since(since)) }()
	select {
	case <-w.Turn():
		return ctx.Err()
	case <-reconcile.Interrupt(ctx):
		l.forgo(w)
		return &reconcile.InterruptedError{Why: errTurn}
	case <-ctx.Done():
		l.forgo(w)
		return context.Cause(ctx)
	}
}

// urge gives a call whose turn it is the priority of those that wait behind it: while the service limits how often it is called, a
// turn that is not used soon makes all of them wait longer.
func (l *Limiter) urge(ctx context.Context) context.Context {
	p := reconcile.PriorityOf(ctx)
	l.mu.Lock()
	rest := time.Duration(float64(callsEach*l.waiting.Len()) / l.pace() * float64(time.Second))
	l.mu.Unlock()
	if rest <= p.Rest {
		return ctx
	}
	p.Rest = rest
	return reconcile.WithPriority(ctx, p)
}

// forgo takes a call out of the queue, or gives the token back that it was given in the same instant.
func (l *Limiter) forgo(w *queue.Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.waiting.Leave(w) {
		l.tokens++
		l.serve()
	}
}

// serve lets calls through that may be made now, and sees to the next. The lock is held.
func (l *Limiter) serve() {
	now := time.Now()
	l.refill(now)
	for l.waiting.Len() > 0 {
		pause := l.pause(now)
		if pause > 0 {
			l.waited = now
			l.wake(pause)
			return
		}
		l.tokens--
		l.left--
		l.waiting.Serve()
	}
}

// wake serves again after a pause. The lock is held.
func (l *Limiter) wake(pause time.Duration) {
	if l.timer != nil {
		l.timer.Reset(pause)
		return
	}
	l.timer = time.AfterFunc(pause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.serve()
	})
}

// pause is how long it takes until a call may be made. The lock is held.
func (l *Limiter) pause(now time.Time) time.Duration {
	pause := l.quiet.Sub(now)
	if l.tokens < 1 {
		pause = max(pause, time.Duration(math.Ceil((1-l.tokens)/l.pace()*float64(time.Second))))
	}
	if l.quota.Calls > 0 {
		if !now.Before(l.until) {
			l.left, l.until = l.quota.Calls, now.Add(l.quota.Window)
		}
		if l.left <= 0 {
			pause = max(pause, l.until.Sub(now))
		}
	}
	return pause
}

// pace is the rate of now: single calls, until one succeeds again. The lock is held.
func (l *Limiter) pace() float64 {
	if l.refused.pause > 0 {
		return min(l.rate, 1/l.refused.pause.Seconds())
	}
	return l.rate
}

// refill counts the tokens up to now. The lock is held.
func (l *Limiter) refill(now time.Time) {
	if passed := now.Sub(l.at); passed > 0 {
		l.at = now
		more := passed.Seconds() * l.pace()
		l.tokens, l.due = min(l.tokens+more, l.burst), min(l.due+more, 2*l.burst)
	}
}

// ready reports whether a call whose turn came may be sent now. Between its turn and this it waits for its place among the calls of
// all services: of those that wait there the service must not get more at once than it would take.
func (l *Limiter) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.refill(now)
	if l.due < 1 || now.Before(l.quiet) {
		return false
	}
	l.due--
	return true
}

// Call is one call under way.
type Call struct {
	l      *Limiter
	number uint64
	sent   time.Time
	rate   float64 // of then
}

// Begin notes that a call is sent now.
func (l *Limiter) Begin() *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	l.out++
	return &Call{l, l.begun, time.Now(), l.rate}
}

// Answered notes an answer that is no refusal: the rate may grow.
func (c *Call) Answered() {
	l, now := c.l, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	l.moved = now
	if took := now.Sub(c.sent); l.trip == 0 {
		l.trip = took
	} else {
		l.trip += (took - l.trip) / 8
	}
	l.refill(now)
	if c.number > l.refused.begun {
		l.refused.pause = 0
	}
	l.grow(c, now)
	if l.waiting.Len() > 0 {
		l.serve()
	}
}

// grow raises the rate after an answer, if calls wait for it. The lock is held.
func (l *Limiter) grow(c *Call, now time.Time) {
	since := min(now.Sub(l.grown), idle)
	l.grown = now
	if unused := now.Sub(l.waited); l.waiting.Len() == 0 && unused > usedWithin {
		if unused > idle {
			l.count = count{from: c.sent, begun: c.number, saved: saved}
		}
		return
	}
	if calls, took := l.through(c); l.found > 0 && calls >= enough && calls > more*l.found*took {
		l.found, l.count = 0, count{from: now, begun: l.begun, saved: saved}
	}
	switch {
	case l.found > 0:
		l.climbed += since
		l.climb()
	case l.waiting.Len() == 0:
	case l.refused.at.IsZero():
		l.rate += min(doubling, 1/l.trip.Seconds())
		l.burst = max(l.burst, l.rate/10)
	default:
		l.rate *= 1 + min(raising, raisedTrip/l.trip.Seconds())*since.Seconds()
		l.burst = max(l.rate/5, 1)
	}
}

// climb sets the rate by the time since the refusal: it grows fast while it is below what was found, slowly about that, and
// faster the longer the service allows more, as CUBIC does in TCP (RFC 9438). The lock is held.
func (l *Limiter) climb() {
	x := l.climbed.Seconds()/l.flat().Seconds() - 1
	l.rate = max(l.found*(1+dip*x*x*x), slowest)
	l.burst = max(l.rate/5, 1)
}

// flat is the time from a refusal until the rate is what was found. It is longer where a refusal is known late or costs much. The lock is held.
func (l *Limiter) flat() time.Duration {
	trip := max(l.trip, l.alone)
	d := max(flat, flatTrips*trip)
	if !l.sure {
		d = max(flat/unsure, flatTrips/2*trip)
	}
	return max(d, min(seconds(flatCalls/l.found), flatLongest))
}

// through returns how many calls before one the service allowed, and in how many seconds. The lock is held.
func (l *Limiter) through(c *Call) (calls, took float64) {
	if c.number <= l.count.begun {
		return 0, 0
	}
	return float64(c.number - l.count.begun - 1), (c.sent.Sub(l.count.from) + l.count.saved).Seconds()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Failed notes a call without an answer, of which nothing is learned.
func (c *Call) Failed() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.out--
}

// Unsent notes a call that never reached the service, which counted nothing: its turn is another call's.
func (c *Call) Unsent() {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	l.left++
	l.tokens++
	l.due++
	l.serve()
}

// Throttled notes that the service refused a call, and how long it wants to be left alone. It reports how long ago a call under
// the same quota succeeded.
func (c *Call) Throttled(after time.Duration) (stuck time.Duration) {
	l, now := c.l, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	l.alone = min(after, l.quota.Longest)
	if until := now.Add(l.alone); l.alone > 0 && l.quiet.Before(until) {
		l.quiet = until
	}
	l.refill(now)
	switch fresh := c.number > l.refused.begun; {
	case fresh && l.refused.pause > 0: // it was tried too early
		l.refused.pause = min(2*l.refused.pause, lastPause)
		l.refused.at, l.refused.begun, l.tokens, l.due = now, l.begun, 0, 0
	case fresh:
		l.slow(c, now)
	}
	return now.Sub(l.moved)
}

// slow takes the rate back to a little below what went through since the refusal before: the service had nothing left then,
// and has nothing left now, so that this is what one allows that saves calls up. One that counts the calls of a second allows
// the rate of now, which is seldom much more. A few calls say little: what was found before, or is published, stays where it lies
// between what they would be if the service had saved up as much as it can, and if it had nothing left when they were begun. Where
// nothing is known the least of that is where the rate begins to grow again. The lock is held.
func (l *Limiter) slow(c *Call, now time.Time) {
	calls, took := l.through(c)
	first, found := l.refused.at.IsZero() && l.found == 0, c.rate/2
	l.sure = calls >= enough && l.count.saved == 0
	switch {
	case l.found > 0 && !l.sure: // what is known is kept as far as it agrees
		found = l.found
		if took > 0 {
			found = max(found, calls/took)
		}
		if spent := took - l.count.saved.Seconds(); spent > 0 {
			found = min(found, (calls+1)/spent) // if nothing was saved up
		}
	case calls < 2 || took <= 0:
	case l.found == 0 && first:
		found = calls / took
	default:
		found = (calls/took + c.rate) / 2
	}
	least := less
	if first {
		least /= 3 // the rate had doubled again and again
	}
	found = max(min(found, c.rate), least*c.rate, slowest)
	pause := max(firstPause, l.trip/2)
	if math.Abs(found-l.found) < agrees*l.found {
		pause = seconds(2 / found)
	}
	l.found, l.climbed = found, 0
	l.climb()
	if first && l.alone == 0 {
		l.found = 0 // the next refusal tells: somebody may have used up just before what the service had saved
	}
	l.tokens, l.due = 0, 0
	l.refused = refusal{at: now, begun: l.begun, pause: pause}
	l.count = count{from: now, begun: l.begun}
}

// Told believes what the service says of its window with an answer, before that is noted: how many calls are left of the window,
// and when the next one begins.
func (l *Limiter) Told(left int, reset time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.until = max(left-max(l.out-1, 0), 0), time.Now().Add(min(reset, l.quota.Window))
	if l.waiting.Len() > 0 {
		l.serve()
	}
}
