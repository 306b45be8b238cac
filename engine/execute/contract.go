package execute

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// contract is what a plan announces of one address, and what the run has done of it. One goroutine uses it at a time.
type contract struct {
	// operations are all of the address, but those of steps that touch only listed paths.
	operations []operation.Operation
	// resumed says that an earlier run began to apply this very plan.
	resumed bool
	// begun is the generation that this run creates, or goes on creating; 0 for none.
	begun  uint64
	called []tree.Path // set by calls of this run
	shown  []plan.Reason
}

// agreement is what a plan announces of each address: what is not in it is not done.
type agreement struct {
	contracts map[string]*contract
	// announcedAt is when the plan had read everything.
	announcedAt time.Time
	catalog     *reconcile.Catalog
	// reason shows a difference to people.
	reason func(*plan.Node, *reconcile.Job, reconcile.Step) plan.Reason
}

// contracts sorts what a plan announces by address.
func contracts(p *plan.Plan, resumed bool) map[string]*contract {
	announcing := 0
	for i := range p.Actions {
		if len(p.Actions[i].Steps) > 0 {
			announcing++
		}
	}
	all, slab := make(map[string]*contract, announcing), make([]contract, announcing)
	for i := range p.Actions {
		line := &p.Actions[i]
		if len(line.Steps) == 0 {
			continue
		}
		c := all[line.Address]
		if c == nil {
			c = &slab[len(all)]
			c.resumed, all[line.Address] = resumed, c
		}
		c.shown = joined(c.shown, line.Reasons)
		for _, s := range line.Steps {
			if !s.Only {
				c.operations = joined(c.operations, s.Operations)
			}
		}
	}
	if resumed {
		for _, c := range all {
			c.recall()
		}
	}
	return all
}

// joined returns two lists as one. It shares the memory of the only one that is not empty: most addresses have one line and
// one step.
func joined[T any](a, b []T) []T {
	if len(a) == 0 {
		return slices.Clip(b)
	}
	return append(a, b...)
}

// recall takes all announced changes for made: an earlier run of the same plan may have made them.
func (c *contract) recall() {
	for _, o := range c.operations {
		if o.Verb == operation.Set || o.Verb == operation.Unset {
			c.called = append(c.called, o.Path)
		}
	}
}

// created reports that a generation is of this plan's own making.
func (c *contract) created(g *state.Generation) bool {
	return g.Number == c.begun || g.Intent != nil || c.resumed && slices.ContainsFunc(c.operations, func(o operation.Operation) bool {
		return o.Verb == operation.Create && g.Number >= o.Generation
	})
}

// contract is that of a node: an empty one where nothing is announced.
func (a *agreement) contract(n *plan.Node) *contract {
	if c := a.contracts[n.Address]; c != nil {
		return c
	}
	return new(contract)
}

// permits reports whether the plan announces what is about to be done, by an error where it does not.
func (c *contract) permits(x operation.Seen) error {
	return (&operation.Step{Operations: c.operations}).Permits(x)
}

// proposed is what is about to be done to a generation, with what a look showed of it.
func (a *agreement) proposed(n *plan.Node, v operation.Verb, g *state.Generation, look reconcile.Look) operation.Seen {
	c := a.contract(n)
	identity := g.Identity
	if identity == "" {
		identity = look.Identity
	}
	return operation.Seen{
		Operation: operation.Operation{
			Verb: v, Object: state.Object{Kind: g.Kind, Location: g.Location, Identity: identity}, Generation: g.Number,
			Owner: look.Owner, Data: look.Holds,
		},
		OwnCreation: c.created(g), Called: c.called, Absent: look.Absent, Fresh: a.mayBeOlder(g),
	}
}

// mayBeOlder reports that reads may still show an older value than the one that the plan was made with, or than our own last
// write.
func (a *agreement) mayBeOlder(g *state.Generation) bool {
	kind, ok := a.catalog.Kind(g.Kind)
	if !ok || kind.Spec().Visibility == 0 {
		return false
	}
	since := a.announcedAt
	if g.Written.After(since) {
		since = g.Written
	}
	return time.Since(since) < kind.Spec().Visibility
}

// permits holds one operation to the plan.
func (a *agreement) permits(n *plan.Node, x operation.Seen) error {
	return a.changed(n, a.contract(n).permits(x))
}

// changed turns a refusal into what the user can act on.
func (a *agreement) changed(n *plan.Node, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, operation.ErrOlder):
		return fmt.Errorf("%w: %w", reconcile.ErrReadAgain, err)
	}
	return reconcile.WithHint(err, "plan again: it shows what %s needs now", n.Address)
}

// permitSteps holds the changes in place that a look calls for to the plan. Where something is replaced nothing is set.
func (a *agreement) permitSteps(n *plan.Node, job *reconcile.Job, g *state.Generation, look reconcile.Look) error {
	if len(look.Replaces()) > 0 {
		return nil
	}
	if a.mayBeOlder(g) && a.contract(n).isSetAlready(look) {
		return reconcile.ErrReadAgain // the value of before the last write may be the wanted one
	}
	for _, s := range look.Steps {
		x := a.proposed(n, operation.Set, g, look)
		x.Path, x.Call, x.Have, x.Want = s.Path, s.Call, s.HaveDigest, s.WantDigest
		switch {
		case plan.IsMarkStep(s):
			x.Verb = operation.Retag
		case s.Want == nil:
			x.Verb = operation.Unset
		}
		if err := a.contract(n).permits(x); err != nil {
			return a.changed(n, a.described(n, job, s, err))
		}
	}
	return nil
}

// replaced returns the values that reads of a generation may still show when this run has changed it: those that its calls
// replaced, and those that earlier calls replaced within the kind's visibility bound. No digest stands for any value.
func (c *contract) replaced(g *state.Generation, visibility time.Duration) map[tree.Path][]string {
	if visibility == 0 || len(c.called) == 0 {
		return g.Replaced
	}
	values := map[tree.Path][]string{}
	if time.Since(g.Written) < visibility {
		maps.Copy(values, g.Replaced)
	}
	for _, p := range c.called {
		announced := false
		for _, o := range c.operations {
			if (o.Verb == operation.Set || o.Verb == operation.Unset) && o.Path.Overlaps(p) {
				announced = true
				if before, any := values[o.Path]; !any || len(before) > 0 {
					values[o.Path] = append(slices.Clip(before), o.Have)
				}
			}
		}
		if !announced {
			values[p] = nil // what a creation sets after it; what it replaces is not known
		}
	}
	return values
}

// isSetAlready reports that a look shows an announced change as made, which this run has not made.
func (c *contract) isSetAlready(look reconcile.Look) bool {
	return slices.ContainsFunc(c.operations, func(o operation.Operation) bool {
		return (o.Verb == operation.Set || o.Verb == operation.Unset) && !o.May && !slices.Contains(c.called, o.Path) &&
			!slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return s.Path == o.Path })
	})
}

// described names what the plan announced at a path and what was found there.
func (a *agreement) described(n *plan.Node, job *reconcile.Job, s reconcile.Step, err error) error {
	e, ok := errors.AsType[*operation.ChangedError](err)
	if !ok {
		return err
	}
	now := a.reason(n, job, s)
	e.Found = string(tree.Canonical(now.Have))
	for _, shown := range a.contract(n).shown {
		if shown.Path == s.Path {
			e.Announced = fmt.Sprintf("%s → %s", tree.Canonical(shown.Have), wanted(shown))
		}
	}
	return e
}

// wanted is what a reason wants, for people.
func wanted(r plan.Reason) string {
	if r.Unknown {
		return "known later"
	}
	return string(tree.Canonical(r.Want))
}

// permitRun holds to the plan what a resource without an object does: it acts, or is only written down.
func (a *agreement) permitRun(n *plan.Node, job *reconcile.Job) error {
	x := operation.Seen{Operation: operation.Operation{Verb: operation.Write}}
	if plan.Acts(n.Spec) {
		x.Verb, x.Call, x.Want = operation.Run, n.Spec.Type, plan.RunDigest(job)
	}
	return a.permits(n, x)
}
