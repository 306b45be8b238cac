package aws

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Gather makes one call of what several callers ask for at the same time. The first caller asks at once; what others ask for
// while that call is under way goes into the next one. The zero Gather is ready to use.
type Gather[I, O any] struct {
	mu      sync.Mutex
	isBusy  bool
	waiting []*question[I, O]
}

// Answer is what one of several questions was answered.
type Answer[O any] struct {
	Value O
	Err   error
}

// question is one that waits for a call.
type question[I, O any] struct {
	in     I
	turn   chan struct{} // closed when its caller is to make the next call
	done   chan struct{} // closed when another caller has made the call
	answer Answer[O]
}

var errGathered = errors.New("a call for others is under way")

// Ask returns the answer to one question. call answers as many of the questions as it takes, the first at least, in their
// order.
func (g *Gather[I, O]) Ask(ctx context.Context, in I, call func(context.Context, []I) []Answer[O]) (O, error) {
	q := &question[I, O]{in: in, turn: make(chan struct{}), done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, q)
	g.next()
	g.mu.Unlock()
	since, over := time.Now(), sync.OnceFunc(reconcile.Yield(ctx))
	defer over()
	select {
	case <-q.turn:
		over()
		reconcile.Waited(ctx, time.Since(since))
		g.lead(ctx, call)
		return q.answer.Value, q.answer.Err
	case <-q.done:
		return q.answer.Value, q.answer.Err
	case <-reconcile.Interrupt(ctx):
		if !g.leave(q) {
			<-q.done // its call was sent, and its sender ends with the interrupt too
			return q.answer.Value, q.answer.Err
		}
		return q.answer.Value, &reconcile.InterruptedError{Why: errGathered}
	case <-ctx.Done():
		g.leave(q)
		return q.answer.Value, context.Cause(ctx)
	}
}

// next gives the first that waits its turn, unless a call is under way. The lock is held.
func (g *Gather[I, O]) next() {
	if !g.isBusy && len(g.waiting) > 0 {
		g.isBusy = true
		close(g.waiting[0].turn)
	}
}

// leave takes a question back, and reports false when its call was sent already.
func (g *Gather[I, O]) leave(q *question[I, O]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, q)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	select {
	case <-q.turn:
		g.isBusy = false
		g.next()
	default:
	}
	return true
}

// lead makes the next call. That the time of its caller ends is no answer for the others: they ask again.
func (g *Gather[I, O]) lead(ctx context.Context, call func(context.Context, []I) []Answer[O]) {
	g.mu.Lock()
	all := slices.Clone(g.waiting)
	g.waiting = nil
	g.mu.Unlock()
	ins := make([]I, len(all))
	for i, q := range all {
		ins[i] = q.in
	}
	answers := call(ctx, ins)
	for i, a := range answers {
		all[i].answer = a
		if i > 0 && a.Err != nil && ctx.Err() != nil {
			all[i].answer.Err = reconcile.WithClass(a.Err, reconcile.Transient)
		}
	}
	for _, q := range all[1:max(len(answers), 1)] {
		close(q.done)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(all[len(answers):], g.waiting...) // those that the call did not take
	g.isBusy = false
	g.next()
}
