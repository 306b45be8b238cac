package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// IntentOf is the intent to create what a job declares. Props that are set after the creation are no part of it.
func IntentOf(job *reconcile.Job, now time.Time) *state.Intent {
	i := &state.Intent{Address: job.Address, Name: job.Name, NameGiven: job.Named, Props: job.Props, Started: now}
	for _, path := range job.Omit {
		i.Props, _ = tree.Without(i.Props, path).(map[string]any)
	}
	if len(job.Assets) > 0 {
		i.Assets = make(map[string]string, len(job.Assets))
	}
	for name, a := range job.Assets {
		i.Assets[name] = a.Digest
	}
	return i
}

// isDeclared reports whether a job declares what an intent began: the job then finds what the intent may have created. Props
// at later paths are set after the creation, and decide nothing.
func isDeclared(i *state.Intent, job *reconcile.Job, later []tree.Path) bool {
	same := i.Address == job.Address && i.Name == job.Name && i.NameGiven == job.Named && len(i.Assets) == len(job.Assets)
	for name, a := range job.Assets {
		same = same && i.Assets[name] == a.Digest
	}
	differences(i.Props, job.Props, func(p tree.Path, _, _ any) {
		same = same && slices.ContainsFunc(later, p.Overlaps)
	})
	return same
}

// begunAt is the address at which a creation was begun that did not come to its end, when it has moved since; else "".
func (n *Declaration) begunAt(g *state.Generation) string {
	if g == nil || g.Intent == nil || g.Intent.Address == n.Address {
		return ""
	}
	return g.Intent.Address
}

// seekBegun makes a job look for what an intent may have created.
func seekBegun(job *reconcile.Job, i *state.Intent) {
	job.Props, job.Had, job.Name, job.Named = i.Props, i.Props, i.Name, i.NameGiven
	if len(i.Assets) > 0 {
		job.Assets = make(map[string]reconcile.Asset, len(i.Assets))
	}
	for name, digest := range i.Assets {
		job.Assets[name] = reconcile.Asset{Digest: digest}
	}
}

// NeverBegan reports a generation that nothing can exist of: no creation was begun for it, or its object would be found by a
// name that it never had.
func (x *Index) NeverBegan(g *state.Generation) bool {
	kind, ok := x.Catalog.Kind(g.Kind)
	if !ok || !g.Begun() || g.Intent.Name != "" {
		return g.Empty()
	}
	job := &reconcile.Job{Props: g.Intent.Props, Place: g.Location}
	kind.Names(job)
	return job.Given != "" || job.Naming != nil
}

// lookBegun looks for what an interrupted run began with other values than those declared now. What is there and ours becomes a
// candidate with an identity, which is compared with the declaration like any other. Where nothing came of the intent the
// node is left without a candidate.
func (s *finder) lookBegun(ctx context.Context, n *Node) error {
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
	if n.Look = look; err != nil || look.NotYet {
		return err
	}
	if look.Absent && s.LeavesMore(g) {
		return nil // the run deletes what is left of it
	}
	n.Entry = n.Entry.Clone()
	NoteTraced(n.Entry, n.Entry.Candidate(), look)
	return nil
}

// lookNamed looks for the object that the author names where nothing tells what became of a begun creation: the author says what
// it created.
func (s *finder) lookNamed(ctx context.Context, n *Node) error {
	g := n.Entry.Candidate()
	if !errors.Is(n.err, reconcile.ErrCannotTell) || n.Decl == nil || g == nil || !g.Begun() || n.Entry.Live() != nil || s.named(n) == "" {
		return n.err
	}
	n.Entry = n.Entry.Clone()
	n.Entry.Drop(n.Entry.Candidate())
	return s.find(ctx, n)
}

// LeavesMore reports whether a creation that was cut may leave something behind that does not show as its object, such as empty
// folders and the file that was to get its name.
func (x *Index) LeavesMore(g *state.Generation) bool {
	kind, ok := x.Catalog.Kind(g.Kind)
	return ok && kind.Spec().Tidies
}

// DeclaresBegun reports whether a node declares what an interrupted run began for a generation, or began nothing of it.
func (j *Jobs) DeclaresBegun(ctx context.Context, n *Node, g *state.Generation, final bool) (bool, error) {
	if !g.Begun() || g.StateOnly {
		return true, nil // a command that was begun is run again, whatever is declared now
	}
	if g.Kind != n.Spec.Type || g.Location != n.Access.Place {
		return false, nil
	}
	job, err := j.DeclaredJob(ctx, n, Target{Gen: g, Number: g.Number, Slot: g.Slot, Final: final})
	if err != nil {
		return false, err
	}
	return isDeclared(g.Intent, job, slices.Concat(slices.Collect(maps.Values(n.Cut))...)), nil
}

// Trace finds out what became of a begun creation, by the values of its intent. What is there and is not ours counts as absent:
// the creation was never carried out. What nothing tells the owner of is an error.
func (j *Jobs) Trace(ctx context.Context, n *Node, g *state.Generation, look looking) (reconcile.Look, error) {
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
		return seen, reconcile.WithHint(fmt.Errorf("an interrupted run began to create it: %w", OwnerError(g.Kind, seen, answer)),
			"declare it as it was begun and deploy with --adopt, or `athanor state rm %s` if it is somebody else's", n.Address)
	default:
		return reconcile.Look{Absent: true}, nil
	}
}

// looking is a way to look: once, or until the answer is certain.
type looking func(context.Context, reconcile.Any, *reconcile.Job) (reconcile.Look, error)

// NoteTraced notes in an entry what became of a begun creation.
func NoteTraced(e *state.Entry, g *state.Generation, look reconcile.Look) {
	if look.Absent {
		e.Drop(g)
		return
	}
	g.Identity, g.Attributes = look.Identity, look.Attrs
}

// IsTraced reports an entry with a begun creation whose object this plan found. Its identity is made durable before the object
// is changed: after that its owner tag may be another one than the intent names.
func IsTraced(e *state.Entry) bool {
	return e != nil && slices.ContainsFunc(e.Generations, func(g *state.Generation) bool { return g.Intent != nil && g.Identity != "" })
}

// dropUnfit condemns in the plan a candidate beside the live object that an interrupted run began and that cannot become what
// is declared now: it is shown as a deletion, and deleted before the next candidate is created.
func (c *classifier) dropUnfit(ctx context.Context, n *Node) error {
	begun := n.Entry.Candidate()
	if n.Entry.Live() == nil || n.Plan.Action != Replace || c.o.NoObserve {
		return nil
	}
	if same, err := c.DeclaresBegun(ctx, n, begun, false); same || err != nil {
		return err
	}
	look, err := c.Trace(ctx, n, begun, observe.See)
	if err != nil || look.Absent {
		return err
	}
	n.Entry = n.Entry.Clone()
	g := n.Entry.Candidate()
	NoteTraced(n.Entry, g, look)
	if g.Kind == n.Spec.Type && g.Location == n.Access.Place {
		job, err := c.DeclaredJob(ctx, n, Target{Gen: g, Number: g.Number, Slot: g.Slot})
		if err != nil {
			return err
		}
		if look, err = observe.See(ctx, n.Kind, job); err != nil || len(certain(look.Replaces())) == 0 {
			return err
		}
	}
	g.State = statestore.Condemned
	return nil
}
