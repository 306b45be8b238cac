package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Orphans are the objects with a stage's owner tag that no row knows.
type Orphans struct {
	Things []Thing `json:"things"`
	// Places are where it was looked, and Unreached why it could not be elsewhere.
	Places    []reconcile.Place `json:"places"`
	Unreached []string          `json:"unreached,omitempty"`
	// Plan deletes those that are not declared. It may be refused: see PlanOrphans.
	Plan *plan.Plan `json:"-"`
}

// PlanOrphans finds the objects with an owner tag of the stage that no entry has, and plans the deletion of those that are not
// declared. The graph may be nil.
func (e *Planner) PlanOrphans(ctx context.Context, stage statestore.Stage, g *Graph, o plan.PlanOptions) (*Orphans, error) {
	empty := EmptyGraph(stage, g)
	if g == nil {
		g = empty
	}
	w, err := e.NewWork(ctx, empty, Policy{PlanOptions: o, collects: true, hidesOutputs: true, leavesOutputs: true, Waives: true})
	if err != nil {
		return nil, err
	}
	w.Again = func(ctx context.Context) (*plan.Plan, error) {
		again, err := e.PlanOrphans(ctx, stage, g, o)
		if err != nil {
			return nil, err
		}
		return again.Plan, nil
	}
	w.lost = false
	w.Slots.Hold(w.Records)
	w.Owners.Hold(w.Records)
	out := &Orphans{}
	w.Cloud.Expect(familyKindsOf(w.Catalog, w.Records, g).of)
	looking := reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	accesses, err := w.whereabouts(looking, g, w.Records, out)
	if err != nil {
		return nil, err
	}
	things, err := w.Cloud.Discover(looking, accesses)
	if err != nil {
		return nil, err
	}
	s := &scanning{w: w}
	gone := map[string][]*observe.Tagged{}
	for i := range things {
		f := &things[i]
		t, there, err := s.orphan(looking, f)
		if err != nil {
			out.Unreached = append(out.Unreached, w.Redact.Text(fmt.Sprintf("%s %s: %v", f.Kind, f.Identity, err)))
		}
		if !there {
			continue
		}
		t.Declared = t.Standing == StandingOurs && declares(g, t.Address) && w.Records[t.Address] == nil
		out.Things = append(out.Things, t)
		if t.Standing == StandingOurs && !t.Declared {
			f.Mark = t.Owner
			gone[t.Address] = append(gone[t.Address], f)
		}
	}
	slices.SortFunc(out.Things, compareThings)
	out.Plan, err = w.planGone(ctx, gone)
	return out, err
}

// whereabouts are the ways to every place that the program or the record names.
func (j *Jobs) whereabouts(ctx context.Context, g *Graph, entries map[string]*state.Entry, out *Orphans) ([]*observe.Way, error) {
	var ways []*observe.Way
	add := func(a *observe.Way) {
		if a = a.Reached(); !slices.Contains(ways, a) {
			ways = append(ways, a)
		}
	}
	for _, r := range g.Resources {
		add(j.Cloud.Reach(ctx, r.Kind, r.Settings))
	}
	for _, rec := range entries {
		for _, gen := range rec.Generations {
			if _, err := j.Cloud.KindOf(rec.Address, gen.Kind); err != nil {
				out.Unreached = append(out.Unreached, fmt.Sprintf("%s: %s", rec.Address, err))
				continue // other entries say where to look
			}
			add(j.Cloud.ReachOf(ctx, rec, gen))
		}
	}
	named := len(ways) > 0
	if !named {
		for _, p := range j.Catalog.Providers() {
			if p.Discover != nil && len(p.Kinds) > 0 {
				add(j.Cloud.Reach(ctx, p.Kinds[0].Spec().Type, nil))
			}
		}
	}
	var reached []*observe.Way
	for _, a := range ways {
		switch {
		case a.Err != nil && named:
			return nil, a.Err
		case a.Err != nil:
			out.Unreached = append(out.Unreached, fmt.Sprintf("%s: %s", a.Provider.Name, j.Redact.Text(a.Err.Error())))
		case !slices.Contains(out.Places, a.Place):
			out.Places = append(out.Places, a.Place)
			reached = append(reached, a)
		}
	}
	slices.SortFunc(out.Places, func(a, b reconcile.Place) int { return strings.Compare(a.String(), b.String()) })
	return reached, nil
}

// orphan reads an object with an owner tag. What an entry knows, and what a listing shows late, is none. The error is that of
// an object that cannot be read: only its own owner tag says whose it is.
func (s *scanning) orphan(ctx context.Context, f *observe.Tagged) (Thing, bool, error) {
	kind, ok := s.w.Catalog.Kind(f.Kind)
	if !ok || s.w.Owners.By(state.Object{Kind: f.Kind, Location: f.Way.Place, Identity: f.Identity}, "") != "" {
		return Thing{}, false, nil
	}
	found := f.Found
	found.Mark = nil // the object itself says, not a listing that may be late
	t, there, err := s.read(ctx, kind, f.Way, found)
	if err != nil || !there || t.Owner == nil || t.Standing == StandingForeign {
		return Thing{}, false, err
	}
	return t, true, nil
}

// declares reports whether a program declares an address, now or under another name.
func declares(g *Graph, addr string) bool {
	return slices.ContainsFunc(g.Resources, func(r graph.Resource) bool {
		return r.Address == addr || slices.Contains(r.Options.RenamedFrom, addr)
	})
}

// planGone plans the deletion of objects that no row knows. Those of an address that has a row are deleted beside it.
func (w *Draft) planGone(ctx context.Context, gone map[string][]*observe.Tagged) (*plan.Plan, error) {
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	w.Damaged = nil // a row that cannot be read has nothing to do with it
	for _, addr := range slices.Sorted(maps.Keys(gone)) {
		if rec := w.Records[addr]; rec != nil {
			w.planBeside(ctx, rec.Clone(), gone[addr])
			continue
		}
		n := w.foundNode(addr, gone[addr], w.FindsOwn())
		w.lookAt(ctx, n)
		w.leftovers().ClassifyLeftover(n)
		w.Leftover = append(w.Leftover, n)
	}
	w.guarding().guardAll(ctx, w.Leftover)
	return w.document(ctx, &plan.Plan{Destroy: true}, outcome{}, w.program.Digest)
}

// planBeside plans the deletion of what carries the owner tag of an address whose row knows another object. The row
// stays as it is: what it allows and forbids holds for these too.
func (w *Draft) planBeside(ctx context.Context, rec *state.Entry, things []*observe.Tagged) {
	rec.Generations, rec.Needs, rec.Cut = nil, nil, nil
	n := &plan.Node{
		Declaration: plan.Declaration{Address: rec.Address}, Tracked: plan.Tracked{Entry: rec}, Decision: plan.Decision{Beside: true, Plan: &plan.Planned{Address: rec.Address}},
	}
	w.Leftover = append(w.Leftover, n)
	for _, f := range things {
		n.Kind, _ = w.Planner.Catalog.Kind(f.Kind)
		n.Spec, n.Access = n.Kind.Spec(), f.Way
		g := &state.Generation{
			Number: rec.NumberFor(f.Mark.Generation), State: statestore.Condemned, Kind: f.Kind, Location: f.Way.Place,
			Identity: f.Identity, Name: f.Name, Settings: f.Way.Settings,
		}
		rec.Generations = append(rec.Generations, g)
		n.Plan.Kind, n.Plan.Action, n.Plan.Identity, n.Plan.Generation, n.Plan.Place = f.Kind, plan.Delete, f.Identity, g.Number, g.Location
		n.Job = w.RecordedJob(n, f.Way, g)
		if err := n.Saw(observe.See(ctx, n.Kind, n.Job)); err != nil {
			w.Block(n, err)
			return
		}
		w.leftovers().ClassifyDelete(n, g)
		if w.guarding().Guard(n, n.Look().Holds); n.Plan.Action == plan.Blocked {
			return
		}
	}
	n.Plan = nil // each has a line of its own
}
