package planner

import (
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// retypeAll keeps the objects of those nodes whose kind changed, where the author says so.
func (o *observer) retypeAll(ctx context.Context, declared []*plan.Node) {
	Parallel(len(declared), Lookers, func(i int) {
		n := declared[i]
		live := n.Entry.Live()
		if live != nil && live.Kind != n.Spec.Type && n.Err == nil && n.Entry.Candidate() == nil && !live.StateOnly && !n.Spec.Recorded {
			n.Err = o.retype(ctx, n, live)
		}
	})
}

// retype gives a node an entry in which its live object is one of the declared kind: one that the author names by its identity there, or one that the kind
// makes of what state has. The plan alone has that entry, until a run writes it. Where the object is missing the node
// stays as it is.
func (o *observer) retype(ctx context.Context, n *plan.Node, live *state.Generation) error {
	former := reconcile.Former{Kind: live.Kind, Place: live.Location, Identity: live.Identity, Attrs: live.Attributes}
	takes := n.Spec.MovesFrom != nil && n.Spec.MovesFrom(former)
	given := o.take.Named(n)
	var found plan.Find
	var err error
	switch {
	case given != "":
		found, err = o.byIdentityOrName(ctx, n, given)
	case n.MovedKind() != live.Kind:
		n.Movable = takes
		return nil
	case !takes:
		return fmt.Errorf("adopt: %s: %w", live.Kind, reconcile.ErrNotMoved)
	default:
		found, err = o.lookFor(ctx, n, Target{Number: live.Number}, func(job *reconcile.Job) { job.ID, job.Former = live.Identity, &former })
	}
	if err != nil || found.Look.Absent {
		return err
	}
	object := state.Object{Kind: n.Spec.Type, Location: n.Access.Place, Identity: found.Look.Identity}
	if by := o.Owners.By(object, n.Address); by != "" {
		return fmt.Errorf("adopt: %s is that of %s", object.Identity, by)
	}
	rec := n.Entry.Clone()
	for _, g := range rec.Generations {
		if g.Settings == nil {
			g.Settings, _ = plan.AnyMap(rec.Settings).(map[string]any)
		}
	}
	*rec.Live() = state.Generation{
		Number: live.Number, State: live.State, Kind: n.Spec.Type, Location: n.Access.Place, Identity: found.Look.Identity, Attributes: found.Look.Attrs,
		Name: found.Job.Name, NameGiven: found.Job.Named, Nonce: live.Nonce, Written: live.Written, Dev: live.Dev,
	}
	rec.Settings, rec.Props = n.Decl.Settings, nil
	n.Entry, n.Retyped = rec, live.Kind
	return nil
}
