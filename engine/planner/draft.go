package planner

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Planner makes the plans of the stages of one store. It reads, and writes nothing.
type Planner struct {
	// Catalog holds every kind that can be declared or deleted.
	Catalog *reconcile.Catalog
	Store   statestore.Store
	// Key is the key of the stage.
	Key *seal.Key
	// Known says that this machine remembers a deploy of the stage, whatever the store says.
	Known bool
	// Parallel bounds the calls in flight; 0 means 16.
	Parallel int
	// Cache is the folder for builds; "" is the current folder.
	Cache string
	// Secret reads the value of a secret; nil reads what its source names.
	Secret func(ctx context.Context, name string, source graph.SecretSource) (string, error)
	// Peers opens the states of other stacks, for references to their outputs; nil: there can be none.
	Peers values.Peers
	// Events receives warnings while a plan is made, and what happens when it is applied.
	Events func(plan.Event)
	// Reading receives which resources a plan reads, from many goroutines at once. Nil: nobody watches.
	Reading func(Reading)
	// Dev is the dev session that plans are made for; nil outside of one.
	Dev *reconcile.Dev
	// Warm keeps what is expensive from one plan to the next; nil keeps nothing.
	Warm *Warm
	// Redact learns the secrets that are met, and masks them.
	Redact *redact.Redactor
}

// Policy says how a plan is made. Each of its fields decides one question, and none says for which command that is.
type Policy struct {
	plan.PlanOptions
	// renames: entries follow the earlier addresses that the program names.
	renames bool
	// collects: what is not declared is deleted, and so is what was replaced.
	collects bool
	// discovers: without any entry everything with an owner tag of the stage is searched for.
	discovers bool
	// narrows: only what state and program disagree about is observed.
	narrows bool
	// hidesOutputs: a plan does not list which outputs change. keepsOutputs: outputs that are not declared keep their
	// values. leavesOutputs: all do.
	hidesOutputs, keepsOutputs, leavesOutputs bool
	// Waives: changed outputs, and where the program lies, are no reason for a run of their own.
	Waives bool
	// declared are the resources of the program of a destroy: what is in state as they have it is not held twice.
	declared []graph.Resource
	// wholeRows: the rows of the state are held beside its entries.
	wholeRows bool
	// refusesEach: a refusal stops its own resource, and no other.
	refusesEach bool
}

// Edit is what is done where nothing but the state is changed, or owner tags with it. Who applies a plan knows how.
type Edit interface {
	// Also reports that there is more to do than the plan's actions show.
	Also() bool
}

// Draft is a plan in the making, and what applying it goes on with.
type Draft struct {
	Planner *Planner
	Policy  Policy
	// Again makes the plan once more, on the state of then.
	Again func(context.Context) (*plan.Plan, error)
	// Edit is what is done where nothing but the state is changed, or owner tags with it.
	Edit Edit
	// program is what the plan document names by its digest.
	program *Graph
	*Stored
	*observer
	plan.DevRules
	*plan.Chosen
	*plan.Refusals
	Leftover []*plan.Node // in state or found, and not declared
	drift    *plan.Drift  // what is left to the next deploy
	Missed   missed
	abroad   *otherStages
	Gate     *calls.Gate
}

// NewWork opens the state of a stage. The graph is never nil; it is empty where everything is to be deleted.
func (e *Planner) NewWork(ctx context.Context, g *Graph, o Policy) (*Draft, error) {
	stage := statestore.Stage{Stack: g.Stack, Name: g.Stage}
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	store, err := e.Store.ID(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.Key.Check(snap.KeyID); err != nil {
		return nil, err
	}
	declared := g.Resources
	if len(declared) == 0 {
		declared = o.declared
	}
	o.declared = nil // the draft need not hold them
	dev := plan.DevRules{Session: o.Dev, Name: stage.Name}
	w := &Draft{
		Planner: e, Policy: o, program: g, Stored: openStored(snap, e.Key, declared, o.wholeRows), DevRules: dev, Chosen: &plan.Chosen{}, drift: &plan.Drift{}, Gate: calls.NewGate(e.Parallel),
		Refusals: &plan.Refusals{Masks: e.Redact, Each: o.refusesEach}, abroad: &otherStages{store: e.Store, but: stage},
	}
	program := &Program{
		Basis: &plan.Basis{Index: &plan.Index{Catalog: e.Catalog, Redact: e.Redact}, Stage: stage, Store: store, Owners: &state.Owners{}, Dev: e.Dev},
		Graph: g, values: e.newValues(g, stage), was: func(string) *plan.Deployed { return nil },
		local: func(r *graph.Resource) *graph.Resource { return dev.Local(e.Catalog, r) },
	}
	program.reset()
	cloud := observe.New(e.Catalog, stage, g.Dir, e.Key.Digest, w.Gate, e.Warm.kept())
	w.observer = &observer{&finder{Slots: &state.Slots{}, take: o.Take, fresh: w.isEmpty(), Jobs: &Jobs{
		Program: program, Cloud: cloud, Dir: g.Dir, Key: e.Key, force: o.Force, budget: &values.Budget{},
		mask: e.Redact.Text, digest: e.Key.Digest, spare: new(sync.Pool),
	}}}
	cloud.Expect(familyKindsOf(e.Catalog, w.Records, g).of)
	reachKinds(reconcile.WithFolder(ctx, g.Dir), e.Catalog, cloud, w.Records)
	w.lost, err = e.stateLost(ctx, w.Stored)
	return w, err
}

// reachKinds opens the ways to objects of kinds that the catalog does not know, by the settings that state keeps: a provider whose kinds
// depend on its settings learns them, so that an object can be deleted without the program that declared it. [observe.Reader.At] returns
// the error of a way.
func reachKinds(ctx context.Context, catalog *reconcile.Catalog, cloud *observe.Reader, records map[string]*state.Entry) {
	for _, rec := range records {
		for _, g := range rec.Generations {
			if p, ok := catalog.ProviderOf(g.Kind); !ok || p.Declared == nil {
				continue
			}
			if _, known := catalog.Kind(g.Kind); !known {
				cloud.ReachOf(ctx, rec, g)
			}
		}
	}
}

// newValues are the values that a program refers to.
func (e *Planner) newValues(g *Graph, stage statestore.Stage) *values.Values {
	return values.New(values.Source{
		Stage: stage, Dir: g.Dir, Secrets: g.Secrets, Then: g.Funcs.Then, Read: e.Secret, Peers: e.Peers, Key: e.Key, Redact: e.Redact,
	})
}

// stateLost reports that this machine remembers the stage and that the store knows neither a resource nor a run of it. A run
// that was cut before its first result has not ended, and has lost nothing.
func (e *Planner) stateLost(ctx context.Context, s *Stored) (bool, error) {
	if !s.isEmpty() || !e.Known || s.Snap.LastRun != nil {
		return false, nil
	}
	runs, err := e.Store.Runs(ctx, s.Snap.Stage, 1)
	return len(runs) == 0, err
}

// read indexes the program, and moves entries to the addresses that it gives them.
func (w *Draft) read(ctx context.Context) error {
	problems := w.Program.read(ctx)
	if w.Policy.renames {
		moves, wrong := plan.Renames(w.Declared, w.Records)
		for _, err := range wrong {
			problems = append(problems, plan.Problem{Err: err})
		}
		for old, addr := range moves {
			w.Nodes[addr].From = old
		}
		if len(moves) > 0 {
			w.Relocate(moves, w.Planner.Key)
			w.followNeeds(moves)
		}
	}
	if len(problems) > 0 {
		return &plan.GraphError{Problems: problems}
	}
	return w.Arrange(w.Records)
}

// Parallel calls do for 0..n-1 from up to workers goroutines.
func Parallel(n, workers int, do func(int)) {
	if n == 0 {
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(workers, n) {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				do(int(i - 1))
			}
		})
	}
	wg.Wait()
}

// DraftOf returns what a plan was made with, nil for one that was read from a document.
func DraftOf(p *plan.Plan) *Draft {
	w, _ := p.Work().(*Draft)
	return w
}
