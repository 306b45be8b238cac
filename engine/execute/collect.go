package execute

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// collecting deletes what is condemned and what is no longer declared.
type collecting struct {
	*deleter
	*plan.Chosen
	plan.DevRules
	works    *worker
	leftover []*plan.Node
	stored   *planner.Stored // what needs what, as it was before the run
}

// collect takes away what is condemned and what is no longer declared, those that need others first, as long
// as nothing that failed or was blocked depends on it.
func (c *collecting) collect(ctx context.Context) {
	kept := c.stillNeeded()
	drops := map[string]*task{}
	var tasks []*task
	preview, do := c.previewDelete, func(t *task) (bool, error) { // one for all tasks, of which there can be very many
		return c.works.work(ctx, t, t.first, t.work)
	}
	add := func(n *plan.Node, work func(context.Context, *plan.Node) (bool, error)) {
		if c.handled(n) {
			return
		}
		if kept[n.Address] {
			c.keep(n)
			return
		}
		t := &task{n: n, drop: true, collecting: true, first: preview, work: work, do: do}
		if n.Decl == nil {
			c.tasks[n] = t
		}
		tasks, drops[n.Address] = append(tasks, t), t
	}
	drop, dropBeside, forget, dropCondemned := ending(c.drop), ending(c.dropBeside), ending(c.forget), ending(c.dropCondemned)
	for _, n := range c.leftover {
		switch {
		case !c.IsSelected(n):
		case n.Beside:
			if plan.IsDeleted(n) {
				add(n, dropBeside)
			}
		case plan.IsDeleted(n):
			add(n, drop)
		case n.Plan == nil:
		case n.Doing() == plan.Forget:
			add(n, forget)
		case n.Doing() == plan.Blocked:
			c.settled(n, c.Sleeps(n))
		}
	}
	for _, n := range c.Declared {
		if n.Was != nil && n.Doing() != plan.Replace {
			continue // what was condemned before is the next deploy's
		}
		if n.Entry != nil && len(c.Collectable(n.Entry)) > 0 && c.ok(n) && c.IsSelected(n) {
			add(n, dropCondemned)
		}
	}
	if err := c.part(ctx, drops); err != nil {
		c.failures = append(c.failures, &ResourceError{Address: "record", Action: plan.Delete, Err: err})
		return
	}
	for _, t := range drops {
		for _, a := range dropNeeds(t.n) {
			t.before(drops[a], false)
		}
		for _, a := range t.n.Holding {
			if held := drops[a]; held != nil && !slices.Contains(dropNeeds(held.n), t.n.Address) {
				held.before(t, false)
			}
		}
		if with := drops[t.n.Entry.Options().DeletedWith]; with != nil {
			with.before(t, false)
		}
		if t.n.Decl == nil && len(c.CutBetween(t.n)) > 0 {
			tasks = append(tasks, c.untie(ctx, t.n, drops))
		}
	}
	c.works.schedule(tasks)
}

// part takes what is deleted with another off the other's needs, so that the other's row can go first.
func (c *collecting) part(ctx context.Context, drops map[string]*task) error {
	change := statestore.Change{}
	for _, t := range drops {
		with := t.n.Entry.Options().DeletedWith
		if t.n.Decl != nil || drops[with] == nil || !slices.Contains(t.n.Entry.Needs, with) {
			continue
		}
		rec := t.n.Entry.Clone()
		rec.Needs = slices.DeleteFunc(slices.Clone(rec.Needs), func(a string) bool { return a == with })
		if err := c.Seal(&change, rec); err != nil {
			return err
		}
		t.n.Entry = rec
	}
	if len(change.Put) == 0 {
		return nil
	}
	c.introduce(&change)
	return c.ledger.journal.Commit(context.WithoutCancel(ctx), change)
}

// untie empties the late paths through which a cycle was closed, before any member of it goes.
func (c *collecting) untie(ctx context.Context, n *plan.Node, drops map[string]*task) *task {
	t := &task{n: n, drop: true}
	cut := c.CutBetween(n)
	t.do = func(*task) (bool, error) {
		err := c.emptied(reconcile.WithPriority(ctx, t.priority()), n, cut)
		if err != nil {
			c.failUpdate(n, err, c.setStatus)
		}
		return false, err
	}
	for up := range cut {
		t.before(drops[up], false)
	}
	t.before(drops[n.Address], false)
	return t
}

// emptied empties them with what is in state, and touches nothing else of the object: it may differ in what only a
// build or a replacement could change, and it is about to be deleted.
func (d *deleter) emptied(ctx context.Context, n *plan.Node, cut map[string][]tree.Path) error {
	rec := n.Entry.Clone()
	g := rec.Live()
	if g == nil || n.Kind == nil {
		return nil
	}
	a, err := d.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return err
	}
	job := d.RecordedJob(n, a, g)
	job.Props, job.From = withoutCut(&n.Declaration, rec.Props, cut), plan.AnyMap(rec.Props).(map[string]any)
	rec.Needs = slices.DeleteFunc(slices.Clone(rec.Needs), func(a string) bool { return cut[a] != nil })
	out, err := n.Kind.Settle(ctx, job, reconcile.Hooks{
		Intend: func(context.Context) error { return plan.ErrStopped },
		Permit: func(look reconcile.Look) error {
			answer := adopt.Judge(d.EvidenceOf(n, n.Kind.Spec(), job, look, g))
			if answer.Verdict != adopt.Ours {
				return plan.OwnerError(g.Kind, look, answer)
			}
			return nil
		},
	})
	if err != nil && !errors.Is(err, plan.ErrStopped) {
		return err
	}
	if err == nil {
		g.Attributes = out.Attrs
	}
	rec.Props, rec.Cut = job.Props, maps.Clone(rec.Cut)
	maps.DeleteFunc(rec.Cut, func(a string, _ []tree.Path) bool { return cut[a] != nil })
	if err := d.commit(ctx, n, rec); err != nil {
		return err
	}
	d.recount("", plan.Update)
	return nil
}

// withoutCut returns props without the paths through which a cycle was opened.
func withoutCut(n *plan.Declaration, props map[string]any, cut map[string][]tree.Path) map[string]any {
	for _, up := range slices.Sorted(maps.Keys(cut)) {
		for _, p := range cut[up] {
			props, _ = tree.Without(props, n.EmptyAt(props, p)).(map[string]any)
		}
	}
	return props
}

// dropNeeds are the addresses that may go only after this one. What is deleted with another goes after it.
func dropNeeds(n *plan.Node) []string {
	if n.Entry == nil {
		return nil
	}
	with := n.Entry.Options().DeletedWith
	return slices.DeleteFunc(slices.Clone(n.Entry.Needs), func(a string) bool {
		_, cut := n.Entry.Cut[a]
		return a == with || a == n.Address || cut
	})
}

// stillNeeded are the addresses that something which failed, was blocked or was not started depends on.
func (c *collecting) stillNeeded() map[string]bool {
	kept := map[string]bool{}
	var visit func(addrs []string)
	visit = func(addrs []string) {
		for _, addr := range addrs {
			n, seen := c.Nodes[addr], kept[addr]
			if kept[addr] = true; !seen && n != nil {
				visit(n.Needs)
				visit(c.stored.NeededBefore[addr])
			}
		}
	}
	for _, n := range slices.Concat(c.Declared, c.leftover) {
		if n.Plan != nil && (n.Decl != nil && !c.ok(n) || n.Doing() == plan.Blocked || n.Held) {
			visit(needed(n))
		}
	}
	for addr := range c.stored.Damaged {
		visit(c.stored.NeededBefore[addr])
	}
	return kept
}
