package engine

import (
	"cmp"
	"strings"

	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
)

// refusals are all reasons for which a plan as a whole cannot be applied.
type refusals struct {
	masks    *redact.Redactor
	problems []Problem
	// each: a refusal stops its own resource, and no other.
	each bool
}

// refused is the error of a plan that cannot be applied, nil for one that can.
func (r *refusals) refused() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &RefusedError{r.problems}
}

// refuse says that the plan as a whole cannot be applied because of this node. All refusals are listed at once.
func (r *refusals) refuse(n *node, err error) {
	r.block(n, err)
	if r.each {
		return
	}
	p := Problem{Address: n.addr, Source: n.source(), Err: r.masks.Error(err), Own: n.ownNames()}
	p.Common, p.CommonHint = commonOf(r.masks, err)
	r.problems = append(r.problems, p)
}

// commonOf returns why every other resource of a location fails like this one, and what can be done, without secrets.
func commonOf(masks *redact.Redactor, err error) (why, hint string) {
	why, hint = reconcile.Common(err)
	return masks.Text(why), masks.Text(hint)
}

// wrong refuses an edit because of an address.
func (r *refusals) wrong(addr string, err error) {
	r.problems = append(r.problems, Problem{Address: addr, Err: r.masks.Error(err)})
}

// block says that a node cannot be planned. Others go on.
func (r *refusals) block(n *node, err error) {
	if n.plan == nil {
		n.plan = &Planned{Address: n.addr}
		if n.spec != nil {
			n.plan.Kind = n.spec.Type
		}
	}
	if n.plan.Action == Adopt || n.plan.Action == Recover {
		n.plan.From = "" // nothing is taken over
	}
	n.plan.Action, n.plan.Problem = Blocked, r.masks.Text(err.Error())
	n.plan.Hint, n.plan.Confined = r.masks.Text(strings.Join(reconcile.Hints(err), "; ")), confined(err)
	n.err, n.unknown = err, true
	n.asRecorded()
	if n.plan.Confined && n.rec != nil && n.plan.Identity == "" {
		nameObject(n.plan, cmp.Or(n.present(), n.rec.Generations[0]))
	}
}
