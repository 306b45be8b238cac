package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// work is what planning finds out and applying goes on with: one per plan.
type work struct {
	e       *Engine
	o       PlanOptions
	graph   *Graph // never nil; empty for destroy
	destroy bool
	// edit is set where nothing but the record is changed, or marks with it.
	edit *edit
	// orphans is the program, nil for none, of a plan that deletes what no row knows and leaves the record as it is.
	orphans *Graph
	// sought is the program of a destroy, nil without one; missed are the lines of what of it could not be looked for.
	sought *Graph
	missed []Planned
	// drift is set when drift is planned: graph then holds what was deployed last.
	drift *drift
	snap  *statestore.Snapshot

	// records by address, after moves; moved are old addresses to new ones; damaged those that cannot be read.
	records map[string]*state.Entry
	moved   map[string]string
	damaged map[string]error

	*finder
	devRules
	leftover []*node        // on record or found, and not declared
	kept     []string       // of those, the ones that a dev session leaves
	selected map[*node]bool // nil: all

	// lost: there are no rows, and the stage was deployed before.
	lost bool

	refusals []Problem

	// digest of the graph, made beside everything else and there when digested is closed.
	digested  <-chan struct{}
	digest    string
	digestErr error

	abroad *otherStages
	// strangers counts what another store of this stage has marked.
	strangers int
	gate      *calls.Gate
	values    *values.Values
}

// newWork reads the record and opens it.
func (e *Engine) newWork(ctx context.Context, g *Graph, destroy bool, o PlanOptions) (*work, error) {
	stage := statestore.Stage{Stack: g.Stack, Name: g.Stage}
	w := &work{
		e: e, o: o, graph: g, destroy: destroy, moved: map[string]string{}, damaged: map[string]error{},
		gate: calls.NewGate(e.Parallel), values: e.newValues(g, stage),
	}
	cloud := observe.New(e.Catalog, stage, g.Dir, e.Key.Digest, w.gate, e.Warm.kept())
	w.finder = &finder{slots: &state.Slots{}, take: o.Take, jobs: &jobs{
		cloud: cloud, stage: stage, dir: g.Dir, key: e.Key, dev: e.Dev, redact: &e.redact, owners: &state.Owners{}, force: o.Force,
		budget: &values.Budget{},
	}}
	w.index = w.newIndex()
	w.devRules = devRules{o.Dev, stage.Name}
	w.abroad = &otherStages{store: e.Store, but: stage}
	var err error
	if w.snap, err = e.Store.Load(ctx, stage); err != nil {
		return nil, err
	}
	if w.store, err = e.Store.ID(ctx); err != nil {
		return nil, err
	}
	if err := e.Key.Check(w.snap.KeyID); err != nil {
		return nil, err
	}
	w.openRows()
	w.fresh = len(w.snap.Rows) == 0 && len(w.snap.Damaged) == 0
	w.lost, err = e.stateLost(ctx, w)
	return w, err
}

// newValues are the values that a program refers to.
func (e *Engine) newValues(g *Graph, stage statestore.Stage) *values.Values {
	return values.New(values.Source{
		Stage: stage, Dir: g.Dir, Secrets: g.Secrets, Then: g.Funcs.Then, Read: e.Secret, Peers: e.Peers, Key: e.Key, Redact: &e.redact,
	})
}

// stateLost reports that this machine remembers the stage and that the store knows neither a resource nor a run of it. A run
// that was cut before its first result has not ended, and has lost nothing.
func (e *Engine) stateLost(ctx context.Context, w *work) (bool, error) {
	if !w.fresh || !e.Known || w.snap.LastRun != nil {
		return false, nil
	}
	runs, err := e.Store.Runs(ctx, w.stage, 1)
	return len(runs) == 0, err
}

// read indexes the graph, and moves entries to the addresses that the program gives them.
func (w *work) read(ctx context.Context) error {
	w.index = w.newIndex()
	problems := w.index.read(ctx)
	if w.drift == nil {
		moves, wrong := renames(w.declared, w.records)
		for _, err := range wrong {
			problems = append(problems, Problem{Err: err})
		}
		for old, addr := range moves {
			w.nodes[addr].from = old
		}
		if len(moves) > 0 {
			w.relocate(moves)
			w.followNeeds(moves)
		}
	}
	if len(problems) > 0 {
		return &GraphError{problems}
	}
	return w.arrange(w.records)
}

func (w *work) newIndex() *index {
	return &index{
		catalog: w.e.Catalog, graph: w.graph, values: w.values, redact: w.redact, was: w.drift.deployed, local: w.local,
		nodes: map[string]*node{}, attrNames: map[string][]string{}, specs: map[string]*reconcile.Spec{},
	}
}

// shed lets go of what rows hold sealed once they are open: with many rows it is most of what a snapshot weighs.
func (w *work) shed() {
	for addr := range w.records {
		row := w.snap.Rows[addr]
		row.Body = nil
		w.snap.Rows[addr] = row
	}
}

// openRows decodes all rows, on all cores. What cannot be read is set apart and stops nobody else.
func (w *work) openRows() {
	w.records = make(map[string]*state.Entry, len(w.snap.Rows))
	rows := make([]statestore.Row, 0, len(w.snap.Rows))
	for _, row := range w.snap.Rows {
		rows = append(rows, row)
	}
	records, errs := make([]*state.Entry, len(rows)), make([]error, len(rows))
	parallel(len(rows), runtime.GOMAXPROCS(0), func(i int) {
		records[i], errs[i] = state.Open(rows[i], w.stage, w.e.Key)
	})
	for i, row := range rows {
		if errs[i] != nil {
			w.damaged[row.Address] = errs[i]
			continue
		}
		w.records[row.Address] = records[i]
	}
	for addr, err := range w.snap.Damaged {
		w.damaged[addr] = err
	}
}

// parallel calls do for 0..n-1 from up to workers goroutines.
func parallel(n, workers int, do func(int)) {
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

func anyMap(m map[string]any) any {
	if len(m) == 0 {
		return map[string]any{}
	}
	return m
}

// resolve puts values into a tree as far as they are known.
func (x *index) resolve(ctx context.Context, t *token.Template) (token.Resolved, error) {
	return x.resolveWas(ctx, t, nil)
}

// resolveWas resolves references to nodes of was by the attributes of older things of theirs: to find what has no record
// and belongs to those.
func (x *index) resolveWas(ctx context.Context, t *token.Template, was map[*node]map[string]any) (token.Resolved, error) {
	return t.Resolve(func(e token.Expr) (token.Value, error) { return x.lookup(ctx, e, was) })
}

// lookup is the value of one expression, as far as it is known now; was is as in resolveWas.
func (x *index) lookup(ctx context.Context, e token.Expr, was map[*node]map[string]any) (token.Value, error) {
	switch e.Op {
	case token.OpSecret, token.OpStack, token.OpThen:
		return x.values.Lookup(ctx, e)
	default:
		if was != nil && e.Ref.Path != "" {
			if v, ok := tree.Get(was[x.nodes[e.Ref.Address]], e.Ref.Path); ok {
				return token.Value{Any: v}, nil
			}
		}
		return x.value(e.Ref)
	}
}

// value is an attribute, as far as it is known now.
func (x *index) value(ref token.Ref) (token.Value, error) {
	n, ok := x.nodes[ref.Address]
	if !ok {
		return token.Value{}, fmt.Errorf("nothing is declared as %q", ref.Address)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	first, below := ref.Path.First()
	if n.attrs == nil || n.unknown || below && n.moving[first.Key] {
		return token.Value{Unknown: true}, nil
	}
	var v any = n.attrs
	if below {
		if v, ok = tree.Get(n.attrs, ref.Path); !ok {
			return token.Value{}, fmt.Errorf("%s has no value at %s", ref.Address, ref.Path)
		}
	}
	secret := x.redact.Holds(v)
	for _, p := range n.spec.SecretAttrs {
		if ref.Path.Within(p) || p.Within(ref.Path) {
			secret = true
			x.redact.Learn(v)
		}
	}
	return token.Value{Any: v, Secret: secret}, nil
}

// mark is what a thing of this stage carries.
func (j *jobs) mark(addr string, generation uint64) reconcile.Mark {
	return reconcile.Mark{Stack: j.stage.Stack, Stage: j.stage.Name, Address: addr, Generation: generation, Store: j.store}
}
