package execute

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// preview reads what a task is about before any hook runs, and changes nothing. It reports whether there is anything
// to do, and an error where the plan does not permit what reading calls for.
type preview func(context.Context, *plan.Node) (bool, error)

// previewMake reads the object of a declared node as its work will.
func (m *maker) previewMake(ctx context.Context, n *plan.Node) (bool, error) {
	if n.Spec.Recorded || n.Unsought || n.ReplacedWhole() {
		return true, nil // there is nothing to read, or what there is was judged by the plan as another object
	}
	if n.Doing() == plan.Create {
		if n.Present() != nil {
			return true, nil // a creation that was begun goes on
		}
		return true, m.previewCreate(ctx, n)
	}
	g, job, err := m.presentJob(ctx, n)
	if err != nil {
		return false, err
	}
	look, err := observe.See(ctx, n.Kind, job)
	switch {
	case err != nil:
		return false, err
	case look.NotYet:
		return true, nil
	case look.Absent:
		return true, m.permits(n, m.proposed(n, operation.Create, g, look))
	}
	if _, _, err := m.allowed(n, job, g, look); err != nil {
		return false, err
	}
	if n.Doing() == plan.Replace && !n.Plan.May {
		return true, nil // nothing of it is set in place
	}
	err = m.permitSteps(n, job, g, look)
	if errors.Is(err, reconcile.ErrReadAgain) {
		err = nil // its work reads until that is certain
	}
	return n.Doing() != plan.Update || len(look.Steps) > 0, err
}

// previewCreate finds out whether something is there already that the plan did not see.
func (m *maker) previewCreate(ctx context.Context, n *plan.Node) error {
	job, err := m.DeclaredJob(ctx, n, planner.Target{Number: n.NextNumber(), Final: n.Files == plan.FilesKnown})
	if err != nil {
		return err
	}
	if o := n.Object(); !job.Named && o != nil {
		job.Name = o.Name
	}
	if !planner.Findable(job) {
		return nil
	}
	look, err := observe.See(ctx, n.Kind, job)
	if err != nil || look.Absent {
		return err
	}
	g := &state.Generation{Number: n.NextNumber(), Kind: n.Spec.Type, Location: n.Access.Place}
	_, _, err = m.allowed(n, job, g, look)
	return err
}

// previewDrop reads the objects that are deleted before a new one is made.
func (c *creator) previewDrop(ctx context.Context, n *plan.Node) (bool, error) {
	if err := c.compareLate(ctx, n); n.Kept || err != nil {
		return false, err
	}
	_, err := c.deletable(ctx, n, c.goesFirst(n, n.Entry))
	return true, err // the new one is made in any case
}

// previewDelete reads all objects of an undeclared node.
func (d *deleter) previewDelete(ctx context.Context, n *plan.Node) (bool, error) {
	return d.deletable(ctx, n, n.Entry.Generations)
}

// deletable reports whether any of several generations is there, and an error where one may not be deleted.
func (d *deleter) deletable(ctx context.Context, n *plan.Node, gens []*state.Generation) (there bool, err error) {
	for _, g := range gens {
		kind, err := d.Cloud.KindOf(n.Address, g.Kind)
		if err != nil {
			return false, err
		}
		if g.Retain || kind.Spec().Recorded {
			there = true
			continue
		}
		if d.NeverBegan(g) || d.GoesWith(n, g.Number) != nil {
			continue
		}
		job, err := d.deletionJob(ctx, n, g)
		if err != nil {
			return false, err
		}
		gone, err := d.checkDelete(ctx, n, g, kind, job)
		if err != nil {
			return false, err
		}
		there = there || !gone
	}
	return there, nil
}

// changedByHook names the hook after which a resource differs from what the plan announced: reading had shown it as
// announced before.
func changedByHook(err error, before []graph.Hook) error {
	if !errors.Is(err, operation.ErrChanged) || len(before) == 0 {
		return err
	}
	last := before[len(before)-1]
	return fmt.Errorf("after its before-hook %s: %w", nameOf(last), err)
}

func nameOf(h graph.Hook) string {
	if h.Run != "" {
		return h.Run
	}
	return h.Func
}
