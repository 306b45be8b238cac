package calls

import (
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/queue"
)

// holdPart is the part of the time of a call for which its slot may be held.
const holdPart = 20

// leastHeld is the time of a call below which no slot is held: local calls are over before a timer would tell.
const leastHeld = time.Millisecond

// slots are the places of calls in flight. Waiting callers get one in the order of priority.
//
// The most urgent call is often the one that follows the call which has just ended, and comes a moment later: a resource is
// read, created and read again, and the next of a chain begins. A slot that was handed to somebody else at once would make
// the longest chain wait for a whole call of another resource each time. So a slot is held for a moment when all who wait are
// less urgent by more than a call.
type slots struct {
	mu      sync.Mutex
	free    int
	held    []*hold
	waiting queue.Queue
}

// hold is a slot that is held after a call which took a time. Its timer ends it unless another call takes the slot.
type hold struct {
	took  time.Duration
	timer *time.Timer
}

// take takes a slot, or returns the waiter that gets one in its turn.
func (s *slots) take(p reconcile.Priority) *queue.Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 {
		s.free--
		return nil
	}
	first, _ := s.waiting.First()
	for i, h := range s.held {
		if p.Rest-first.Rest > h.took {
			h.timer.Stop()
			s.held = slices.Delete(s.held, i, i+1)
			return nil
		}
	}
	return s.waiting.Join(p)
}

// forgo ends the wait of a waiter. A slot that it was given in the same instant goes to the next.
func (s *slots) forgo(w *queue.Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting.Leave(w) {
		s.next()
	}
}

// release gives a slot back that no call was made in.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
}

// giveBack gives the slot of a call back that took a time.
func (s *slots) giveBack(p reconcile.Priority, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, waits := s.waiting.First()
	if !waits || took < leastHeld || p.Rest-first.Rest <= took {
		s.next()
		return
	}
	h := &hold{took: took}
	h.timer = time.AfterFunc(took/holdPart, func() { s.end(h) })
	s.held = append(s.held, h)
}

// end gives a held slot to the next, unless a call has taken it.
func (s *slots) end(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.held, h); i >= 0 {
		s.held = slices.Delete(s.held, i, i+1)
		s.next()
	}
}

// next gives a slot to the next who waits. The lock is held.
func (s *slots) next() {
	if !s.waiting.Serve() {
		s.free++
	}
}
