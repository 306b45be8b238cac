package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// restoring makes the program that was deployed last, of the state.
type restoring struct {
	*Jobs
	drift   *plan.Drift
	program *Graph // nil without one
	graph   *Graph // is filled
	records map[string]*state.Entry
	damaged map[string]error
	// last are the outputs that the last run wrote.
	last func() (map[string]any, map[string]bool)
}

// restore makes the graph of a drift plan: what was deployed last. A resource that the program still declares as it
// was deployed is taken from the program, so that it follows what it refers to; any other from its row.
func (d *restoring) restore(ctx context.Context) {
	d.Nodes = map[string]*plan.Node{}
	for _, addr := range slices.Sorted(maps.Keys(d.records)) {
		d.remember(addr, d.records[addr])
	}
	declared, later := d.declarations()
	for _, addr := range slices.Sorted(maps.Keys(d.Nodes)) {
		n := d.Nodes[addr]
		r, was := d.asDeployed(n), &plan.Deployed{Literal: true, Needs: n.Entry.UncutNeeds()}
		d.drift.Of[addr] = was
		if d.program != nil {
			d.sinceDeployed(ctx, n, was, declared[addr], later[addr], &r)
		}
		if was.Literal {
			was.Secret = d.secretPaths(n)
		}
		d.graph.Resources = append(d.graph.Resources, r)
	}
	d.newSince(declared, later)
	d.graph.Outputs = d.sameOutputs(ctx)
	d.Nodes = nil
}

// remember makes a node of a row that can be compared.
func (d *restoring) remember(addr string, rec *state.Entry) {
	g := rec.Live()
	if c := rec.Candidate(); c != nil {
		why := "its creation was interrupted"
		switch {
		case g != nil:
			why = "its replacement was interrupted"
		case c.Intent != nil && c.Intent.Undo:
			why = "its undo was interrupted"
		}
		d.drift.Left = append(d.drift.Left, plan.Left{Address: addr, Kind: c.Kind, Why: why})
		return
	}
	if g == nil {
		return
	}
	if rec.MovingFrom != "" {
		d.drift.Left = append(d.drift.Left, plan.Left{Address: addr, Kind: g.Kind, Why: "its move from " + rec.MovingFrom + " was interrupted"})
		return
	}
	kind, err := d.Cloud.KindOf(addr, g.Kind)
	if err != nil {
		d.drift.Stuck = append(d.drift.Stuck, plan.Planned{
			Address: addr, Kind: g.Kind, Action: plan.Blocked, Identity: g.Identity, Generation: g.Number, Place: g.Location,
			Problem: err.Error(), Hint: strings.Join(reconcile.Hints(err), "; "), Confined: true,
		})
		return
	}
	d.Nodes[addr] = &plan.Node{
		Declaration: plan.Declaration{Address: addr, Kind: kind, Spec: d.spec(kind, g.Kind)}, Tracked: plan.Tracked{Entry: rec}, Forecast: plan.Forecast{Attrs: g.Attributes},
	}
}

// asDeployed is the declaration that a row remembers. Hooks that are functions of a program are there with it alone.
func (d *restoring) asDeployed(n *plan.Node) graph.Resource {
	r := graph.Resource{Address: n.Address, Kind: n.Spec.Type, Settings: n.Entry.Settings, Props: n.Entry.Props, Options: n.Entry.Options()}
	gone := func(h graph.Hook) bool { return h.Func != "" && d.graph.Funcs.Hooks[h.Func] == nil }
	r.Options.Before = slices.DeleteFunc(slices.Clone(r.Options.Before), gone)
	r.Options.After = slices.DeleteFunc(slices.Clone(r.Options.After), gone)
	return r
}

// secretPaths are those of a row's props that must stay masked. What they hold is learned.
func (d *restoring) secretPaths(n *plan.Node) map[tree.Path]bool {
	if len(n.Entry.SecretPaths) == 0 {
		return nil
	}
	paths := make(map[tree.Path]bool, len(n.Entry.SecretPaths))
	for _, p := range n.Entry.SecretPaths {
		if v, ok := tree.Get(n.Entry.Props, p); ok {
			paths[p] = true
			d.Redact.Learn(v)
		}
	}
	return paths
}

// declarations are the program's resources by address, and those that say what a row is called now by its old address.
func (d *restoring) declarations() (declared, later map[string]*graph.Resource) {
	declared, later = map[string]*graph.Resource{}, map[string]*graph.Resource{}
	if d.program == nil {
		return declared, later
	}
	for i := range d.program.Resources {
		r := &d.program.Resources[i]
		declared[r.Address] = r
		for _, old := range r.Options.RenamedFrom {
			if d.Nodes[r.Address] == nil {
				later[old] = r
			}
		}
	}
	return declared, later
}

// sinceDeployed compares the program with a row: what is the same is taken from the program, what is not is left.
func (d *restoring) sinceDeployed(ctx context.Context, n *plan.Node, was *plan.Deployed, now, renamed *graph.Resource, r *graph.Resource) {
	left := plan.Left{Address: n.Address, Kind: n.Spec.Type}
	switch {
	case now == nil && renamed != nil:
		left.Why = "the program calls it " + renamed.Address
	case now == nil:
		left.Why = "the program no longer declares it"
	case now.Kind != n.Spec.Type && now.Kind != n.Spec.Stands:
		left.Why = "the program makes it " + now.Kind
	case !tree.Equal(plan.AnyMap(now.Settings), plan.AnyMap(n.Entry.Settings)):
		left.Why = "the program moves it to another place"
	default:
		c := d.changesOf(ctx, n, now)
		if c.same {
			was.Literal, r.Props = false, now.Props
		}
		if r.Source = now.Source; len(c.reasons) == 0 {
			return
		}
		left.Why, left.Reasons = "the program changed it", c.reasons
		for _, reason := range c.reasons {
			was.Moved = append(was.Moved, reason.Path)
		}
		was.Aside = slices.Clone(was.Moved)
	}
	d.drift.Left = append(d.drift.Left, left)
}

// changes are what a declaration changed since it was deployed.
type changes struct {
	// same: nothing, for all that can be told.
	same    bool
	reasons []plan.Reason
}

// changesOf compares a declaration with the props in state, with the attributes in state in it. What cannot be known
// here, such as a secret that is not at hand, counts as unchanged.
func (d *restoring) changesOf(ctx context.Context, n *plan.Node, now *graph.Resource) changes {
	elsewhere := false // it refers to what was not deployed
	resolved, err := token.Resolve(plan.AnyMap(now.Props), func(x token.Expr) (token.Value, error) {
		if x.Op == token.OpRef && d.Nodes[x.Ref.Address] == nil {
			read := slices.ContainsFunc(d.program.Reads, func(r graph.Read) bool { return r.Address == x.Ref.Address })
			elsewhere = elsewhere || !read
			return token.Value{Unknown: true}, nil
		}
		v, err := d.lookup(ctx, x, nil)
		if err != nil {
			return token.Value{Unknown: true}, nil
		}
		return v, nil
	})
	if err != nil {
		return changes{} // planning says what is wrong with it
	}
	props, _ := resolved.Tree.(map[string]any)
	ignored := slices.Concat(n.Entry.Options().IgnoreChanges, now.Options.IgnoreChanges)
	var c changes
	differs := func(p tree.Path, have, want any) {
		if slices.ContainsFunc(ignored, func(q tree.Path) bool { return p.Within(q) }) || plan.Within(resolved.Unknown, p) && !elsewhere {
			return
		}
		r := plan.Reason{Path: p, Have: have, Want: want, Source: plan.ByProgram, Unknown: plan.Within(resolved.Unknown, p)}
		if d.EverSecret(n, p) || plan.Within(resolved.Secret, p) || d.Redact.Holds(have) || d.Redact.Holds(want) {
			r.Secret, r.Have, r.Want = true, plan.MaskOf(have), plan.MaskOf(want)
		}
		c.reasons = append(c.reasons, r)
	}
	plan.Differences(n.Entry.Props, props, differs)
	c.same = len(c.reasons) == 0 && len(resolved.Unknown) == 0
	return c
}

// newSince leaves what the program declares and no row knows.
func (d *restoring) newSince(declared, later map[string]*graph.Resource) {
	renamed := map[string]bool{}
	for old, r := range later {
		renamed[r.Address] = renamed[r.Address] || d.Nodes[old] != nil
	}
	for addr, r := range declared {
		if d.records[addr].Present() == nil && !renamed[addr] && d.damaged[addr] == nil {
			d.drift.Left = append(d.drift.Left, plan.Left{Address: addr, Kind: r.Kind, Why: "the program declares it since"})
		}
	}
}

// sameOutputs are the program's outputs that come out as they did at the last deploy: they follow a repair.
func (d *restoring) sameOutputs(ctx context.Context) map[string]any {
	if d.program == nil {
		return nil
	}
	old, _ := d.last()
	same := map[string]any{}
	for name, v := range d.program.Outputs {
		r, err := token.Resolve(v, func(x token.Expr) (token.Value, error) { return d.lookup(ctx, x, nil) })
		if had, ok := old[name]; ok && err == nil && len(r.Unknown) == 0 && tree.Equal(r.Tree, had) {
			same[name] = v
		}
	}
	return same
}

// PlanDrift makes the plan that puts back what was deployed last. Without a graph it goes by the state alone.
func (e *Planner) PlanDrift(ctx context.Context, stage statestore.Stage, g *Graph, o plan.PlanOptions) (*plan.Plan, error) {
	d := &plan.Drift{Of: map[string]*plan.Deployed{}}
	was, program := EmptyGraph(stage, g), (*Graph)(nil)
	if g != nil && len(g.Resources) > 0 {
		program, was.Secrets, was.Funcs = g, g.Secrets, Funcs{Then: g.Funcs.Then, Hooks: g.Funcs.Hooks}
	}
	w, err := e.NewWork(ctx, was, Policy{
		PlanOptions: plan.PlanOptions{Target: o.Target, Exclude: o.Exclude}, hidesOutputs: true, keepsOutputs: true, refusesEach: true,
	})
	if err != nil {
		return nil, err
	}
	if w.fresh && w.Snap.LastRun == nil {
		return nil, reconcile.WithHint(fmt.Errorf("%w: %s was never deployed, or its state is lost", plan.ErrNothingKnown, stage), "`athanor deploy` makes what the program declares, and finds what is there")
	}
	w.fresh = false // what is not in state cannot drift: nothing is looked for
	w.drift, w.Program.was = d, d.Deployed
	w.Again = func(ctx context.Context) (*plan.Plan, error) { return e.PlanDrift(ctx, stage, g, o) }
	if w.program = program; program == nil {
		w.program = EmptyGraph(stage, nil)
	}
	(&restoring{Jobs: w.Jobs, drift: d, program: program, graph: was, records: w.Records, damaged: w.Damaged, last: w.Outputs().last}).restore(ctx)
	return w.makePlan(ctx, &plan.Plan{Drift: true})
}
