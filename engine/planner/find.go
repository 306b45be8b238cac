package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// find looks for the object of a node that has no row, or none but condemned objects: by the identity that the
// author gave, by the owner tags of a discovery, by its name or its generated names, else as the kind finds. The look
// that it chooses is the node's.
func (s *finder) find(ctx context.Context, n *plan.Node) error {
	if n.Spec.Recorded {
		job, err := s.DeclaredJob(ctx, n, Target{Number: n.NextNumber()})
		n.Job = job
		return n.Saw(reconcile.Look{Absent: true}, err)
	}
	finds, err := s.candidates(ctx, n)
	if err != nil {
		return err
	}
	finds = s.ours(n, finds)
	best, err := s.pick(finds)
	if err != nil {
		return err
	}
	n.SetLook(best.Look)
	n.Job, n.Slot, n.Unsought = best.Job, best.Slot, best.Unsought
	for i := range finds {
		if f := &finds[i]; f != best && !f.Look.Absent {
			n.Others = append(n.Others, *f)
		}
	}
	return s.misfits(ctx, n)
}

// candidates reads every object that may be a node's. There is at least one entry: an absent look where there is
// nothing.
func (s *finder) candidates(ctx context.Context, n *plan.Node) ([]plan.Find, error) {
	if id := s.take.Named(n); id != "" {
		f, err := s.byIdentityOrName(ctx, n, id)
		return []plan.Find{f}, err
	}
	finds, err := s.byMark(ctx, n)
	if err != nil || len(finds) > 0 {
		return finds, err
	}
	if finds, err = s.byName(ctx, n); err != nil || !n.Spec.ByParent {
		return finds, err
	}
	old, err := s.underOldParents(ctx, n)
	if len(old) > 0 && finds[0].Look.Absent {
		return old, err
	}
	return append(finds, old...), err
}

// byMark reads what discovery found with the node's owner tag.
func (s *finder) byMark(ctx context.Context, n *plan.Node) ([]plan.Find, error) {
	var finds []plan.Find
	for _, d := range s.marked(n) {
		if d.Kind != n.Spec.Type || d.Way.Place != n.Access.Place {
			continue
		}
		f, err := s.lookFor(ctx, n, Target{Number: d.Mark.Generation}, func(job *reconcile.Job) { job.ID = d.Identity })
		if err != nil {
			return nil, err
		}
		if f.Look.Absent {
			continue // the listing was older than the deletion
		}
		f.Slot = s.slotOf(n, f)
		finds = append(finds, f)
	}
	return finds, nil
}

// slotOf returns the slot whose generated name a found object bears.
func (s *finder) slotOf(n *plan.Node, f plan.Find) int {
	d := s.discovered.byIdentity[f.Look.Identity]
	if d == nil || f.Job.Naming == nil {
		return 0
	}
	for _, birth := range n.Births() {
		for slot := range adopt.Slots {
			if adopt.Name(*f.Job.Naming, f.Job.Place, s.Stage.Stack, s.Stage.Name, birth, slot) == d.Name {
				f.Job.Name = d.Name
				return slot
			}
		}
	}
	return 0
}

// marked returns the discovered objects whose owner tag has an address of the node.
func (s *finder) marked(n *plan.Node) []*observe.Tagged {
	var marked []*observe.Tagged
	for _, birth := range n.Births() {
		if s.Elses(n, birth) {
			continue
		}
		for _, d := range s.discovered.byAddress[birth] {
			if !d.Mark.Retained && !slices.Contains(marked, d) {
				marked = append(marked, d)
			}
		}
	}
	return marked
}

// misfits condemns what carries the node's owner tag and is of another kind or in another location: it was that before
// state was lost.
func (s *finder) misfits(ctx context.Context, n *plan.Node) error {
	for _, d := range s.marked(n) {
		if d.Kind == n.Spec.Type && d.Way.Place == n.Access.Place {
			continue
		}
		kind, ok := s.Catalog.Kind(d.Kind)
		if !ok {
			continue
		}
		job := s.job(n, d.Way, Target{Number: d.Mark.Generation})
		job.ID = d.Identity
		look, err := observe.See(ctx, kind, job)
		if err != nil {
			return err
		}
		if !look.Absent {
			n.Others = append(n.Others, plan.Find{Found: d.Found, Access: d.Way, Look: look, Job: job})
		}
	}
	return nil
}

// byName looks for the given name, or for the generated names of all slots.
func (s *finder) byName(ctx context.Context, n *plan.Node) ([]plan.Find, error) {
	first, err := s.lookFor(ctx, n, Target{Number: n.NextNumber(), Slot: s.freeSlot(n)}, nil)
	if err == nil && !first.Job.Named && first.Job.Naming == nil && n.Spec.Marked {
		return s.byListing(ctx, n, first)
	}
	if err != nil || first.Job.Named || first.Job.Naming == nil {
		if n.Entry.ByObject(n.Spec.Type, n.Access.Place, first.Look.Identity) != nil {
			first.Look = reconcile.Look{Absent: true} // that one is on its way out
		}
		return []plan.Find{first}, err
	}
	var names map[string]bool
	if n.Spec.Lists {
		things, err := s.Cloud.ListNamed(ctx, n.Kind, n.Access)
		if err != nil {
			return nil, err
		}
		names = map[string]bool{}
		for _, t := range things {
			names[t.Name] = true
		}
	}
	var finds []plan.Find
	if s.another(n, first) {
		s.Slots.Occupy(n.Birth(), n.Spec.Type, first.Slot, first.Look.Owner.Address)
		first.Look = reconcile.Look{Absent: true}
	} else if !first.Look.Absent {
		finds = append(finds, first)
	}
	for _, birth := range n.Births() {
		for slot := range adopt.Slots {
			name := adopt.Name(*first.Job.Naming, first.Job.Place, s.Stage.Stack, s.Stage.Name, birth, slot)
			if name == first.Job.Name || names != nil && !names[name] || s.slotHeld(n, birth, slot) {
				continue
			}
			f, err := s.lookFor(ctx, n, Target{Number: n.NextNumber(), Slot: slot}, func(job *reconcile.Job) { job.Name = name })
			if err != nil {
				return nil, err
			}
			switch {
			case f.Look.Absent:
			case s.another(n, f):
				s.Slots.Occupy(birth, n.Spec.Type, slot, f.Look.Owner.Address)
			default:
				finds = append(finds, f)
			}
		}
	}
	if len(finds) == 0 {
		return []plan.Find{first}, nil
	}
	return finds, nil
}

// freeSlot is the lowest slot that no record holds.
func (s *finder) freeSlot(n *plan.Node) int {
	for slot := range adopt.Slots {
		if !s.slotHeld(n, n.Birth(), slot) {
			return slot
		}
	}
	return 0
}

// slotHeld reports whether an entry has a slot: another address's, or the node's own by one of its generations.
func (s *finder) slotHeld(n *plan.Node, birth string, slot int) bool {
	by := s.Slots.By(birth, n.Spec.Type, slot)
	return by != "" && (by != n.Address || slices.ContainsFunc(n.Generations(), func(g *state.Generation) bool {
		return g.Kind == n.Spec.Type && g.Slot == slot && !g.NameGiven && !g.StateOnly
	}))
}

// another reports that a read shows the object of another address of this stage, which bears a name of this one: it
// was renamed away, or is condemned.
func (s *finder) another(n *plan.Node, f plan.Find) bool {
	if f.Look.Absent {
		return false
	}
	answer := adopt.Judge(s.Evidence(n, f.Job, f.Look, nil))
	return answer.Sibling || answer.Verdict == adopt.Ours && s.Elses(n, f.Look.Owner.Address) ||
		n.Entry.ByObject(n.Spec.Type, n.Access.Place, f.Look.Identity) != nil
}

// lookFor looks once for an object that is not in state. Where what it goes by is not known yet the find is empty:
// the object will be created or found when it is.
func (s *finder) lookFor(ctx context.Context, n *plan.Node, t Target, adjust func(*reconcile.Job)) (plan.Find, error) {
	job, err := s.DeclaredJob(ctx, n, t)
	if err != nil {
		return plan.Find{}, err
	}
	if adjust != nil {
		adjust(job)
	}
	f := plan.Find{Found: reconcile.Found{Kind: n.Spec.Type}, Job: job, Slot: t.Slot, Access: n.Access}
	if !Findable(job) {
		f.Look, f.Unsought = reconcile.Look{Absent: true}, true
		return f, nil
	}
	if f.Look, err = observe.See(ctx, n.Kind, job); err != nil {
		n.Sought = append(n.Sought, job.Name, job.ID)
	}
	return f, err
}

// underOldParents looks for a child where it is as long as it has not followed its parent: under the one that is about to
// be replaced, and under older ones that are still there.
func (s *finder) underOldParents(ctx context.Context, n *plan.Node) ([]plan.Find, error) {
	var finds []plan.Find
	for _, up := range n.Ups {
		olds := make([]map[string]any, 0, 1+len(up.Others))
		if up.Unknown {
			olds = append(olds, up.Look().Attrs)
		}
		for i := range up.Others {
			olds = append(olds, up.Others[i].Look.Attrs)
		}
		for _, g := range up.Entry.Condemned() {
			olds = append(olds, g.Attributes)
		}
		for _, attrs := range olds {
			old, err := s.lookFor(ctx, n, Target{Number: n.NextNumber(), was: map[*plan.Node]map[string]any{up: attrs}}, nil)
			if err != nil {
				return nil, err
			}
			if old.Look.Absent {
				continue
			}
			job, err := s.DeclaredJob(ctx, n, Target{Number: n.NextNumber()})
			if err != nil {
				return nil, err
			}
			job.ID, job.Last = old.Look.Identity, old.Look.Attrs
			if old.Look, err = n.Kind.Compare(job, old.Look); err != nil {
				return nil, err
			}
			old.Job = job
			finds = append(finds, old)
		}
	}
	return finds, nil
}

// findReplaced looks for what took the place of an object that is in state and missing. Only a state that may be of before the
// replacement gives a reason to.
func (k *walk) findReplaced(ctx context.Context, n *plan.Node) error {
	if !k.o.Incomplete || !k.o.discovers || k.o.NoObserve || !n.Look().Absent || n.Look().NotYet || n.Entry.Live() == nil || n.Spec.Recorded || n.ReplacedWhole() {
		return nil
	}
	rec, seen := n.Entry, n.Observation
	n.Entry = n.Entry.Clone()
	n.Entry.Found = true
	for _, g := range n.Entry.Generations {
		g.State, g.Retain = statestore.Condemned, g.Retain || n.Entry.Options().Retain
	}
	if err := k.find(ctx, n); err != nil || !n.Look().Absent {
		return err
	}
	n.Entry, n.Observation = rec, seen
	return nil
}

// Findable reports that what an object goes by is known: its identity, its name, or all of its props.
func Findable(job *reconcile.Job) bool {
	switch {
	case job.ID != "", plan.IsKnown(job.Name):
		return true
	case job.Named:
		return false
	}
	return len(job.Unknown) == 0
}

// pick says which of several finds is the live one: the one whose fixed paths equal the declaration; if
// several do, the highest generation; without owner tags nothing tells them apart.
func (s *finder) pick(finds []plan.Find) (*plan.Find, error) {
	if len(finds) == 1 {
		return &finds[0], nil
	}
	fits := make([]*plan.Find, 0, len(finds))
	for i := range finds {
		if len(plan.CertainSteps(finds[i].Look.Replaces())) == 0 {
			fits = append(fits, &finds[i])
		}
	}
	if len(fits) == 0 {
		for i := range finds {
			fits = append(fits, &finds[i])
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	slices.SortFunc(fits, func(a, b *plan.Find) int {
		return cmp.Compare(b.Look.Owner.Generation, a.Look.Owner.Generation)
	})
	if fits[0].Look.Owner.Generation == fits[1].Look.Owner.Generation {
		identities := make([]string, len(fits))
		for i, f := range fits {
			identities[i] = f.Look.Identity
		}
		return nil, reconcile.WithHint(
			fmt.Errorf("%w: %s all look like it", reconcile.ErrAmbiguous, strings.Join(identities, ", ")),
			"name the right one, such as options: {adopt: %[1]q} (Adopt(%[1]q) in Go)", identities[0])
	}
	return fits[0], nil
}

// ours keeps of several finds those that are ours, if there are any: what is somebody else's is nothing to condemn.
func (s *finder) ours(n *plan.Node, finds []plan.Find) []plan.Find {
	if len(finds) < 2 {
		return finds
	}
	own := slices.Clone(finds)
	own = slices.DeleteFunc(own, func(f plan.Find) bool {
		return adopt.Judge(s.Evidence(n, f.Job, f.Look, nil)).Verdict != adopt.Ours
	})
	if len(own) == 0 {
		return finds[:1]
	}
	return own
}
