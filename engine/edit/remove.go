package edit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Remove makes the plan of removing entries from state, as PlanRemove of the engine says.
func Remove(ctx context.Context, e *planner.Planner, stage statestore.Stage, globs []string) (*plan.Plan, error) {
	w, err := e.NewEdit(ctx, stage, "")
	if err != nil {
		return nil, err
	}
	locations, err := planner.OpenUnsearched(w.Snap, w.Key)
	if err != nil {
		return nil, err
	}
	gone, idle := matched(w.Known(), globs)
	named := func(l planner.Unsearched) bool { return slices.Contains(globs, l.Name) }
	idle = slices.DeleteFunc(idle, func(glob string) bool {
		return slices.ContainsFunc(locations, func(l planner.Unsearched) bool { return l.Name == glob })
	})
	for _, glob := range idle {
		w.Wrong("", planner.NothingAs(glob, slices.Collect(maps.Keys(w.Known()))))
	}
	var actions []plan.Planned
	for _, addr := range slices.Sorted(maps.Keys(gone)) {
		lines := forgotten(w.Snap, addr)
		if by := neededBy(w.Snap, addr, gone); len(by) > 0 {
			err := reconcile.WithHint(&statestore.NeededError{Address: addr, By: by}, "name it too, to forget both: athanor state rm %s", strings.Join(append([]string{addr}, by...), " "))
			w.Problems = append(w.Problems, plan.Problem{Err: err})
		}
		actions = append(actions, lines...)
	}
	for _, l := range locations {
		if named(l) && !gone[l.Name] {
			actions = append(actions, plan.Planned{Address: l.Name, Kind: l.Kind, Action: plan.Forget, Notes: []string{"a destroy could not search this location, and none will"}})
		}
	}
	var end statestore.Change
	if slices.ContainsFunc(locations, named) {
		end.Meta = map[string][]byte{planner.UnsearchedFact: planner.SealUnsearched(slices.DeleteFunc(locations, named), stage, w.Key)}
	}
	apply := func(ctx context.Context, r *execute.Run) (statestore.Change, error) { return end, remove(ctx, r, gone) }
	return w.EditPlan(actions, &execute.StateEdit{Apply: apply}, func(ctx context.Context) (*plan.Plan, error) { return Remove(ctx, e, stage, globs) })
}

// matched are the addresses that globs name, and the globs that name none.
func matched(known map[string]bool, globs []string) (gone map[string]bool, idle []string) {
	gone = map[string]bool{}
	for _, glob := range globs {
		hit := false
		for addr := range known {
			if graph.Match(glob, addr) {
				hit, gone[addr] = true, true
			}
		}
		if !hit {
			idle = append(idle, glob)
		}
	}
	return gone, idle
}

// forgotten returns the lines of one address: one for each object of it, with its physical identity.
func forgotten(snap *statestore.Snapshot, addr string) []plan.Planned {
	row, readable := snap.Rows[addr]
	if !readable {
		lines := []plan.Planned{}
		for _, id := range snap.Damaged[addr].Identities {
			lines = append(lines, plan.Planned{Address: addr, Kind: id.Kind, Action: plan.Forget, Identity: id.Identity, Place: reconcile.Place(id.Place)})
		}
		if len(lines) == 0 {
			lines = append(lines, plan.Planned{Address: addr, Action: plan.Forget})
		}
		lines[0].Notes = []string{"its state entry cannot be read"}
		return lines
	}
	var lines []plan.Planned
	for _, g := range row.Generations {
		line := plan.Planned{Address: addr, Kind: g.Kind, Action: plan.Forget, Identity: g.Identity, Generation: g.Number, Place: reconcile.Place(g.Place)}
		if g.State != statestore.Live {
			line.Notes = append(line.Notes, string(g.State))
		}
		lines = append(lines, line)
	}
	return lines
}

// neededBy are the addresses that need one and stay, sorted.
func neededBy(snap *statestore.Snapshot, addr string, gone map[string]bool) []string {
	var by []string
	for other, row := range snap.Rows {
		if !gone[other] && slices.Contains(row.Needs, addr) {
			by = append(by, other)
		}
	}
	slices.SortFunc(by, strings.Compare)
	return by
}

// remove removes rows, all in one commit. A damaged one goes whatever its version is.
func remove(ctx context.Context, r *execute.Run, gone map[string]bool) error {
	var change statestore.Change
	for _, addr := range slices.Sorted(maps.Keys(gone)) {
		row := statestore.Row{Address: addr, Version: statestore.Repair}
		if known, readable := r.Draft.Snap.Rows[addr]; readable {
			row.Version = known.Version
		}
		change.Put = append(change.Put, row)
	}
	if err := r.Journal.Commit(ctx, change); err != nil {
		return err
	}
	return r.Tell(r.Plan.Actions)
}
