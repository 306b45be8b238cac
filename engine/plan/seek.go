package plan

import (
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// byIdentityOrName looks for the thing that was named: by its identity, else by its name in the kind's listing.
func (s *finder) byIdentityOrName(ctx context.Context, n *Node, id string) (found, error) {
	look := func(id string) (found, error) {
		return s.lookFor(ctx, n, Target{Number: n.NextNumber()}, func(job *reconcile.Job) { job.ID = id })
	}
	f, err := look(id)
	if err != nil || !f.look.Absent {
		return f, err
	}
	things, err := s.Cloud.ListAll(ctx, n.Kind, n.Access)
	if err != nil {
		return f, err
	}
	for _, t := range things {
		if t.Name == id && t.Identity != id {
			if f, err = look(t.Identity); err != nil || !f.look.Absent {
				f.job.ID = id
				return f, err
			}
		}
	}
	return f, fmt.Errorf("adopt: there is no %s %s", n.Spec.Type, id)
}

// byListing looks for what the cloud names itself and only a mark tells: in the kind's listing, or in what carries
// the stage's mark. A listing is made once for each kind and place.
func (s *finder) byListing(ctx context.Context, n *Node, first found) ([]found, error) {
	var finds []found
	if !first.look.Absent && !s.another(n, first) {
		finds = append(finds, first)
	}
	if s.fresh {
		return orFirst(finds, first), nil // everything that is marked was discovered
	}
	things, err := s.Cloud.ListTagged(ctx, n.Kind, n.Access)
	if err != nil {
		return nil, err
	}
	for _, t := range things {
		if t.Kind != n.Spec.Type || t.Identity == first.look.Identity || t.Mark != nil && !s.isMark(n, *t.Mark) {
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
		if !f.look.Absent && s.isMark(n, f.look.Owner) && !s.another(n, f) {
			finds = append(finds, f)
		}
	}
	return orFirst(finds, first), nil
}

// orFirst is the finds, or an absent look where there are none.
func orFirst(finds []found, first found) []found {
	if len(finds) > 0 {
		return finds
	}
	first.look = reconcile.Look{Absent: true, NotYet: first.look.NotYet, HiddenUntil: first.look.HiddenUntil}
	return []found{first}
}

// isMark reports a mark that a node's thing would carry.
func (s *finder) isMark(n *Node, mark reconcile.Mark) bool {
	answer := adopt.Judge(adopt.Evidence{Tagged: mark, Tag: s.Mark(n.Address, 0), Addresses: n.Births(), Taggable: true})
	return !mark.IsZero() && answer.Verdict == adopt.Ours
}
