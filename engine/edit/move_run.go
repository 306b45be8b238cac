package edit

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// apply moves the rows in one commit, rewrites the owner tags of their objects, and when all of it is done takes from
// the rows the memory of where they came from. An owner tag that cannot be written turns everything back.
func (m *moving) apply(ctx context.Context, r *execute.Run) (statestore.Change, error) {
	change := statestore.Change{Move: m.w.Moved, KeyID: r.Runner.Key.ID()}
	for _, rec := range m.records() {
		if err := r.Seal(&change, rec); err != nil {
			return change, err
		}
	}
	if len(m.w.Moved) > 0 {
		if err := r.Journal.Commit(context.WithoutCancel(ctx), change); err != nil {
			return change, err
		}
	}
	errs := make([]error, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) {
		if errs[i] = plan.ErrStopped; !r.Stopping() {
			errs[i] = r.Reported(m.nodes[i], func() error { return execute.RemarkAll(ctx, r.Draft.Jobs, m.nodes[i], m.nodes[i].Address) })
		}
	})
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return m.done(r)
	}
	if r.Stopping() || ctx.Err() != nil {
		return statestore.Change{}, halfMoved(errs, func(i int) string { return m.nodes[i].Address })
	}
	failed := failure(errs, r.Draft.Redact.Error, func(i int) string { return m.nodes[i].From })
	if len(m.begun) > 0 {
		return statestore.Change{}, failed // the rows were moved by an earlier run, and stay
	}
	return statestore.Change{}, errors.Join(failed, m.undo(ctx, r))
}

// records are those that a move changes.
func (m *moving) records() []*state.Entry {
	var records []*state.Entry
	for _, n := range m.nodes {
		records = append(records, n.Entry)
	}
	return append(records, m.others...)
}

// done forgets where the rows came from: everything carries its new address.
func (m *moving) done(r *execute.Run) (statestore.Change, error) {
	end := statestore.Change{KeyID: r.Runner.Key.ID()}
	for _, n := range m.nodes {
		rec := n.Entry.Clone()
		if last := len(rec.Former) - 1; last >= 0 && rec.Former[last] == n.From {
			rec.Former = rec.Former[:last]
		}
		rec.MovingFrom = ""
		if err := r.Seal(&end, rec); err != nil {
			return end, err
		}
	}
	return end, nil
}

// undo writes the former owner tags and moves the rows back. An object whose tag cannot be written back is remembered
// with the tags that it may have, so that the next deploy does it.
func (m *moving) undo(ctx context.Context, r *execute.Run) error {
	failed := make([]bool, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) {
		failed[i] = execute.RemarkAll(ctx, r.Draft.Jobs, m.nodes[i], m.nodes[i].From) != nil
	})
	back := statestore.Change{Move: map[string]string{}}
	for from, to := range m.w.Moved {
		back.Move[to] = from
	}
	for i, n := range m.nodes {
		rec := m.was[n.From].Clone()
		if failed[i] {
			rec.Former = append(slices.Clone(rec.Former), n.Address)
		}
		if err := r.Seal(&back, rec); err != nil {
			return err
		}
	}
	for _, rec := range m.others {
		if err := r.Seal(&back, m.was[rec.Address]); err != nil {
			return err
		}
	}
	return r.Journal.Commit(context.WithoutCancel(ctx), back)
}

// failure says what could not be tagged, by the addresses that the errors belong to.
func failure(errs []error, redact func(error) error, address func(i int) string) error {
	e := &plan.RefusedError{}
	for i, err := range errs {
		if err != nil && !errors.Is(err, plan.ErrStopped) {
			e.Problems = append(e.Problems, plan.Problem{Address: address(i), Err: redact(err)})
		}
	}
	return e
}

// halfMoved says that a move was stopped in the middle, and of which addresses.
func halfMoved(errs []error, address func(i int) string) error {
	var left []string
	for i, err := range errs {
		if err != nil {
			left = append(left, address(i))
		}
	}
	slices.Sort(left)
	return &plan.HalfMovedError{Addresses: left}
}
