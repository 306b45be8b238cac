package kindtest

import (
	"cmp"
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// announcement is what a plan would announce of one update: the differences that the first read of the object shows. The
// engine stops a resource that calls for anything else; here it is reported, so that a kind whose calls change paths which
// they do not declare (Operation.Affects) fails its test, and not a user's deploy.
type announcement struct {
	step   operation.Step
	read   bool
	called []tree.Path
	wrong  []error
}

// hold lets the hooks of an update note what is announced and what is done.
func (a *announcement) hold(hooks *reconcile.Hooks) {
	hooks.Permit = func(look reconcile.Look) error {
		if len(look.Replaces()) > 0 {
			return nil // nothing is set: the object is replaced
		}
		for _, s := range look.Steps {
			o := operationOf(s)
			if !a.read {
				a.step.Operations = append(a.step.Operations, o)
				continue
			}
			if err := a.step.Permits(operation.Seen{Operation: o, Called: a.called}); err != nil {
				a.wrong = append(a.wrong, fmt.Errorf("%s: %w", cmp.Or(s.Call, "a call"), err))
			}
		}
		a.read = true
		return nil
	}
	hooks.Calling = func(paths []tree.Path) { a.called = append(a.called, paths...) }
}

// operationOf is a step as a plan announces it.
func operationOf(s reconcile.Step) operation.Operation {
	o := operation.Operation{Verb: operation.Set, Path: s.Path, Call: s.Call, Have: s.HaveDigest, Want: s.WantDigest, Affects: s.Affects, May: s.Unknown}
	if s.Want == nil && !s.Unknown {
		o.Verb = operation.Unset
	}
	return o
}

// announced reconciles one generation. Of a live one nothing is changed that the first read did not show.
func (d *driver) announced(ctx context.Context, g *generation, job *reconcile.Job, hooks reconcile.Hooks) (reconcile.Outcome, error) {
	a := &announcement{}
	if g == d.live {
		a.hold(&hooks)
	}
	out, err := d.s.Kind.Settle(ctx, job, hooks)
	for _, wrong := range a.wrong {
		d.t.Errorf("an update does what no plan would announce: %v (a call that changes further paths says so by Affects)", wrong)
	}
	return out, err
}
