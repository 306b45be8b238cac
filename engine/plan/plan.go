package plan

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
	w, err := e.NewWork(ctx, g, Policy{PlanOptions: o, renames: true, collects: true, discovers: !o.NoObserve})
	if err != nil {
		return nil, err
	}
	w.Again = func(ctx context.Context) (*Plan, error) { return e.Plan(ctx, g, o) }
	w.Policy.narrows = o.Dev != nil && o.Dev.Narrow && !w.fresh && !o.NoObserve
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
	w, err := e.NewWork(ctx, EmptyGraph(stage, g), Policy{PlanOptions: o, renames: true, collects: true, hidesOutputs: true, Waives: true})
	if err != nil {
		return nil, err
	}
	w.Again = func(ctx context.Context) (*Plan, error) { return e.PlanDestroy(ctx, stage, g, o) }
	if g != nil {
		w.Index.values = e.newValues(g, stage)
	}
	if err := w.recall(ctx, g); err != nil {
		return nil, err
	}
	return w.makePlan(ctx, &Plan{Destroy: true})
}

// makePlan is planning, from the first step to the last: index the program, find what is in state and not declared,
// open the way to every location, observe, decide, and write the document.
func (w *Draft) makePlan(ctx context.Context, doc *Plan) (*Plan, error) {
	w.shed()
	digest := digesting(w.program)
	defer digest() //nolint:errcheck // it is awaited, whatever becomes of the plan
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	if err := BetweenStages(ctx, w); err != nil {
		return nil, err
	}
	w.enter()
	if err := w.check(w.Records, w.Stage); err != nil {
		return nil, err
	}
	w.Slots.Hold(w.Records)
	w.Owners.Hold(w.Records)
	var err error
	if w.Chosen, err = w.choose(w.Policy.PlanOptions, w.Leftover); err != nil {
		return nil, err
	}
	if err := w.reachAll(ctx, w.Leftover, w.IsSelected); err != nil {
		return nil, err
	}
	if err := w.clashes(ctx); err != nil {
		return nil, err
	}
	if err := (&overlaps{Jobs: w.Jobs}).find(ctx); err != nil {
		return nil, err
	}
	w.Builder().prepare(ctx, w.Sleeps)
	if w.fresh && w.Policy.discovers {
		if err := w.discover(ctx); err != nil {
			return nil, err
		}
		w.lost = w.lost || len(w.discovered.all) > 0
	}
	if err := w.lookReads(ctx, w.Planner.Warm, w.Policy.narrows); err != nil {
		return nil, err
	}
	narrowing := w.narrowing(ctx)
	left := w.leave(w.Leftover)
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
func (w *Draft) enter() {
	for _, addr := range slices.Sorted(maps.Keys(w.Records)) {
		rec := w.Records[addr]
		if n, ok := w.Nodes[addr]; ok && n.Decl != nil {
			n.Entry = rec
			continue
		}
		if w.Policy.collects {
			w.Leftover = append(w.Leftover, w.LeftNode(addr, rec))
		}
	}
	for addr, err := range w.Damaged {
		if n := w.Nodes[addr]; n != nil && n.Decl != nil {
			n.err = Unreadable(addr, err)
		}
	}
}

// leave takes off the plan what a dev session leaves as it is, and returns it.
func (w *Draft) leave(undeclared []*Node) []*Node {
	left := w.leaves(undeclared, w.Chosen, w.Graph.Forget)
	for _, n := range left {
		w.deselect(n)
	}
	return left
}

// observe reads everything that can be read before anything is decided.
func (w *Draft) observe(ctx context.Context) {
	if w.Policy.NoObserve {
		for _, n := range slices.Concat(w.Declared, w.Leftover) {
			w.unobserved(ctx, n)
		}
		return
	}
	skip := func(n *Node) bool { return !w.IsSelected(n) }
	w.lookAhead(ctx, slices.DeleteFunc(slices.Clone(w.Declared), skip), slices.DeleteFunc(slices.Clone(w.Leftover), skip))
}

// outcome is what the passes came to beside the decisions about single addresses.
type outcome struct {
	left []*Node // that a dev session leaves as they are
	// strangers counts what another store of this stage has tagged.
	strangers int
}

// decide runs the passes over what was observed, each on what those before it have decided.
func (w *Draft) decide(ctx context.Context, narrowing *narrowing) outcome {
	c := w.classifier()
	(&walk{classifier: c, Chosen: w.Chosen, narrowing: narrowing, builder: w.Builder()}).run(ctx)
	deleteFirst{w.Index}.spread()
	c.oneOwner()
	l := w.leftovers()
	extra := l.undeclared()
	Parallel(len(extra), Lookers, func(i int) { w.lookAt(ctx, extra[i]) })
	w.Leftover = append(w.Leftover, extra...)
	left := w.leave(extra)
	all := slices.Concat(w.Leftover, w.Declared)
	for _, n := range w.Leftover {
		if w.IsSelected(n) {
			l.classifyLeftover(n)
			l.surviving(n, all)
		}
	}
	w.guarding().guardAll(ctx, slices.Concat(w.Declared, w.Leftover))
	l.goWith(w.Leftover)
	return outcome{left, c.strangers}
}

func (w *Draft) classifier() *classifier {
	c := &classifier{
		observer: w.observer, Refusals: w.Refusals, o: w.Policy, guards: w.Guards(), lost: w.lost, abroad: w.abroad, drift: w.drift, tell: w.Planner.Events,
	}
	if w.Snap.LastRun != nil && !w.lastRun("state", "rotate") { // these delete no object
		c.lastRun = w.Snap.LastRun.Ended
	}
	return c
}

func (w *Draft) leftovers() *leftovers {
	return &leftovers{finder: w.finder, Refusals: w.Refusals, Chosen: w.Chosen, o: w.Policy, guards: w.Guards(), dev: w.FindsOwn()}
}

// Guards are what keeps objects from being deleted or replaced unasked.
func (w *Draft) Guards() Guards {
	return Guards{catalog: w.Catalog, replace: w.Policy.Replace, allowDelete: w.Policy.AllowDelete}
}

func (w *Draft) guarding() *guarding {
	return &guarding{Guards: w.Guards(), jobs: w.Jobs, DevRules: w.DevRules, Chosen: w.Chosen, Refusals: w.Refusals}
}

// document makes the plan of what was decided.
func (w *Draft) document(ctx context.Context, p *Plan, o outcome, digest func() (string, error)) (*Plan, error) {
	p.Format, p.Stack, p.Stage, p.Serial, p.Unobserved = planFormat, w.Stage.Stack, w.Stage.Name, w.Snap.Serial, w.Policy.NoObserve
	p.Recovered, p.Dev, p.Made, p.work = w.lost, w.Planner.Dev != nil, time.Now().UTC(), w
	if w.Snap.Serial > 0 || w.Snap.LastRun != nil {
		p.Store = w.Store // before the first run it may be a store that nobody has made yet
	}
	var err error
	if p.Digest, err = digest(); err != nil {
		return nil, err
	}
	unreadable := w.unreadables()
	p.Actions = w.lines().all(slices.Concat(w.Declared, w.Leftover))
	if len(w.Missed.Lines)+len(w.drift.stuck)+len(unreadable) > 0 {
		p.Actions = slices.Concat(w.Missed.Lines, p.Actions, w.drift.stuck, unreadable) // a copy: nodes keep their lines
	}
	byAddress := func(a, b Planned) int { return CompareStrings(a.Address, b.Address) }
	if !slices.IsSortedFunc(p.Actions, byAddress) {
		slices.SortStableFunc(p.Actions, byAddress)
	}
	for i := range p.Actions {
		p.count(&p.Actions[i])
	}
	p.Causes = causesOf(p.Actions, w.Nodes, w.masks)
	p.Left = w.drift.left
	slices.SortStableFunc(p.Left, func(a, b Left) int { return CompareStrings(a.Address, b.Address) })
	p.Outputs, p.Used = w.Outputs().planned(ctx), w.Index.values.Used()
	p.OutputChanges = w.Outputs().changes(ctx, p.acts())
	p.Summary.OutputsChanged = len(p.OutputChanges)
	p.Warnings = slices.Concat(
		unfollowed(w.Declared), w.discovered.retained(), storeWarnings(o.strangers), hints(w.Leftover, w.Declared), keptWarnings(o.left),
	)
	w.Planner.Warm.planned(p, w.Index)
	p.Violations = violations(p, w.Graph.Funcs.Policies)
	for _, v := range p.Violations {
		if !v.Warning {
			w.Problems = append(w.Problems, Problem{Address: v.Address, Err: fmt.Errorf("policy %s: %s", v.Policy, v.Message)})
		}
	}
	return p, w.Refused()
}

// unreadables are the lines of entries that cannot be read and that the program does not declare.
func (w *Draft) unreadables() []Planned {
	var lines []Planned
	for addr, err := range w.Damaged {
		if n := w.Nodes[addr]; n != nil && n.Decl != nil {
			n.Plan.Identity = w.damagedIdentity(addr)
			continue
		}
		lines = append(lines, Planned{
			Address: addr, Action: Blocked, Identity: w.damagedIdentity(addr), Confined: true,
			Problem: "its state entry cannot be read: " + err.Error(), Hint: "deploy again without the state entry: athanor finds the object by reading",
		})
	}
	return lines
}

// Builder prepares the files that declared resources are made of.
func (w *Draft) Builder() *Builder {
	return &Builder{sorted: w.Sorted, declared: w.Declared, dir: w.Dir, cache: w.Planner.Cache, warm: w.Planner.Warm}
}

// Outputs are those of the program, as the plan and its run tell and keep them.
func (w *Draft) Outputs() outputs {
	return outputs{index: w.Index, snap: w.Snap, key: w.Key, keep: w.Policy.keepsOutputs, none: w.Policy.leavesOutputs, shown: !w.Policy.hidesOutputs}
}

func (w *Draft) lines() *lines {
	return &lines{
		announcer: announcer{
			catalog: w.Catalog, unobserved: w.Policy.NoObserve, mayDelete: w.Guards().MayDelete, deletedWith: w.Index.GoesWith,
		},
		Jobs: w.Jobs, DevRules: w.DevRules, Chosen: w.Chosen, none: !w.Policy.collects,
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
func hints(leftover, declared []*Node) []string {
	if len(leftover) == 0 {
		return nil
	}
	type pair struct{ gone, come []*Node }
	pairs := map[string]*pair{}
	of := func(kind string, props map[string]any) *pair {
		id := kind + string(tree.Canonical(AnyMap(props)))
		if pairs[id] == nil {
			pairs[id] = &pair{}
		}
		return pairs[id]
	}
	for _, n := range leftover {
		if n.Plan != nil && n.Plan.Action == Delete && n.Spec != nil {
			p := of(n.Spec.Type, n.Entry.Props)
			p.gone = append(p.gone, n)
		}
	}
	for _, n := range declared {
		if n.Plan.Action == Create && n.Entry == nil && n.Job != nil {
			p := of(n.Spec.Type, n.Job.Props)
			p.come = append(p.come, n)
		}
	}
	var hints []string
	for _, p := range pairs {
		if len(p.gone) == 1 && len(p.come) == 1 {
			gone, come := p.gone[0].Address, p.come[0].Address
			hints = append(hints, fmt.Sprintf("%s looks like %s under a new name: renamedFrom: [%s] would keep it", come, gone, gone))
		}
	}
	slices.Sort(hints)
	return hints
}
