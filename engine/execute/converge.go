package execute

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// converging brings up to date what was reconciled with values that have changed since.
type converging struct {
	*maker
	*plan.Chosen
	stopping func() bool
}

// converge compares again what was reconciled with values that have changed since: members of cycles, whose late
// paths were left out or held older values, what went on as soon as an upstream was created, and what needs something
// that was changed in this run. It sweeps until nothing differs, at most (number of such nodes + 2) times.
func (c *converging) converge(ctx context.Context) {
	loose := c.loose()
	last := map[*plan.Node]map[string]any{}
	for sweep := 0; len(loose) > 0; sweep++ {
		moved := false
		for _, n := range loose {
			if c.stopping() || !c.ok(n) {
				continue
			}
			changed, err := c.resettle(ctx, n, last, sweep > len(loose)+1)
			if err != nil {
				c.failUpdate(n, err, c.demote)
			}
			moved = moved || changed
		}
		if !moved {
			return
		}
	}
}

// loose returns the nodes that may have been reconciled with values that are not final, upstreams first.
func (c *converging) loose() []*plan.Node {
	var loose []*plan.Node
	moved := map[*plan.Node]bool{}
	for _, n := range c.Sorted {
		if n.Decl == nil || !c.ok(n) || !c.IsSelected(n) || c.Sleeps(n) {
			continue
		}
		is := len(n.Cut) > 0 || slices.ContainsFunc(n.Ups, func(up *plan.Node) bool {
			return moved[up] || up.Decl != nil && up.Doing() != plan.Unchanged && up.Doing() != plan.Wait
		})
		if is && convergesLater(n) {
			loose = append(loose, n)
			moved[n] = true
		}
	}
	return loose
}

// convergesLater reports whether values that the node is reconciled with can change in the same run.
func convergesLater(n *plan.Node) bool { return len(n.Uses()) > 0 }

// resettle reconciles one node again if its props differ from those it was reconciled with.
func (c *converging) resettle(ctx context.Context, n *plan.Node, last map[*plan.Node]map[string]any, tooOften bool) (bool, error) {
	if err := c.reading.before(ctx, n); err != nil {
		return false, err
	}
	resolved, err := c.Resolve(ctx, n.Props)
	if err != nil {
		return false, err
	}
	now, _ := resolved.Tree.(map[string]any)
	for p := range resolved.Unknown {
		now, _ = tree.Without(now, p).(map[string]any) // left out as long as it is not known
	}
	settled := map[string]any(nil)
	if n.Entry != nil {
		settled = n.Entry.Props
	}
	for p, v := range n.Carried {
		now = plan.WithValue(now, p, v)
	}
	if tree.Equal(plan.AnyMap(now), plan.AnyMap(settled)) {
		return false, nil
	}
	if tooOften {
		return false, restless(n, last[n], now)
	}
	before := n.Doing()
	last[n], n.Changed = now, nil
	n.As = plan.Update
	_, err = c.makeLive(ctx, n)
	n.As = before
	if len(n.Changed) > 0 {
		c.reading.again(n)
	}
	if err != nil || len(n.Changed) == 0 {
		return err == nil, err
	}
	if before == plan.Unchanged {
		n.As = plan.Update
		c.recount(plan.Unchanged, plan.Update)
	}
	c.emit(plan.Event{
		Type: plan.EventDone, Address: n.Address, Kind: n.KindName(), Action: plan.Update, Status: plan.StatusDone,
		Note: "converged", Paths: pathTexts(n.Changed),
	})
	return true, nil
}

// restless names the path that keeps changing and its last two values.
func restless(n *plan.Node, before, now map[string]any) error {
	e := &ConvergeError{Path: n.Address}
	plan.Leaves(now, func(p tree.Path, v any) {
		if had, _ := tree.Get(before, p); e.Last == nil && !tree.Equal(had, v) {
			e.Path, e.Last, e.Then = n.Address+"."+string(p), had, v
		}
	})
	return e
}
