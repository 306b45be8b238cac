package edit

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Apply moves the resources and returns the result of the run at the target. Interrupted, or killed, it leaves rows that name each
// other: the same relocation again completes it. What cannot get its owner tag turns everything back.
func (m *Relocation) Apply(ctx context.Context, o execute.RunOptions) (*execute.Result, error) {
	m.o = o
	outer, inner := &m.from, &m.to
	if inner.Stage.String() < outer.Stage.String() {
		outer, inner = inner, outer
	}
	outer.inner, inner.inner = inner, nil
	res, err := outer.Runner().Apply(ctx, outer.plan, o)
	if inner == &m.to {
		return inner.result, err
	}
	return res, err
}

// enter is what the run of one end does once it has its lease.
func (m *Relocation) enter(ctx context.Context, end *relocationEnd, r *execute.Run) (statestore.Change, error) {
	end.run, end.end = r, statestore.Change{}
	if end.inner == nil {
		return end.end, m.carry(ctx)
	}
	var err error
	end.inner.result, err = end.inner.Runner().Apply(ctx, end.inner.plan, m.o)
	return end.end, err
}

// carry moves the resources; both leases are held. The order of its commits is what a kill leaves: first the source says where its
// rows go, then the target has them, then the owner tags change, then the source gives its rows up.
func (m *Relocation) carry(ctx context.Context) error {
	if err := m.announce(ctx); err != nil {
		return err
	}
	if err := m.arrive(ctx); err != nil {
		return err
	}
	tags := reconcile.WithGate(ctx, m.to.run.Draft.Gate)
	errs := make([]error, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) {
		if errs[i] = plan.ErrStopped; !m.stopping() {
			errs[i] = m.to.run.Reported(m.nodes[i].target, func() error { return m.retag(tags, m.nodes[i], true) })
		}
	})
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return m.giveUp(ctx)
	}
	if m.stopping() || ctx.Err() != nil {
		return halfMoved(errs, func(i int) string { return m.nodes[i].target.Plan.From })
	}
	failed := failure(errs, m.from.run.Draft.Redact.Error, func(i int) string { return m.sourceAddress(m.nodes[i]) })
	if len(m.begun) > 0 {
		return failed // rows were moved by an earlier run, and stay
	}
	return errors.Join(failed, m.turnBack(ctx))
}

// stopping reports that one of the two runs was asked to stop.
func (m *Relocation) stopping() bool { return m.from.run.Stopping() || m.to.run.Stopping() }

// announce writes to the source where its rows go.
func (m *Relocation) announce(ctx context.Context) error {
	return m.writeSource(ctx, func(pair relocated) *state.Entry {
		rec := pair.source.Entry.Clone()
		rec.MovingTo = m.to.name(pair.target.Address)
		return rec
	})
}

// writeSource writes the source's rows of what it still has.
func (m *Relocation) writeSource(ctx context.Context, entry func(relocated) *state.Entry) error {
	change := statestore.Change{KeyID: m.from.Runner().Key.ID()}
	for _, pair := range m.nodes {
		if pair.source == nil {
			continue
		}
		if err := m.from.run.Seal(&change, entry(pair)); err != nil {
			return err
		}
	}
	if len(change.Put) == 0 {
		return nil
	}
	return m.from.run.Journal.Commit(context.WithoutCancel(ctx), change)
}

// arrive writes the rows to the target, and with the end of its run that nothing of them is left to do.
func (m *Relocation) arrive(ctx context.Context) error {
	change := statestore.Change{KeyID: m.to.Runner().Key.ID()}
	for _, pair := range m.nodes {
		if m.begun[m.sourceAddress(pair)] {
			continue
		}
		if err := m.to.run.Seal(&change, pair.target.Entry); err != nil {
			return err
		}
	}
	if len(change.Put) == 0 {
		return nil
	}
	return m.to.run.Journal.Commit(context.WithoutCancel(ctx), change)
}

// sourceAddress is where a resource comes from.
func (m *Relocation) sourceAddress(pair relocated) string {
	_, addr, _ := plan.SplitAbroad(pair.target.Plan.From)
	return addr
}

// retag writes the owner tags of one resource's objects: those of the target, or again those of the source.
func (m *Relocation) retag(ctx context.Context, pair relocated, forth bool) error {
	n, j := pair.source, m.from.run.Draft.Jobs
	if n == nil {
		return nil // the tags were written before the source gave it up
	}
	for _, g := range n.Entry.Generations {
		mark := j.Mark(n.Address, g.Number)
		if forth {
			mark = m.to.run.Draft.Jobs.Mark(pair.target.Address, g.Number)
		}
		job, look, err := j.MarkJob(ctx, n, g, mark)
		if err != nil {
			return err
		}
		if job == nil || look.Absent || look.Owner == mark {
			continue
		}
		if answer := judgedHere(j, n, g, job, look); answer.Verdict != adopt.Ours && !m.tagged(pair, g, look) {
			return &adopt.OwnerError{Kind: g.Kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner}
		}
		kind, _ := j.Catalog.Kind(g.Kind)
		if err := execute.WriteMark(ctx, kind, job); err != nil {
			return err
		}
	}
	return nil
}

// giveUp removes the rows from the source, and lets the end of the target's run say that the move is over.
func (m *Relocation) giveUp(ctx context.Context) error {
	err := m.writeSource(ctx, func(pair relocated) *state.Entry {
		return &state.Entry{Address: pair.source.Address, Version: pair.source.Entry.Version}
	})
	if err != nil {
		return err
	}
	if err := m.from.run.Tell(m.from.run.Plan.Actions); err != nil {
		return err
	}
	change := statestore.Change{KeyID: m.to.Runner().Key.ID()}
	for _, pair := range m.nodes {
		rec := pair.target.Entry.Clone()
		rec.MovingFrom = ""
		if err := m.to.run.Seal(&change, rec); err != nil {
			return err
		}
	}
	return m.to.run.Journal.Commit(context.WithoutCancel(ctx), change)
}

// turnBack writes the owner tags of the source again and takes the rows from the target.
func (m *Relocation) turnBack(ctx context.Context) error {
	tags := reconcile.WithGate(ctx, m.from.run.Draft.Gate)
	errs := make([]error, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) { errs[i] = m.retag(tags, m.nodes[i], false) })
	if err := errors.Join(errs...); err != nil {
		return reconcile.WithHint(err, "both stages have it now; the same command finishes the move")
	}
	var change statestore.Change
	for _, pair := range m.nodes {
		change.Put = append(change.Put, statestore.Row{Address: pair.target.Address})
	}
	if err := m.to.run.Journal.Commit(context.WithoutCancel(ctx), change); err != nil {
		return err
	}
	return m.writeSource(ctx, func(pair relocated) *state.Entry { return pair.source.Entry })
}
