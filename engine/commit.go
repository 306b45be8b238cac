package engine

import (
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// commit makes a record durable. It outlives an interrupt: what was done is recorded.
func (r *run) commit(ctx context.Context, n *node, rec *state.Entry) error {
	return r.commitBy(n, rec, func(change statestore.Change) error { return r.journal.Commit(context.WithoutCancel(ctx), change) })
}

// commitBy is commit in a given way.
func (r *run) commitBy(n *node, rec *state.Entry, commit func(statestore.Change) error) error {
	row, err := rec.Seal(r.w.stage, r.e.Key)
	if err != nil {
		return err
	}
	change := statestore.Change{Put: []statestore.Row{row}}
	r.introduce(&change)
	if err := commit(change); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.enter(n, rec)
	if t := n.task; t != nil && t.with != nil {
		<-t.with.reported
	}
	return nil
}

// commitAhead is commit for a task that computes: those that go on before its result is durable do so as soon as it is
// certain that theirs come after it.
func (r *run) commitAhead(ctx context.Context, t *task, rec *state.Entry) error {
	old := t.n.rec
	nobody := make(chan struct{}) // is waited for
	close(nobody)
	err := r.commitBy(t.n, rec, func(change statestore.Change) error {
		return r.journal.CommitWith(context.WithoutCancel(ctx), change, func() <-chan struct{} {
			r.enter(t.n, rec)
			r.sched.signals <- signal{t: t, passed: true}
			return nobody
		})
	})
	if err != nil && old != nil {
		r.enter(t.n, old)
	}
	return err
}

// enter makes a record that of its node.
func (r *run) enter(n *node, rec *state.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w.owners.Change(n.rec, rec)
	if n.rec = rec; len(rec.Generations) == 0 {
		n.rec = nil
	}
}
