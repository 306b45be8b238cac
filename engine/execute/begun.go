package execute

import (
	"context"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
)

// traceBegun looks for what an interrupted run began with other values than those that its node declares now.
func (c *creator) traceBegun(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	g := rec.Candidate()
	if same, err := c.DeclaresBegun(ctx, n, g, true); same || err != nil {
		return err
	}
	look, err := c.Trace(ctx, n, g, c.seen)
	if err != nil {
		return err
	}
	if look.Absent && c.LeavesMore(g) {
		if err := c.deleteGeneration(ctx, n, g); err != nil {
			return err
		}
	}
	if plan.NoteTraced(rec, g, look); look.Absent {
		return nil
	}
	return c.commit(ctx, n, rec.Clone())
}
