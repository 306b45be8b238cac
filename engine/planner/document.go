package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// ApplyingFact names the stage-wide fact that says which saved plan was applied last, and in which run.
const ApplyingFact = "plan"

// applying is that fact.
type applying struct{ plan, run string }

// Derive makes the working plan of a plan document: the same plan, made again from the program, the state and what reading
// shows now. It says no more about what may be done: that stands in the document. Resumed says that an interrupted run of
// the same document is the last that changed the state.
func (e *Planner) Derive(ctx context.Context, doc *plan.Plan, g *Graph, o plan.PlanOptions) (p *plan.Plan, resumed bool, err error) {
	stage := statestore.Stage{Stack: doc.Stack, Name: doc.Stage}
	switch {
	case doc.Destroy:
		p, err = e.PlanDestroy(ctx, stage, g, o)
	case doc.Drift:
		p, err = e.PlanDrift(ctx, stage, g, o)
	case g == nil:
		err = errors.New("a saved plan is applied with the program that it was made of")
	default:
		p, err = e.Plan(ctx, g, o)
	}
	if err != nil {
		return nil, false, err
	}
	if resumed, err = e.resumes(ctx, doc, DraftOf(p).Snap); err != nil {
		return nil, false, err
	}
	if err := heldTo(doc, p, resumed); err != nil {
		return nil, false, err
	}
	limit(p, doc)
	return p, resumed, nil
}

// limit takes off a plan what another one announces no operation for: a resource that was unchanged is left as it is.
func limit(p, announced *plan.Plan) {
	w := DraftOf(p)
	has := map[string]bool{}
	for i := range announced.Actions {
		a := &announced.Actions[i]
		has[a.Address] = has[a.Address] || len(a.Steps) > 0
	}
	for _, n := range slices.Concat(w.Declared, w.Leftover) {
		switch {
		case has[n.Address] || n.Plan == nil || n.Plan.Action == plan.Wait || n.Plan.Action == plan.Blocked:
		case n.Decl == nil:
			w.Deselect(n)
			n.Plan.Action = plan.Unchanged
		default:
			n.Plan.Action, n.Plan.May, n.Others = plan.Unchanged, false, nil
		}
	}
	p.OutputChanges = announced.OutputChanges
	p.Summary = plan.Summary{OutputsChanged: len(p.OutputChanges)}
	for i := range p.Actions {
		a := &p.Actions[i]
		if !has[a.Address] && a.Action != plan.Wait && a.Action != plan.Blocked {
			a.Action, a.May, a.Reasons, a.Steps = plan.Unchanged, false, nil, nil
		}
		p.CountLine(a)
	}
}

// DocumentID tells a plan document apart from every other.
func DocumentID(key *seal.Key, doc *plan.Plan) (string, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	return key.Digest("plan", data), nil
}

// resumes reports whether the last run of a stage applied this very document and did not come to its end: then the state that it left is accepted, and
// what it has done is left out.
func (e *Planner) resumes(ctx context.Context, doc *plan.Plan, snap *statestore.Snapshot) (bool, error) {
	if doc.Serial == snap.Serial {
		return false, nil
	}
	last, err := openApplying(e.Key, snap)
	if err != nil || last == (applying{}) {
		return false, err
	}
	id, err := DocumentID(e.Key, doc)
	if err != nil || last.plan != id {
		return false, err
	}
	runs, err := e.Store.Runs(ctx, snap.Stage, 1)
	return len(runs) == 1 && runs[0].ID == last.run && runs[0].State != statestore.Succeeded, err
}

func openApplying(key *seal.Key, snap *statestore.Snapshot) (applying, error) {
	v, err := state.OpenFact(snap, key, ApplyingFact)
	m, _ := v.(map[string]any)
	id, _ := m["plan"].(string)
	run, _ := m["run"].(string)
	return applying{id, run}, err
}

// heldTo refuses to apply a plan document to what it was not made for. What a resource itself shows is judged when it is
// its turn.
func heldTo(saved, p *plan.Plan, resumed bool) error {
	var moved []string
	if saved.Stack != p.Stack || saved.Stage != p.Stage || saved.Destroy != p.Destroy || saved.Drift != p.Drift {
		moved = append(moved, fmt.Sprintf("what it is for, from %s/%s to %s/%s", saved.Stack, saved.Stage, p.Stack, p.Stage))
	}
	if saved.Digest != p.Digest {
		moved = append(moved, "the program")
	}
	if saved.Store != "" && saved.Store != p.Store {
		moved = append(moved, "the store, which is another one")
	}
	if saved.Serial != p.Serial && !resumed {
		moved = append(moved, fmt.Sprintf("state, from serial %d to %d", saved.Serial, p.Serial))
	}
	for _, name := range slices.Sorted(maps.Keys(saved.Used)) {
		if digest, used := p.Used[name]; used && digest != saved.Used[name] {
			moved = append(moved, "the output "+name)
		}
	}
	moved = append(moved, movedAssets(saved, p)...)
	if len(moved) > 0 {
		return &plan.StaleError{Moved: moved}
	}
	return nil
}

// movedAssets names the files that differ from those that the plan was made with.
func movedAssets(saved, p *plan.Plan) []string {
	assets := map[string]map[string]string{}
	for i := range p.Actions {
		if a := &p.Actions[i]; len(a.Assets) > 0 {
			assets[a.Address] = a.Assets
		}
	}
	var moved []string
	for i := range saved.Actions {
		a := &saved.Actions[i]
		for _, name := range slices.Sorted(maps.Keys(a.Assets)) {
			if assets[a.Address][name] != a.Assets[name] {
				moved = append(moved, a.Address+": "+name)
			}
		}
	}
	return moved
}
