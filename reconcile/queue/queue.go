// Package queue orders callers that wait for the same resource: the most urgent goes first, and the earlier of two
// equals.
//
// It knows priorities. It does not know what is waited for, keeps no clock and takes no lock: its owner does.
package queue

import (
	"cmp"
	"container/heap"

	"github.com/athanor-dev/athanor/reconcile"
)

// Waiter is one call that waits for its turn.
type Waiter struct {
	priority reconcile.Priority
	turn     chan struct{}
	arrived  uint64
	index    int // in the heap; below zero once it has left the queue
}

// Turn is closed when it is the waiter's turn.
func (w *Waiter) Turn() <-chan struct{} { return w.turn }

// Queue holds the waiters of one owner, which calls it under a lock of its own. The zero Queue is empty.
type Queue struct {
	waiting waiters
	arrived uint64
}

// Len returns how many wait.
func (q *Queue) Len() int { return len(q.waiting) }

// Join adds a waiter.
func (q *Queue) Join(p reconcile.Priority) *Waiter {
	q.arrived++
	w := &Waiter{priority: p, turn: make(chan struct{}), arrived: q.arrived}
	heap.Push(&q.waiting, w)
	return w
}

// First returns the priority of the waiter whose turn is next, and false when nobody waits.
func (q *Queue) First() (reconcile.Priority, bool) {
	if len(q.waiting) == 0 {
		return reconcile.Priority{}, false
	}
	return q.waiting[0].priority, true
}

// Serve gives the next waiter its turn, and reports false when nobody waits.
func (q *Queue) Serve() bool {
	if len(q.waiting) == 0 {
		return false
	}
	w := q.waiting[0]
	heap.Pop(&q.waiting)
	close(w.turn)
	return true
}

// Leave takes a waiter out of the queue, and reports false when it had its turn already.
func (q *Queue) Leave(w *Waiter) bool {
	if w.index < 0 {
		return false
	}
	heap.Remove(&q.waiting, w.index)
	return true
}

// waiters is a heap whose first element is the most urgent waiter.
type waiters []*Waiter

func (h waiters) Len() int { return len(h) }
func (h waiters) Less(i, j int) bool {
	return cmp.Or(h[i].priority.Compare(h[j].priority), cmp.Compare(h[i].arrived, h[j].arrived)) < 0
}

func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waiters) Push(x any) {
	if w, ok := x.(*Waiter); ok {
		w.index = len(*h)
		*h = append(*h, w)
	}
}

func (h *waiters) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.index = -1
	return w
}
