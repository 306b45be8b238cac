package planner

import (
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// byIdentityOrName looks for the object that was named: by its identity, else by its name in the kind's listing.
func (s *finder) byIdentityOrName(ctx context.Context, n *plan.Node, id string) (plan.Find, error) {
	look := func(id string) (plan.Find, error) {
		return s.lookFor(ctx, n, Target{Number: n.NextNumber()}, func(job *reconcile.Job) { job.ID = id })
	}
	f, err := look(id)
	if err != nil || !f.Look.Absent {
		return f, err
	}
	things, err := s.Cloud.ListAll(ctx, n.Kind, n.Access)
	if err != nil {
		return f, err
	}
	for _, t := range things {
		if t.Name == id && t.Identity != id {
			if f, err = look(t.Identity); err != nil || !f.Look.Absent {
				f.Job.ID = id
				return f, err
			}
		}
	}
	return f, fmt.Errorf("adopt: there is no %s %s", n.Spec.Type, id)
}

// byListing looks for what the cloud names itself and only an owner tag tells: in the kind's listing, or in what
// carries the stage's owner tag. A listing is made once for each kind and location.
func (s *finder) byListing(ctx context.Context, n *plan.Node, first plan.Find) ([]plan.Find, error) {
	var finds []plan.Find
	if !first.Look.Absent && !s.another(n, first) {
		finds = append(finds, first)
	}
	if s.fresh {
		return orFirst(finds, first), nil // everything with an owner tag was discovered
	}
	things, err := s.Cloud.ListTagged(ctx, n.Kind, n.Access)
	if err != nil {
		return nil, err
	}
	for _, t := range things {
		if t.Kind != n.Spec.Type || t.Identity == first.Look.Identity || t.Mark != nil && !s.isMark(n, *t.Mark) {
			continue
		}
		number := n.NextNumber()
		if t.Mark != nil && t.Mark.Generation > 0 {
			number = t.Mark.Generation
		}
		f, err := s.lookFor(ctx, n, Target{Number: number}, func(job *reconcile.Job) { job.ID = t.Identity })
		if err != nil {
			return nil, err
		}
		if !f.Look.Absent && s.isMark(n, f.Look.Owner) && !s.another(n, f) {
			finds = append(finds, f)
		}
	}
	return orFirst(finds, first), nil
}

// orFirst is the finds, or an absent look where there are none.
func orFirst(finds []plan.Find, first plan.Find) []plan.Find {
	if len(finds) > 0 {
		return finds
	}
	first.Look = reconcile.Look{Absent: true, NotYet: first.Look.NotYet, HiddenUntil: first.Look.HiddenUntil}
	return []plan.Find{first}
}

// isMark reports an owner tag that a node's object would carry.
func (s *finder) isMark(n *plan.Node, mark reconcile.Mark) bool {
	answer := adopt.Judge(adopt.Evidence{Tagged: mark, Tag: s.Mark(n.Address, 0), Addresses: n.Births(), Taggable: true})
	return !mark.IsZero() && answer.Verdict == adopt.Ours
}
