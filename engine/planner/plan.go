package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Plan makes the plan of deploying a program. The error is beside the plan as far as that came.
func (e *Planner) Plan(ctx context.Context, g *Graph, o plan.PlanOptions) (*plan.Plan, error) {
	w, err := e.NewWork(ctx, g, Policy{PlanOptions: o, renames: true, collects: true, discovers: !o.NoObserve})
	if err != nil {
		return nil, err
	}
	w.Again = func(ctx context.Context) (*plan.Plan, error) { return e.Plan(ctx, g, o) }
	w.Policy.narrows = o.Dev != nil && o.Dev.Narrow && !w.fresh && !o.NoObserve
	for i := range g.Resources {
		e.Redact.Public(g.Resources[i].Props) // as the program writes them: secrets stand in them by name
	}
	if o.Incomplete && !o.NoObserve && !w.fresh {
		if err := w.complete(ctx); err != nil {
			return nil, err
		}
	}
	return w.makePlan(ctx, &plan.Plan{})
}

// PlanDestroy makes the plan of destroying a stage. The graph may be nil, or without resources.
func (e *Planner) PlanDestroy(ctx context.Context, stage statestore.Stage, g *Graph, o plan.PlanOptions) (*plan.Plan, error) {
	policy := Policy{PlanOptions: o, renames: true, collects: true, hidesOutputs: true, Waives: true}
	if g != nil {
		policy.declared = g.Resources
	}
	w, err := e.NewWork(ctx, EmptyGraph(stage, g), policy)
	if err != nil {
		return nil, err
	}
	w.Again = func(ctx context.Context) (*plan.Plan, error) { return e.PlanDestroy(ctx, stage, g, o) }
	if g != nil {
		w.Program.values = e.newValues(g, stage)
	}
	if err := w.recall(ctx, g); err != nil {
		return nil, err
	}
	return w.makePlan(ctx, &plan.Plan{Destroy: true})
}

// makePlan is planning, from the first step to the last: index the program, find what is in state and not declared,
// open the way to every location, observe, decide, and write the document.
func (w *Draft) makePlan(ctx context.Context, doc *plan.Plan) (*plan.Plan, error) {
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
	if err := w.Check(w.Records, w.Stage); err != nil {
		return nil, err
	}
	w.Slots.Hold(w.Records)
	w.Owners.Hold(w.Records)
	var err error
	if w.Chosen, err = w.Choose(w.Policy.PlanOptions, w.Leftover); err != nil {
		return nil, err
	}
	if err := w.reachAll(ctx, w.Leftover, w.IsSelected); err != nil {
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
	var left []string
	for addr, rec := range w.Records {
		if n := w.Nodes[addr]; n != nil && n.Decl != nil {
			n.Entry = rec
		} else if w.Policy.collects {
			left = append(left, addr)
		}
	}
	slices.Sort(left)
	for _, addr := range left {
		w.Leftover = append(w.Leftover, w.LeftNode(addr, w.Records[addr]))
	}
	for addr, err := range w.Damaged {
		if n := w.Nodes[addr]; n != nil && n.Decl != nil {
			n.Err = plan.Unreadable(addr, err)
		}
	}
}

// leave takes off the plan what a dev session leaves as it is, and returns it.
func (w *Draft) leave(undeclared []*plan.Node) []*plan.Node {
	left := w.Leaves(undeclared, w.Chosen, w.Forget)
	for _, n := range left {
		w.Deselect(n)
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
	skip := func(n *plan.Node) bool { return !w.IsSelected(n) }
	declared := slices.DeleteFunc(slices.Clone(w.Declared), skip)
	w.retypeAll(ctx, declared)
	w.lookAhead(ctx, declared, slices.DeleteFunc(slices.Clone(w.Leftover), skip))
}

// outcome is what the passes came to beside the decisions about single addresses.
type outcome struct {
	declared []*plan.Node // in the order of their addresses
	left     []*plan.Node // that a dev session leaves as they are
	// strangers counts what another store of this stage has tagged.
	strangers int
}

// decide runs the passes over what was observed, each on what those before it have decided.
func (w *Draft) decide(ctx context.Context, narrowing *narrowing) outcome {
	c, declared := w.classifier(), w.Reserve()
	w.walk(c, narrowing).run(ctx)
	plan.DeleteFirst{Index: w.Index}.Spread()
	c.OneOwner()
	l := w.leftovers()
	extra := w.undeclared(w.FindsOwn())
	Parallel(len(extra), Lookers, func(i int) { w.lookAt(ctx, extra[i]) })
	w.Leftover = append(w.Leftover, extra...)
	left := w.leave(extra)
	all := slices.Concat(w.Leftover, w.Declared)
	for _, n := range w.Leftover {
		if w.IsSelected(n) {
			l.ClassifyLeftover(n)
			l.Surviving(n, all)
		}
	}
	w.guarding().guardAll(ctx, slices.Concat(w.Declared, w.Leftover))
	l.GoWith(w.Leftover)
	return outcome{declared, left, c.Strangers}
}

func (w *Draft) walk(c *plan.Classifier, narrowing *narrowing) *walk {
	k := &walk{
		observer: w.observer, Chosen: w.Chosen, decides: c, o: w.Policy, narrowing: narrowing, builder: w.Builder(), abroad: w.abroad, tell: w.Planner.Events,
	}
	if w.Snap.LastRun != nil && !w.lastRun("state", "rotate") { // these delete no object
		k.lastRun = w.Snap.LastRun.Ended
	}
	return k
}

func (w *Draft) classifier() *plan.Classifier {
	return &plan.Classifier{Basis: w.Basis, Refusals: w.Refusals, Options: w.Policy.PlanOptions, Guards: w.Guards(), Lost: w.lost, Drift: w.drift}
}

func (w *Draft) leftovers() *plan.Leftovers {
	return &plan.Leftovers{Basis: w.Basis, Refusals: w.Refusals, Chosen: w.Chosen, Options: w.Policy.PlanOptions, Guards: w.Guards()}
}

// Guards are what keeps objects from being deleted or replaced unasked.
func (w *Draft) Guards() plan.Guards {
	return plan.Guards{Catalog: w.Catalog, Replace: w.Policy.Replace, AllowDelete: w.Policy.AllowDelete}
}

func (w *Draft) guarding() *holding {
	return &holding{&plan.Guarding{Guards: w.Guards(), DevRules: w.DevRules, Chosen: w.Chosen, Refusals: w.Refusals}, w.Jobs}
}

// document makes the plan of what was decided.
func (w *Draft) document(ctx context.Context, p *plan.Plan, o outcome, digest func() (string, error)) (*plan.Plan, error) {
	p.Format, p.Stack, p.Stage, p.Serial, p.Unobserved = plan.PlanFormat, w.Stage.Stack, w.Stage.Name, w.Snap.Serial, w.Policy.NoObserve
	p.Recovered, p.Dev, p.Made = w.lost, w.Planner.Dev != nil, time.Now().UTC()
	p.MadeWith(w)
	if w.Snap.Serial > 0 || w.Snap.LastRun != nil {
		p.Store = w.Store // before the first run it may be a store that nobody has made yet
	}
	var err error
	if p.Digest, err = digest(); err != nil {
		return nil, err
	}
	unreadable := w.unreadables()
	p.Actions = w.lines().All(slices.Concat(o.declared, w.Leftover))
	if len(w.Missed.Lines)+len(w.drift.Stuck)+len(unreadable) > 0 {
		p.Actions = slices.Concat(w.Missed.Lines, p.Actions, w.drift.Stuck, unreadable)
	}
	byAddress := func(a, b plan.Planned) int { return strings.Compare(a.Address, b.Address) }
	if !slices.IsSortedFunc(p.Actions, byAddress) {
		p.Actions = slices.Clone(p.Actions) // the nodes keep theirs
		slices.SortStableFunc(p.Actions, byAddress)
	}
	for i := range p.Actions {
		p.CountLine(&p.Actions[i])
	}
	p.Causes = plan.CausesOf(p.Actions, w.Nodes, w.Masks)
	p.Left = w.drift.Left
	slices.SortStableFunc(p.Left, func(a, b plan.Left) int { return strings.Compare(a.Address, b.Address) })
	p.Outputs, p.Used = w.Outputs().planned(ctx), w.Program.values.Used()
	p.OutputChanges = w.Outputs().changes(ctx, p.Acts())
	p.Summary.OutputsChanged = len(p.OutputChanges)
	p.Warnings = slices.Concat(
		plan.UnfollowedWarnings(w.Declared), w.discovered.retained(), w.Missed.warnings, plan.StoreWarnings(o.strangers),
		plan.RenameHints(w.Leftover, w.Declared, w.declares(ctx)), plan.KeptWarnings(o.left), plan.IdleWarnings(w.Policy.PlanOptions, w.Declared, w.Leftover),
	)
	w.Outputs().Failed(ctx, func(e plan.Event) { p.Warnings = append(p.Warnings, e.Note) })
	w.Planner.Warm.planned(p, w.Index)
	p.Violations = violations(p, w.Graph.Funcs.Policies)
	for _, v := range p.Violations {
		if !v.Warning {
			w.Problems = append(w.Problems, plan.Problem{Address: v.Address, Err: fmt.Errorf("policy %s: %s", v.Policy, v.Message)})
		}
	}
	return p, w.Refused()
}

// unreadables are the lines of entries that cannot be read and that the program does not declare.
func (w *Draft) unreadables() []plan.Planned {
	var lines []plan.Planned
	for addr, err := range w.Damaged {
		if n := w.Nodes[addr]; n != nil && n.Decl != nil {
			n.Plan.Identity = w.damagedIdentity(addr)
			continue
		}
		lines = append(lines, plan.Planned{
			Address: addr, Action: plan.Blocked, Identity: w.damagedIdentity(addr), Confined: true,
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
	return outputs{program: w.Program, snap: w.Snap, key: w.Key, keep: w.Policy.keepsOutputs, none: w.Policy.leavesOutputs, shown: !w.Policy.hidesOutputs}
}

func (w *Draft) lines() *plan.Lines {
	return &plan.Lines{
		Announcer: plan.Announcer{
			Catalog: w.Catalog, Unobserved: w.Policy.NoObserve, MayDelete: w.Guards().MayDelete, DeletedWith: w.Index.GoesWith,
		},
		Basis: w.Basis, DevRules: w.DevRules, Chosen: w.Chosen, KeepsReplaced: !w.Policy.collects,
	}
}

// violations are what the policies of a program find in a finished plan, before approval.
func violations(p *plan.Plan, policies []func(*plan.Plan) []plan.Violation) []plan.Violation {
	for _, policy := range policies {
		p.Violations = append(p.Violations, policy(p)...)
	}
	return p.Violations
}
