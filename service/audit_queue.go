package service

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// auditQueue holds the entries of one chain that wait to be written. A chain has one end, so that changes of it come one after the
// other: were each entry a change of its own, the starts of hundreds of stages of one stack would wait for each other.
type auditQueue struct {
	turn chan struct{} // of the one that writes

	mu      sync.Mutex
	waiting []*auditWait
}

// auditWait is an entry that waits. It is in the queue, or written is closed, or somebody writes it now.
type auditWait struct {
	entry   storedEntry
	written chan struct{}
	err     error // once written is closed
}

// queue is that of a chain.
func (l *auditLog) queue(stack string) *auditQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[stack]
	if q == nil {
		if l.queues == nil {
			l.queues = map[string]*auditQueue{}
		}
		q = &auditQueue{turn: make(chan struct{}, 1)}
		l.queues[stack] = q
	}
	return q
}

// add returns when an entry is durable. One of those that wait writes the entries of all of them, as soon as the change before has
// ended. One whose context ends does not write; its entry may be written by another one.
func (q *auditQueue) add(ctx context.Context, entry storedEntry, write func([]storedEntry) error) error {
	mine := &auditWait{entry: entry, written: make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, mine)
	q.mu.Unlock()
	select {
	case <-mine.written:
		return mine.err
	case <-ctx.Done():
		q.leave(mine)
		return ctx.Err()
	case q.turn <- struct{}{}:
	}
	defer func() { <-q.turn }()
	select {
	case <-mine.written: // while it waited for its turn
		return mine.err
	default:
	}
	q.mu.Lock()
	all := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	entries := make([]storedEntry, len(all))
	for i, wait := range all {
		entries[i] = wait.entry
	}
	err := write(entries)
	if err != nil && ctx.Err() != nil { // which is the business of this one alone
		q.mu.Lock()
		q.waiting = slices.Concat(all, q.waiting)
		q.mu.Unlock()
		q.leave(mine)
		return errors.Join(ctx.Err(), err)
	}
	for _, wait := range all {
		wait.err = err
		close(wait.written)
	}
	return err
}

// leave takes an entry out that is not being written.
func (q *auditQueue) leave(mine *auditWait) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(wait *auditWait) bool { return wait == mine })
}
