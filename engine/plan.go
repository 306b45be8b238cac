package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// planFormat is the version of the plan document.
const planFormat = 1

// Plan says what deploying the graph would do. It writes nothing, neither to the store nor to the world.
// What is wrong with the graph is a *GraphError, what cannot be done a *RefusedError with everything in it, both
// beside the plan as far as it came.
func (e *Engine) Plan(ctx context.Context, g *Graph, o PlanOptions) (*Plan, error) {
	w, err := e.newWork(ctx, g, false, o)
	if err != nil {
		return nil, err
	}
	for i := range g.Resources {
		e.redact.Public(g.Resources[i].Props) // as the program writes them: secrets stand in them by name
	}
	if o.Incomplete && !o.NoObserve && !w.fresh {
		if err := w.complete(ctx); err != nil {
			return nil, err
		}
	}
	return w.makePlan(ctx)
}

// PlanDestroy says what destroying a stage would do. It goes by state, by the owner tags in every location that state or the
// program names, and by what the program declares and no entry has. The graph may be nil, or without resources. Nothing is
// built. What is declared and could not be looked for is a blocked line, with which the destroy is not complete.
func (e *Engine) PlanDestroy(ctx context.Context, stage statestore.Stage, g *Graph, o PlanOptions) (*Plan, error) {
	empty := &Graph{Format: GraphFormat, Stack: stage.Stack, Stage: stage.Name}
	if g != nil {
		empty.Dir = g.Dir
	}
	w, err := e.newWork(ctx, empty, true, o)
	if err != nil {
		return nil, err
	}
	w.sought = g
	if g != nil {
		w.values = e.newValues(g, stage)
	}
	if err := w.recall(ctx, g); err != nil {
		return nil, err
	}
	return w.makePlan(ctx)
}

func (w *work) makePlan(ctx context.Context) (*Plan, error) {
	w.shed()
	digest := make(chan struct{})
	go func() {
		defer close(digest)
		w.digest, w.digestErr = w.program().Digest()
	}()
	defer func() { <-digest }()
	w.digested = digest
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.gate))
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	w.leave()
	if err := w.checkDev(); err != nil {
		return nil, err
	}
	w.slots.Hold(w.records)
	w.owners.Hold(w.records)
	if err := w.selects(); err != nil {
		return nil, err
	}
	if err := w.reachAll(ctx); err != nil {
		return nil, err
	}
	if err := w.clashes(ctx); err != nil {
		return nil, err
	}
	w.builder().prepare(ctx, w.sleeps)
	if w.fresh && !w.o.NoObserve && !w.destroy {
		if err := w.discover(ctx); err != nil {
			return nil, err
		}
	}
	if problems := w.lookReads(ctx); len(problems) > 0 {
		return nil, &RefusedError{problems}
	}
	if w.narrows() {
		w.narrow(ctx)
	}
	w.leaveKept(w.leftover)
	if w.o.NoObserve {
		for _, n := range slices.Concat(w.declared, w.leftover) {
			w.unobserved(ctx, n)
		}
	} else {
		w.lookAhead(ctx)
	}
	w.decide(ctx)
	return w.document(ctx)
}

// leave makes the nodes of what is on record and no longer declared.
func (w *work) leave() {
	for _, addr := range slices.Sorted(maps.Keys(w.records)) {
		rec := w.records[addr]
		if n, ok := w.nodes[addr]; ok && n.decl != nil {
			n.rec = rec
			continue
		}
		if w.drift != nil {
			continue // not deployed, or no longer what it was: nothing can drift from that
		}
		w.leftover = append(w.leftover, w.leftNode(addr, rec))
	}
	for addr, err := range w.damaged {
		if n := w.nodes[addr]; n != nil && n.decl != nil {
			n.err = unreadable(addr, err)
		}
	}
}

func (w *work) leftNode(addr string, rec *state.Entry) *node {
	n := &node{declaration: declaration{addr: addr, needs: rec.Needs}, tracked: tracked{rec: rec}}
	if len(rec.Generations) > 0 {
		if g := n.present(); g != nil {
			n.kind, _ = w.e.Catalog.Kind(g.Kind)
		} else {
			n.kind, _ = w.e.Catalog.Kind(rec.Generations[0].Kind)
		}
	}
	if n.kind != nil {
		n.spec = n.kind.Spec()
	}
	if _, taken := w.nodes[addr]; !taken {
		w.nodes[addr] = n
	}
	return n
}

// decide classifies all nodes, upstreams first. What had to wait for upstreams before it could be looked at is looked
// at level by level, many at once.
func (w *work) decide(ctx context.Context) {
	levels := w.levels()
	w.decideLevels(ctx, levels)
	for w.widenCycles(ctx) {
		w.decideLevels(ctx, levels)
	}
	w.reconsider(ctx)
	deleteFirst{w.index}.spread()
	w.oneOwner()
	w.classifyLeftovers(ctx)
	w.guardAll(ctx)
}

// decideLevels classifies all that is selected and not classified yet.
func (w *work) decideLevels(ctx context.Context, levels [][]*node) {
	for _, level := range levels {
		w.widenLevel(ctx, level)
		w.builder().prepareLevel(ctx, level, func(n *node) bool { return !w.isSelected(n) || w.sleeps(n) })
		var late []*node
		for _, n := range level {
			if !n.looked && n.err == nil && w.isSelected(n) && !w.sleeps(n) && n.blockedBy() == nil {
				late = append(late, n)
			}
		}
		parallel(len(late), lookers, func(i int) {
			w.lookAt(ctx, late[i])
			late[i].current = late[i].err == nil
		})
		for _, n := range level {
			switch {
			case w.isSelected(n) && !n.decided:
				w.classify(ctx, n)
				n.decided = true
			case w.isSelected(n):
			case w.narrows():
				w.believe(n)
			default:
				w.pass(n)
				w.consult(ctx, n)
			}
		}
	}
}

// levels are the declared nodes by the longest chain below them.
func (w *work) levels() [][]*node {
	var levels [][]*node
	of := make(map[*node]int, len(w.sorted))
	for _, n := range w.sorted {
		level := 0
		for _, up := range n.ups {
			level = max(level, of[up]+1)
		}
		of[n] = level
		if n.decl == nil {
			continue
		}
		for len(levels) <= level {
			levels = append(levels, nil)
		}
		levels[level] = append(levels[level], n)
	}
	return levels
}

// reconsider compares the members of cycles again: when they were classified, what they need through a late path was
// not decided yet.
func (w *work) reconsider(ctx context.Context) {
	for _, n := range w.sorted {
		if n.decl == nil || len(n.cut) == 0 || !w.isSelected(n) || n.plan.Action != Unchanged && n.plan.Action != Update {
			continue
		}
		w.classify(ctx, n)
	}
}

// document makes the plan of what was decided.
func (w *work) document(ctx context.Context) (*Plan, error) {
	p := &Plan{
		Format: planFormat, Stack: w.stage.Stack, Stage: w.stage.Name, Destroy: w.destroy, Serial: w.snap.Serial,
		Unobserved: w.o.NoObserve, Recovered: w.lost, Dev: w.e.Dev != nil, Made: time.Now().UTC(), work: w,
	}
	if w.snap.Serial > 0 || w.snap.LastRun != nil {
		p.Store = w.store // before the first run it may be a store that nobody has made yet
	}
	if <-w.digested; w.digestErr != nil {
		return nil, w.digestErr
	}
	p.Digest = w.digest
	for addr := range w.damaged {
		if n := w.nodes[addr]; n != nil && n.decl != nil {
			n.plan.Identity = w.damagedIdentity(addr)
		}
	}
	nodes := slices.Concat(w.declared, w.leftover)
	slices.SortStableFunc(nodes, func(a, b *node) int { return compareStrings(a.addr, b.addr) })
	p.Actions = append(make([]Planned, 0, len(nodes)+len(w.missed)), w.missed...)
	for _, n := range nodes {
		p.Actions = append(p.Actions, w.untied(n)...)
		if n.plan != nil {
			w.jobs.mask(n.plan)
			n.plan.From = cmp.Or(n.plan.From, n.begunAt(n.rec.Candidate()))
			n.plan.Steps = w.announcer().announce(n)
			p.Actions = append(p.Actions, *n.plan)
		}
		p.Actions = append(p.Actions, w.condemned(n)...)
	}
	w.driftInto(p)
	for _, f := range w.discovered.all {
		if f.Mark.Retained {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s was retained by %s; it is left alone", f.Kind, f.Identity, f.Mark.Address))
		}
	}
	for addr, err := range w.damaged {
		if n := w.nodes[addr]; n != nil && n.decl != nil {
			continue
		}
		p.Actions = append(p.Actions, Planned{
			Address: addr, Action: Blocked, Identity: w.damagedIdentity(addr), Confined: true,
			Problem: "its record cannot be read: " + err.Error(), Hint: "deploy again without the record: what is there is found by reading",
		})
	}
	byAddress := func(a, b Planned) int { return compareStrings(a.Address, b.Address) }
	if !slices.IsSortedFunc(p.Actions, byAddress) {
		slices.SortStableFunc(p.Actions, byAddress)
	}
	for i := range p.Actions {
		p.count(&p.Actions[i])
	}
	p.Outputs, p.Used = w.outputs().planned(ctx), w.values.Used()
	p.OutputChanges = w.outputs().changes(ctx, p.acts())
	p.Summary.OutputsChanged = len(p.OutputChanges)
	p.Warnings = append(append(append(p.Warnings, w.storeWarnings()...), hints(w.leftover, w.declared)...), w.keptWarnings()...)
	w.e.Warm.planned(p, w)
	w.policies(p)
	if len(w.refusals) > 0 {
		return p, &RefusedError{w.refusals}
	}
	return p, nil
}

func (w *work) builder() *builder {
	return &builder{sorted: w.sorted, declared: w.declared, dir: w.dir, cache: w.e.Cache, warm: w.e.Warm}
}

func (w *work) outputs() outputs {
	return outputs{
		index: w.index, snap: w.snap, key: w.key, keep: w.drift != nil, none: w.orphans != nil,
		shown: !w.destroy && w.edit == nil && w.drift == nil,
	}
}

func (w *work) announcer() announcer {
	return announcer{catalog: w.catalog, unobserved: w.o.NoObserve, mayDelete: w.guards().mayDelete}
}

// mask redacts what reasons and notes could show of a secret that reached a path by another way.
func (j *jobs) mask(a *Planned) {
	for i := range a.Reasons {
		if r := &a.Reasons[i]; !r.Secret && (j.redact.Holds(r.Have) || j.redact.Holds(r.Want)) {
			r.Secret, r.Have, r.Want = true, maskOf(r.Have), maskOf(r.Want)
		}
	}
}

func maskOf(v any) any {
	if v == nil {
		return nil
	}
	return reconcile.Mask
}

// policies run on the finished plan, before approval.
func (w *work) policies(p *Plan) {
	for _, policy := range w.graph.Funcs.Policies {
		for _, v := range policy(p) {
			p.Violations = append(p.Violations, v)
			if !v.Warning {
				w.refusals = append(w.refusals, Problem{Address: v.Address, Err: fmt.Errorf("policy %s: %s", v.Policy, v.Message)})
			}
		}
	}
}

// shown replaces the tokens in a value by what people read.
func shown(v any) any {
	if s, ok := v.(string); ok {
		return token.Show(s)
	}
	return v
}

// hints notice what looks like a rename: one row to be deleted, one new resource of the kind, equal props. It is never
// acted on. Where several are alike, nothing tells which became which.
func hints(leftover, declared []*node) []string {
	if len(leftover) == 0 {
		return nil
	}
	type pair struct{ gone, come []*node }
	pairs := map[string]*pair{}
	of := func(kind string, props map[string]any) *pair {
		id := kind + string(tree.Canonical(anyMap(props)))
		if pairs[id] == nil {
			pairs[id] = &pair{}
		}
		return pairs[id]
	}
	for _, n := range leftover {
		if n.plan != nil && n.plan.Action == Delete && n.spec != nil {
			p := of(n.spec.Type, n.rec.Props)
			p.gone = append(p.gone, n)
		}
	}
	for _, n := range declared {
		if n.plan.Action == Create && n.rec == nil && n.job != nil {
			p := of(n.spec.Type, n.job.Props)
			p.come = append(p.come, n)
		}
	}
	var hints []string
	for _, p := range pairs {
		if len(p.gone) == 1 && len(p.come) == 1 {
			gone, come := p.gone[0].addr, p.come[0].addr
			hints = append(hints, fmt.Sprintf("%s looks like %s under a new name: renamedFrom: [%s] would keep it", come, gone, gone))
		}
	}
	slices.Sort(hints)
	return hints
}
