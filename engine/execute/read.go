package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// reading reads what is used and not owned as late as what it refers to is as declared: right before somebody uses it,
// and then no more.
type reading struct {
	reads []*plan.Node // upstreams first
	look  func(context.Context, *plan.Node) error

	mu  sync.Mutex
	due map[*plan.Node]*readOnce // nil for what need not be read
}

// readOnce is one read of one object.
type readOnce struct {
	once sync.Once
	err  error
	done bool
}

// newReading begins with the reads that planning has left to the run.
func newReading(x *plan.Index, look func(context.Context, *plan.Node) error) *reading {
	r := &reading{look: look, due: map[*plan.Node]*readOnce{}}
	for _, n := range x.Sorted {
		if n.Read == nil || len(n.Ups) == 0 {
			continue
		}
		if r.reads = append(r.reads, n); n.Later {
			r.due[n] = &readOnce{}
		}
	}
	return r
}

// again has those read once more that refer to a node, since that has changed.
func (r *reading) again(changed *plan.Node) {
	for _, n := range r.reads {
		if slices.Contains(n.Ups, changed) {
			r.mu.Lock()
			r.due[n] = &readOnce{}
			r.mu.Unlock()
			r.again(n)
		}
	}
}

// before reads what a node refers to and that is due.
func (r *reading) before(ctx context.Context, n *plan.Node) error {
	for _, up := range n.Ups {
		if up.Read == nil {
			continue
		}
		if err := r.read(ctx, up); err != nil {
			return fmt.Errorf("%s: %w", up.Address, err)
		}
	}
	return nil
}

// read reads a node that is due, after those that it refers to.
func (r *reading) read(ctx context.Context, n *plan.Node) error {
	r.mu.Lock()
	due := r.due[n]
	r.mu.Unlock()
	if due == nil {
		return nil
	}
	due.once.Do(func() {
		if due.err = r.before(ctx, n); due.err == nil {
			due.err = r.look(ctx, n)
		}
		due.done = true
	})
	return due.err
}

// ahead has a preview, or a piece of work, begin with what is due of what its node refers to.
func ahead(r *reading, do preview) preview {
	return func(ctx context.Context, n *plan.Node) (bool, error) {
		if err := r.before(ctx, n); err != nil {
			return false, err
		}
		return do(ctx, n)
	}
}

// doRead is the action of a read that failed, among the failures of a run.
const doRead plan.Action = "read"

// rest reads for the outputs what is due and that no resource has used, as far as what it refers to is done.
func (m *maker) rest(ctx context.Context) {
	for _, n := range m.reading.reads {
		due := m.reading.due[n]
		if due == nil || due.done || slices.ContainsFunc(n.Ups, func(up *plan.Node) bool { return up.Decl != nil && !m.ok(up) }) {
			continue
		}
		if err := m.reading.read(ctx, n); err != nil && !errors.Is(err, reconcile.ErrInterrupted) {
			m.fail(n, doRead, err)
		}
	}
}
