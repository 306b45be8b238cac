package planner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// lookBegun looks for what an interrupted run began with other values than those declared now. What is there and ours becomes a
// candidate with an identity, which is compared with the declaration like any other. Where nothing came of the intent the
// node is left without a candidate.
func (s *finder) lookBegun(ctx context.Context, n *plan.Node) error {
	g := n.Entry.Candidate()
	if g.StateOnly && g.Begun() && g.Kind != n.Spec.Type {
		n.Entry = n.Entry.Clone() // a command that was begun is undone, and the plan announces it
		n.Entry.Candidate().State = statestore.Condemned
		return nil
	}
	if s.NeverBegan(g) {
		if n.ReplacedWhole() {
			n.Entry = n.Entry.Clone()
			n.Entry.Drop(n.Entry.Candidate())
		}
		return nil
	}
	if same, err := s.DeclaresBegun(ctx, n, g, false); same || err != nil {
		return err
	}
	look, err := s.Trace(ctx, n, g, observe.See)
	if n.SetLook(look); err != nil || look.NotYet {
		return err
	}
	if look.Absent && s.LeavesMore(g) {
		return nil // the run deletes what is left of it
	}
	n.Entry = n.Entry.Clone()
	plan.NoteTraced(n.Entry, n.Entry.Candidate(), look)
	return nil
}

// lookNamed looks for the object that the author names where nothing tells what became of a begun creation: the author says what
// it created.
func (s *finder) lookNamed(ctx context.Context, n *plan.Node) error {
	g := n.Entry.Candidate()
	if !errors.Is(n.Err, reconcile.ErrCannotTell) || n.Decl == nil || g == nil || !g.Begun() || n.Entry.Live() != nil || s.take.Named(n) == "" {
		return n.Err
	}
	n.Entry = n.Entry.Clone()
	n.Entry.Drop(n.Entry.Candidate())
	return s.find(ctx, n)
}

// DeclaresBegun reports whether a node declares what an interrupted run began for a generation, or began nothing of it.
func (j *Jobs) DeclaresBegun(ctx context.Context, n *plan.Node, g *state.Generation, final bool) (bool, error) {
	if !g.Begun() || g.StateOnly {
		return true, nil // a command that was begun is run again, whatever is declared now
	}
	if g.Kind != n.Spec.Type || g.Location != n.Access.Place {
		return false, nil
	}
	job, err := j.DeclaredJob(ctx, n, Target{Gen: g, Final: final})
	if err != nil {
		return false, err
	}
	return plan.IsDeclared(g.Intent, job, slices.Concat(slices.Collect(maps.Values(n.Cut))...)), nil
}

// Trace finds out what became of a begun creation, by the values of its intent. What is there and is not ours counts as absent:
// the creation was never carried out. What nothing tells the owner of is an error.
func (j *Jobs) Trace(ctx context.Context, n *plan.Node, g *state.Generation, look looking) (reconcile.Look, error) {
	kind, err := j.Catalog.Find(g.Kind)
	if err != nil {
		return reconcile.Look{}, err
	}
	a, err := j.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return reconcile.Look{}, err
	}
	job := j.RecordedJob(n, a, g)
	seen, err := look(ctx, kind, job)
	if err != nil || seen.Absent {
		return seen, err
	}
	switch answer := adopt.Judge(j.EvidenceOf(n, kind.Spec(), job, seen, g)); answer.Verdict {
	case adopt.Ours:
		return seen, nil
	case adopt.Ambiguous:
		return seen, reconcile.WithHint(fmt.Errorf("an interrupted run began to create it: %w", plan.OwnerError(g.Kind, seen, answer)),
			"declare it as it was begun and deploy with --adopt, or `athanor state rm %s` if it is somebody else's", n.Address)
	default:
		return reconcile.Look{Absent: true}, nil
	}
}

// looking is a way to look: once, or until the answer is certain.
type looking func(context.Context, reconcile.Any, *reconcile.Job) (reconcile.Look, error)

// dropUnfit condemns in the plan a candidate beside the live object that an interrupted run began and that cannot become what
// is declared now: it is shown as a deletion, and deleted before the next candidate is created.
func (k *walk) dropUnfit(ctx context.Context, n *plan.Node) error {
	begun := n.Entry.Candidate()
	if n.Entry.Live() == nil || n.Plan.Action != plan.Replace || k.o.NoObserve {
		return nil
	}
	if same, err := k.DeclaresBegun(ctx, n, begun, false); same || err != nil {
		return err
	}
	look, err := k.Trace(ctx, n, begun, observe.See)
	if err != nil || look.Absent {
		return err
	}
	n.Entry = n.Entry.Clone()
	g := n.Entry.Candidate()
	plan.NoteTraced(n.Entry, g, look)
	if g.Kind == n.Spec.Type && g.Location == n.Access.Place {
		job, err := k.DeclaredJob(ctx, n, Target{Gen: g})
		if err != nil {
			return err
		}
		if look, err = observe.See(ctx, n.Kind, job); err != nil || len(plan.CertainSteps(look.Replaces())) == 0 {
			return err
		}
	}
	g.State = statestore.Condemned
	return nil
}
