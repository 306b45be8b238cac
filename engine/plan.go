package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// planFormat is the version of the plan document.
const planFormat = 1

// Plan makes the plan of deploying a program. The error is beside the plan as far as that came.
func (e *Planner) Plan(ctx context.Context, g *Graph, o PlanOptions) (*Plan, error) {
	w, err := e.newWork(ctx, g, policy{PlanOptions: o, renames: true, collects: true, discovers: !o.NoObserve})
	if err != nil {
		return nil, err
	}
	w.again = func(ctx context.Context) (*Plan, error) { return e.Plan(ctx, g, o) }
	w.o.narrows = o.Dev != nil && o.Dev.Narrow && !w.fresh && !o.NoObserve
	for i := range g.Resources {
		e.Redact.Public(g.Resources[i].Props) // as the program writes them: secrets stand in them by name
	}
	if o.Incomplete && !o.NoObserve && !w.fresh {
		if err := w.complete(ctx); err != nil {
			return nil, err
		}
	}
	return w.makePlan(ctx, &Plan{})
}

// PlanDestroy makes the plan of destroying a stage. The graph may be nil, or without resources.
func (e *Planner) PlanDestroy(ctx context.Context, stage statestore.Stage, g *Graph, o PlanOptions) (*Plan, error) {
	w, err := e.newWork(ctx, emptyGraph(stage, g), policy{PlanOptions: o, renames: true, collects: true, hidesOutputs: true, waives: true})
	if err != nil {
		return nil, err
	}
	w.again = func(ctx context.Context) (*Plan, error) { return e.PlanDestroy(ctx, stage, g, o) }
	if g != nil {
		w.index.values = e.newValues(g, stage)
	}
	if err := w.recall(ctx, g); err != nil {
		return nil, err
	}
	return w.makePlan(ctx, &Plan{Destroy: true})
}

// makePlan is planning, from the first step to the last: index the program, find what is in state and not declared,
// open the way to every location, observe, decide, and write the document.
func (w *work) makePlan(ctx context.Context, doc *Plan) (*Plan, error) {
	w.shed()
	digest := digesting(w.program)
	defer digest() //nolint:errcheck // it is awaited, whatever becomes of the plan
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.gate))
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	if err := betweenStages(ctx, w); err != nil {
		return nil, err
	}
	w.enter()
	if err := w.check(w.records, w.stage); err != nil {
		return nil, err
	}
	w.slots.Hold(w.records)
	w.owners.Hold(w.records)
	var err error
	if w.chosen, err = w.choose(w.o.PlanOptions, w.leftover); err != nil {
		return nil, err
	}
	if err := w.reachAll(ctx, w.leftover, w.isSelected); err != nil {
		return nil, err
	}
	if err := w.clashes(ctx); err != nil {
		return nil, err
	}
	if err := (&overlaps{jobs: w.jobs}).find(ctx); err != nil {
		return nil, err
	}
	w.builder().prepare(ctx, w.sleeps)
	if w.fresh && w.o.discovers {
		if err := w.discover(ctx); err != nil {
			return nil, err
		}
		w.lost = w.lost || len(w.discovered.all) > 0
	}
	if err := w.lookReads(ctx, w.e.Warm, w.o.narrows); err != nil {
		return nil, err
	}
	narrowing := w.narrowing(ctx)
	left := w.leave(w.leftover)
	ctx = w.watched(ctx)
	w.observe(ctx)
	outcome := w.decide(ctx, narrowing)
	outcome.left = slices.Concat(left, outcome.left)
	return w.document(ctx, doc, outcome, digest)
}

// digesting finds the digest of a graph beside everything else. What it returns waits for that.
func digesting(g *Graph) func() (string, error) {
	done := make(chan struct{})
	var digest string
	var err error
	go func() {
		defer close(done)
		digest, err = g.Digest()
	}()
	return func() (string, error) {
		<-done
		return digest, err
	}
}

// enter gives the declared nodes their entries, and makes nodes of what is in state and no longer declared.
func (w *work) enter() {
	for _, addr := range slices.Sorted(maps.Keys(w.records)) {
		rec := w.records[addr]
		if n, ok := w.nodes[addr]; ok && n.decl != nil {
			n.rec = rec
			continue
		}
		if w.o.collects {
			w.leftover = append(w.leftover, w.leftNode(addr, rec))
		}
	}
	for addr, err := range w.damaged {
		if n := w.nodes[addr]; n != nil && n.decl != nil {
			n.err = unreadable(addr, err)
		}
	}
}

// leave takes off the plan what a dev session leaves as it is, and returns it.
func (w *work) leave(undeclared []*node) []*node {
	left := w.leaves(undeclared, w.chosen, w.graph.Forget)
	for _, n := range left {
		w.deselect(n)
	}
	return left
}

// observe reads everything that can be read before anything is decided.
func (w *work) observe(ctx context.Context) {
	if w.o.NoObserve {
		for _, n := range slices.Concat(w.declared, w.leftover) {
			w.unobserved(ctx, n)
		}
		return
	}
	skip := func(n *node) bool { return !w.isSelected(n) }
	w.lookAhead(ctx, slices.DeleteFunc(slices.Clone(w.declared), skip), slices.DeleteFunc(slices.Clone(w.leftover), skip))
}

// outcome is what the passes came to beside the decisions about single addresses.
type outcome struct {
	left []*node // that a dev session leaves as they are
	// strangers counts what another store of this stage has tagged.
	strangers int
}

// decide runs the passes over what was observed, each on what those before it have decided.
func (w *work) decide(ctx context.Context, narrowing *narrowing) outcome {
	c := w.classifier()
	(&walk{classifier: c, chosen: w.chosen, narrowing: narrowing, builder: w.builder()}).run(ctx)
	deleteFirst{w.index}.spread()
	c.oneOwner()
	l := w.leftovers()
	extra := l.undeclared()
	parallel(len(extra), lookers, func(i int) { w.lookAt(ctx, extra[i]) })
	w.leftover = append(w.leftover, extra...)
	left := w.leave(extra)
	all := slices.Concat(w.leftover, w.declared)
	for _, n := range w.leftover {
		if w.isSelected(n) {
			l.classifyLeftover(n)
			l.surviving(n, all)
		}
	}
	w.guarding().guardAll(ctx, slices.Concat(w.declared, w.leftover))
	l.goWith(w.leftover)
	return outcome{left, c.strangers}
}

func (w *work) classifier() *classifier {
	c := &classifier{
		observer: w.observer, refusals: w.refusals, o: w.o, guards: w.guards(), lost: w.lost, abroad: w.abroad, drift: w.drift, tell: w.e.Events,
	}
	if w.snap.LastRun != nil && !w.lastRun("state", "rotate") { // these delete no object
		c.lastRun = w.snap.LastRun.Ended
	}
	return c
}

func (w *work) leftovers() *leftovers {
	return &leftovers{finder: w.finder, refusals: w.refusals, chosen: w.chosen, o: w.o, guards: w.guards(), dev: w.findsOwn()}
}

func (w *work) guards() guards {
	return guards{catalog: w.catalog, replace: w.o.Replace, allowDelete: w.o.AllowDelete}
}

func (w *work) guarding() *guarding {
	return &guarding{guards: w.guards(), jobs: w.jobs, devRules: w.devRules, chosen: w.chosen, refusals: w.refusals}
}

// document makes the plan of what was decided.
func (w *work) document(ctx context.Context, p *Plan, o outcome, digest func() (string, error)) (*Plan, error) {
	p.Format, p.Stack, p.Stage, p.Serial, p.Unobserved = planFormat, w.stage.Stack, w.stage.Name, w.snap.Serial, w.o.NoObserve
	p.Recovered, p.Dev, p.Made, p.work = w.lost, w.e.Dev != nil, time.Now().UTC(), w
	if w.snap.Serial > 0 || w.snap.LastRun != nil {
		p.Store = w.store // before the first run it may be a store that nobody has made yet
	}
	var err error
	if p.Digest, err = digest(); err != nil {
		return nil, err
	}
	unreadable := w.unreadables()
	actions := w.lines().all(slices.Concat(w.declared, w.leftover)) // there can be very many: they are copied only behind others
	p.Actions = slices.Insert(append(append(actions, w.drift.stuck...), unreadable...), 0, w.missed.lines...)
	byAddress := func(a, b Planned) int { return compareStrings(a.Address, b.Address) }
	if !slices.IsSortedFunc(p.Actions, byAddress) {
		slices.SortStableFunc(p.Actions, byAddress)
	}
	for i := range p.Actions {
		p.count(&p.Actions[i])
	}
	p.Causes = causesOf(p.Actions, w.nodes, w.masks)
	p.Left = w.drift.left
	slices.SortStableFunc(p.Left, func(a, b Left) int { return compareStrings(a.Address, b.Address) })
	p.Outputs, p.Used = w.outputs().planned(ctx), w.index.values.Used()
	p.OutputChanges = w.outputs().changes(ctx, p.acts())
	p.Summary.OutputsChanged = len(p.OutputChanges)
	p.Warnings = slices.Concat(
		unfollowed(w.declared), w.discovered.retained(), storeWarnings(o.strangers), hints(w.leftover, w.declared), keptWarnings(o.left),
	)
	w.e.Warm.planned(p, w.index)
	p.Violations = violations(p, w.graph.Funcs.Policies)
	for _, v := range p.Violations {
		if !v.Warning {
			w.problems = append(w.problems, Problem{Address: v.Address, Err: fmt.Errorf("policy %s: %s", v.Policy, v.Message)})
		}
	}
	return p, w.refused()
}

// unreadables are the lines of entries that cannot be read and that the program does not declare.
func (w *work) unreadables() []Planned {
	var lines []Planned
	for addr, err := range w.damaged {
		if n := w.nodes[addr]; n != nil && n.decl != nil {
			n.plan.Identity = w.damagedIdentity(addr)
			continue
		}
		lines = append(lines, Planned{
			Address: addr, Action: Blocked, Identity: w.damagedIdentity(addr), Confined: true,
			Problem: "its state entry cannot be read: " + err.Error(), Hint: "deploy again without the state entry: athanor finds the object by reading",
		})
	}
	return lines
}

func (w *work) builder() *builder {
	return &builder{sorted: w.sorted, declared: w.declared, dir: w.dir, cache: w.e.Cache, warm: w.e.Warm}
}

func (w *work) outputs() outputs {
	return outputs{index: w.index, snap: w.snap, key: w.key, keep: w.o.keepsOutputs, none: w.o.leavesOutputs, shown: !w.o.hidesOutputs}
}

func (w *work) lines() *lines {
	return &lines{
		announcer: announcer{
			catalog: w.catalog, unobserved: w.o.NoObserve, mayDelete: w.guards().mayDelete, deletedWith: w.index.goesWith,
		},
		jobs: w.jobs, devRules: w.devRules, chosen: w.chosen, none: !w.o.collects,
	}
}

// mask redacts what reasons and notes could show of a secret that reached a path by another way.
func mask(a *Planned, redact *redact.Redactor) {
	for i := range a.Reasons {
		if r := &a.Reasons[i]; !r.Secret && (redact.Holds(r.Have) || redact.Holds(r.Want)) {
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

// violations are what the policies of a program find in a finished plan, before approval.
func violations(p *Plan, policies []func(*Plan) []Violation) []Violation {
	for _, policy := range policies {
		p.Violations = append(p.Violations, policy(p)...)
	}
	return p.Violations
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
