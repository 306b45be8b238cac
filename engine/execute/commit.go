package execute

import (
	"context"
	"fmt"
	"sync"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// ledger makes durable what a run does: each entry in one commit, which the run outlives nowhere.
type ledger struct {
	journal *statestore.Journal
	stage   statestore.Stage
	key     *seal.Key
	owners  *state.Owners
	index   *plan.Index

	mu sync.Mutex // of the entries of nodes
	// tasks are those that work on nodes now. The phases of a run write them, between what runs at once.
	tasks map[*plan.Node]*task
	// first is what the first commit tells of the whole stage; nil once it has.
	first map[string][]byte
}

// introduce adds to the first change of a run what it tells of the whole stage, and the key that seals it.
func (l *ledger) introduce(change *statestore.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		return
	}
	change.KeyID = l.key.ID()
	if len(l.first) > 0 {
		change.Meta = l.first
	}
	l.first = nil
}

// commit makes a state entry durable. It outlives an interrupt: what was done reaches state.
func (l *ledger) commit(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	return l.commitBy(n, rec, func(change statestore.Change) error { return l.journal.Commit(context.WithoutCancel(ctx), change) })
}

// commitBy is commit in a given way.
func (l *ledger) commitBy(n *plan.Node, rec *state.Entry, commit func(statestore.Change) error) error {
	row, err := rec.Seal(l.stage, l.key)
	if err != nil {
		return err
	}
	change := statestore.Change{Put: []statestore.Row{row}}
	l.introduce(&change)
	if err := commit(change); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	l.enter(n, rec)
	if t := l.tasks[n]; t != nil && t.with != nil {
		<-t.with.reported
	}
	return nil
}

// commitAhead is commit for a task that computes: those that go on before its result is durable do so as soon as it is
// certain that theirs come after it.
func (l *ledger) commitAhead(ctx context.Context, t *task, rec *state.Entry) error {
	old := t.n.Entry
	nobody := make(chan struct{}) // is waited for
	close(nobody)
	err := l.commitBy(t.n, rec, func(change statestore.Change) error {
		return l.journal.CommitWith(context.WithoutCancel(ctx), change, func() <-chan struct{} {
			l.enter(t.n, rec)
			t.sched.signals <- signal{t: t, passed: true}
			return nobody
		})
	})
	if err != nil && old != nil {
		l.enter(t.n, old)
	}
	return err
}

// enter makes a record that of its node.
func (l *ledger) enter(n *plan.Node, rec *state.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners.Change(n.Entry, rec)
	if n.Entry = rec; len(rec.Generations) == 0 {
		n.Entry = nil
	}
}

// Seal adds a record to a change.
func (l *ledger) Seal(change *statestore.Change, rec *state.Entry) error {
	row, err := rec.Seal(l.stage, l.key)
	if err == nil {
		change.Put = append(change.Put, row)
	}
	return err
}
