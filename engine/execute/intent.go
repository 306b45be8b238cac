package execute

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// hooks is the engine's part in settling: what must be durable when, and what may be touched.
func (s *settler) hooks(n *plan.Node, job *reconcile.Job, rec *state.Entry, g *state.Generation) reconcile.Hooks {
	h := reconcile.Hooks{
		Permit: func(look reconcile.Look) error { return s.permit(n, job, g, look) },
		Note: func(text string) {
			s.emit(plan.Event{Type: plan.EventProgress, Address: n.Address, Kind: n.KindName(), Action: n.Doing(), Note: text})
		},
	}
	if n.Spec.Recorded {
		h.Intend = func(ctx context.Context) error {
			if err := s.permitRun(n, job); err != nil || !n.Spec.Rerun || n.Spec.InDev {
				return err
			}
			return s.begin(ctx, n, job, rec, g)
		}
		return h
	}
	h.Calling = func(paths []tree.Path) { c := s.contract(n); c.called = append(c.called, paths...) }
	h.Intend = func(ctx context.Context) error { return s.intend(ctx, n, job, rec, g) }
	h.Begin = func(ctx context.Context, attrs map[string]any) error {
		g.Attributes = attrs
		return s.commit(ctx, n, rec)
	}
	unkept := false
	h.Keep = func(ctx context.Context) error {
		if !unkept {
			return nil
		}
		unkept = false
		return s.commit(ctx, n, rec)
	}
	h.Born = func(ctx context.Context, identity string, attrs map[string]any) error {
		g.Identity, g.Attributes, g.Intent, g.Written = identity, attrs, nil, time.Now()
		if unkept = true; !foundByName(n, job) {
			if err := h.Keep(ctx); err != nil {
				return err
			}
		}
		s.born(n, attrs)
		return nil
	}
	return h
}

// foundByName reports that the intent in state is enough to find a new object again and to know it as ours, so that its
// identity can wait for the one read that may show it as declared. What only the answer to its creation holds cannot.
func foundByName(n *plan.Node, job *reconcile.Job) bool {
	return job.Name != "" && (!job.Named || n.Spec.Marked || n.Spec.Same) && len(n.Spec.Once) == 0
}

// intend makes it durable that an object is about to be created: until its identity is in state too, it is looked
// for before anything is created under this address.
func (s *settler) intend(ctx context.Context, n *plan.Node, job *reconcile.Job, rec *state.Entry, g *state.Generation) error {
	if err := s.permits(n, s.proposed(n, operation.Create, g, reconcile.Look{Absent: true})); err != nil {
		return err
	}
	s.contract(n).begun = g.Number
	return s.begin(ctx, n, job, rec, g)
}

// begin makes it durable what is begun for a generation, with all that it is begun with. What acts on the outside and is kept
// in state alone (a command) begins anew with each run: until that has ended well it counts as begun, and is undone or
// run again.
func (s *settler) begin(ctx context.Context, n *plan.Node, job *reconcile.Job, rec *state.Entry, g *state.Generation) error {
	if g.State == statestore.Live {
		g.State = statestore.Candidate // its object is missing; the new one becomes live when it is as declared
	}
	if rec.Live() == nil {
		rec.Props = job.Props // all that there is to find it by until it has an identity
	} else {
		g.Props = job.Props
	}
	rec.AddSecretPaths(job.Secret)
	if g.Intent != nil && g.IntentDurable && n.Spec.Visibility == 0 {
		return nil // it was refused, and is asked for again
	}
	g.Written = time.Now()
	g.Intent, g.IntentDurable = plan.IntentOf(job, g.Written), true
	g.Identity, g.Attributes, g.WriteDigests, g.Replaced, g.Name, g.NameGiven = "", nil, nil, nil, job.Name, job.Named
	if g.Nonce == "" {
		g.Nonce = rand.Text()
	}
	job.Nonce = g.Nonce
	return s.commit(ctx, n, rec)
}

// releases reports that the result of a node may set others free whose intents it reaches state with. It has a row, and
// its identity is in it or its name is enough to find it; what is kept in state alone is nowhere else and waits for
// nobody.
func (s *settler) releases(n *plan.Node) bool {
	t := s.tasks[n]
	return t != nil && len(t.after) > 0 && n.Entry != nil && !n.Spec.Recorded && n.Plan.Waiting == "" && len(n.Decl.Options.After) == 0
}
