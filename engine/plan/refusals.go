package plan

import (
	"cmp"
	"strings"

	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
)

// Refusals are all reasons for which a plan as a whole cannot be applied.
type Refusals struct {
	Masks    *redact.Redactor
	Problems []Problem
	// Each: a refusal stops its own resource, and no other.
	Each bool
}

// Refused is the error of a plan that cannot be applied, nil for one that can.
func (r *Refusals) Refused() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &RefusedError{r.Problems}
}

// Refuse says that the plan as a whole cannot be applied because of this node. All refusals are listed at once.
func (r *Refusals) Refuse(n *Node, err error) {
	r.Block(n, err)
	if r.Each {
		return
	}
	p := Problem{Address: n.Address, Source: n.Source(), Err: r.Masks.Error(err), Own: n.OwnNames()}
	p.Common, p.CommonHint = CommonOf(r.Masks, err)
	r.Problems = append(r.Problems, p)
}

// CommonOf returns why every other resource of a location fails like this one, and what can be done, without secrets.
func CommonOf(masks *redact.Redactor, err error) (why, hint string) {
	why, hint = reconcile.Common(err)
	return masks.Text(why), masks.Text(hint)
}

// Wrong refuses an edit because of an address.
func (r *Refusals) Wrong(addr string, err error) {
	r.Problems = append(r.Problems, Problem{Address: addr, Err: r.Masks.Error(err)})
}

// Block says that a node cannot be planned. Others go on.
func (r *Refusals) Block(n *Node, err error) {
	if n.Plan == nil {
		n.Plan = &Planned{Address: n.Address}
		if n.Spec != nil {
			n.Plan.Kind = n.Spec.Type
		}
	}
	if n.Plan.Action == Adopt || n.Plan.Action == Recover {
		n.Plan.From = "" // nothing is taken over
	}
	n.Plan.Action, n.Plan.Problem = Blocked, r.Masks.Text(err.Error())
	n.Plan.Hint, n.Plan.Confined = r.Masks.Text(strings.Join(reconcile.Hints(err), "; ")), confined(err)
	n.Err, n.Unknown = err, true
	n.asRecorded()
	if n.Plan.Confined && n.Entry != nil && n.Plan.Identity == "" {
		NameObject(n.Plan, cmp.Or(n.Present(), n.Entry.Generations[0]))
	}
}
