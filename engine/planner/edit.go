package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/statestore"
)

// NewEdit opens the record of a stage for an edit. Relative paths of what is looked at start in dir.
func (e *Planner) NewEdit(ctx context.Context, stage statestore.Stage, dir string) (*Draft, error) {
	w, err := e.NewWork(ctx, EmptyGraph(stage, &Graph{Dir: dir}), Policy{wholeRows: true})
	if err != nil {
		return nil, err
	}
	return w, w.read(ctx)
}

// EditPlan makes the plan of an edit. What was refused is the error, beside the plan.
func (w *Draft) EditPlan(actions []plan.Planned, what Edit, again func(context.Context) (*plan.Plan, error)) (*plan.Plan, error) {
	w.Edit, w.Again = what, again
	slices.SortStableFunc(actions, func(a, b plan.Planned) int { return strings.Compare(a.Address, b.Address) })
	p := &plan.Plan{
		Format: plan.PlanFormat, Stack: w.Stage.Stack, Stage: w.Stage.Name, Serial: w.Snap.Serial, Actions: actions,
	}
	p.MadeWith(w)
	for _, a := range actions {
		p.Summary.Count(a.Action, plan.StatusDone)
	}
	return p, w.Refused()
}
