package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// Runner applies the plans of a planner.
type Runner struct {
	*Planner
	// Remember makes it durable on this machine which store the stage has, before the first change of a run. Nil: nothing is
	// remembered.
	Remember func(ctx context.Context, store string) error
	// KeepDurations keeps in state how long operations take, with the last commit of a run.
	KeepDurations bool
	// Root is the project's directory, absolute: state says where a stack lies as seen from there. "": it does not say.
	Root string
	// User is who runs it, for the history.
	User string
	// RunHook runs the command of a hook and gives its output; nil is [exec.Cmd.CombinedOutput].
	RunHook func(*exec.Cmd) (output []byte, err error)
}

// RunOptions say how a run goes.
type RunOptions struct {
	// Graph is the program of a plan that was read from a document, Plan how that is planned again.
	Graph *Graph
	Plan  PlanOptions
	// Approve is asked again when the state moved between planning and the lease and the new plan differs. Nil: not approved.
	Approve func(*Plan) bool
	// Wait queues for the lease that long; 0: not at all.
	Wait time.Duration
	// Command is the run's name in the history.
	Command string
	// Interrupt, when closed, starts nothing new and lets running calls finish.
	Interrupt <-chan struct{}
}

// Apply does what a plan says. A plan with nothing to do takes no lease, is not a run and commits nothing. Failures of single
// resources are in the result; an error means that the run as a whole could not be done.
func (e *Runner) Apply(ctx context.Context, p *Plan, o RunOptions) (*Result, error) {
	started := time.Now()
	announced, resumed := p, false
	if draftOf(p) == nil {
		var err error
		if p, resumed, err = e.derive(ctx, announced, o.Graph, o.Plan); err != nil {
			return nil, err
		}
	}
	w := draftOf(p)
	if err := w.refused(); err != nil {
		return nil, err
	}
	if !anythingToDo(ctx, w, p) {
		r := &Result{State: statestore.Succeeded, Summary: p.Summary, Calls: w.gate.Made(), Took: time.Since(started)}
		if p.Summary.Blocked > 0 {
			r.State = statestore.Failed // nothing could be done, and not because there was nothing to do
		}
		r.Outputs, r.Secret = w.outputs().values(ctx)
		r.Waiting = waitingOf(p)
		return r, nil
	}
	r := &run{e: e, w: w, plan: p, o: o, id: runID(), started: started}
	r.hold(announced, resumed)
	if announced != p {
		var err error
		if r.document, err = identity(e.Key, announced); err != nil {
			return nil, err
		}
	}
	return r.apply(ctx)
}

// run is one application of a plan.
type run struct {
	e       *Runner
	w       *work
	plan    *Plan
	o       RunOptions
	id      string
	started time.Time
	journal *statestore.Journal
	// document identifies the plan document that is applied; "" for a plan that was made for this run.
	document string

	*report
	*agreement
	*stops
	*maker
	cancelled sync.Once // it was said that somebody asked the run to stop
}

// hold holds the run to what a plan announces.
func (r *run) hold(p *Plan, resumed bool) {
	r.agreement = &agreement{contracts: contracts(p, resumed), announcedAt: p.Made, catalog: r.e.Catalog, reason: r.w.jobs.reason}
}

func runID() string { return time.Now().UTC().Format("20060102-150405-") + rand.Text()[:6] }

func (r *run) apply(ctx context.Context) (*Result, error) {
	journal, err := r.acquire(reconcile.WithInterrupt(ctx, r.o.Interrupt))
	if err != nil {
		return nil, err
	}
	r.journal = journal
	r.report = &report{run: r.id, redact: r.w.redact, journal: journal, show: r.e.Events, statuses: map[string]Status{}}
	r.stops = &stops{interrupt: r.o.Interrupt, journal: journal, told: r.sayCancelled}
	defer func() { _ = journal.Close() }() // after Finish there is nothing that it could lose
	ctx, unwatch := r.interruptible(ctx)
	defer unwatch()
	r.w.gate.Hold(&calls.Lease{Journal: journal, Stopping: r.stopping})
	if err := r.replan(ctx); err != nil {
		return nil, errors.Join(err, journal.Finish(context.WithoutCancel(ctx), statestore.Cancelled, nil))
	}
	ctx = reconcile.WithGate(ctx, r.w.gate)
	r.maker = r.newMaker()
	r.emit(Event{Type: EventRun, Status: StatusRunning, Action: Action(r.o.Command), Total: r.plan.Changes()})
	r.remember(ctx)
	if what, edits := r.w.edit.(*edit); edits {
		return r.edit(ctx, what)
	}
	if err := r.prelude(ctx); err != nil {
		return nil, errors.Join(err, journal.Finish(context.WithoutCancel(ctx), statestore.Failed, nil))
	}
	w, known := r.w, openDurations(r.w.snap, r.e.Key)
	works := r.worker(known)
	leftover := slices.DeleteFunc(slices.Clone(w.leftover), func(n *node) bool { return !w.isSelected(n) })
	planRemains(leftover)
	(&forwarding{maker: r.maker, works: works, leftover: leftover}).forward(ctx)
	if !r.stopping() {
		(&converging{maker: r.maker, chosen: w.chosen, stopping: r.stopping}).converge(ctx)
		r.tie(ctx)
		(&collecting{deleter: r.deleter, chosen: w.chosen, devRules: w.devRules, works: works, leftover: w.leftover, stored: w.stored}).collect(ctx)
	}
	var end statestore.Change
	r.keepDurations(&end, known)
	return r.finish(context.WithoutCancel(ctx), end)
}

// newMaker is what works on the plan that the run was left with.
func (r *run) newMaker() *maker {
	w := r.w
	deleter := &deleter{
		jobs: w.jobs, agreement: r.agreement, report: r.report,
		ledger:   &ledger{journal: r.journal, stage: w.stage, key: r.e.Key, owners: w.owners, index: w.index, first: r.introduction(), tasks: map[*node]*task{}},
		takeOver: w.o.TakeOver, guards: w.guards(), keeps: w.keeps, condemnedBefore: w.condemnedBefore,
	}
	settler := &settler{deleter: deleter, adoptAll: w.o.Adopt, findsOwn: w.findsOwn()}
	return &maker{creator: &creator{settler: settler, slots: w.slots, inDev: w.o.Dev != nil}, builder: w.builder()}
}

func (r *run) worker(known durations.Table) *worker {
	return &worker{
		report: r.report, agreement: r.agreement, gate: r.w.gate, stage: r.w.stage, stopping: r.stopping,
		hooks: r.w.graph.Funcs.Hooks, dir: r.w.graph.Dir, runHook: r.e.RunHook,
		known: known,
	}
}

// remember lets this machine remember the store before anything carries an owner tag with it.
func (r *run) remember(ctx context.Context) {
	if r.e.Remember == nil {
		return
	}
	if err := r.e.Remember(ctx, r.w.store); err != nil {
		r.emit(Event{Type: EventWarning, Note: "this machine could not remember the stack: " + err.Error()})
	}
}

// acquire takes the lease, queueing as long as it is told to.
func (r *run) acquire(ctx context.Context) (*statestore.Journal, error) {
	claim := statestore.Claim{Run: r.id, Command: r.o.Command, User: r.e.User}
	deadline := time.Now().Add(r.o.Wait)
	for {
		j, err := statestore.Begin(ctx, r.e.Store, r.w.stage, claim)
		if err == nil || !errors.Is(err, statestore.ErrHeld) || time.Now().After(deadline) {
			return j, err
		}
		switch stopped := reconcile.Wait(ctx, min(time.Second, time.Until(deadline)+time.Millisecond), nil); {
		case errors.Is(stopped, reconcile.ErrInterrupted):
			return nil, stopped
		case stopped != nil:
			return nil, err
		}
	}
}

// replan plans again when the record moved between planning and the lease; when the plan differs it is asked for again. A
// store that was made meanwhile by somebody else has another identity than the one that was planned with, which marks
// would not agree with.
func (r *run) replan(ctx context.Context) error {
	serial := r.journal.Lease().Serial
	store, err := r.e.Store.ID(ctx)
	if err != nil || serial == r.w.snap.Serial && store == r.w.store {
		return err
	}
	if r.document != "" {
		moved := fmt.Sprintf("state, from serial %d to %d", r.w.snap.Serial, serial)
		if store != r.w.store {
			moved = "the state store, which another run created meanwhile"
		}
		return &StaleError{Moved: []string{moved}}
	}
	p, err := r.again(ctx)
	if stopped := reconcile.Interrupted(ctx, nil); stopped != nil || err != nil {
		return cmp.Or(stopped, err)
	}
	if !samePlans(p, r.plan) && (r.o.Approve == nil || !r.o.Approve(p)) {
		return cmp.Or(reconcile.Interrupted(ctx, nil), ErrNotApproved)
	}
	draftOf(p).gate.Hold(&calls.Lease{Journal: r.journal, Stopping: r.stopping})
	r.plan, r.w = p, draftOf(p)
	r.hold(p, false)
	return nil
}

func (r *run) again(ctx context.Context) (*Plan, error) {
	ctx, end := endsWith(ctx)
	defer end()
	return r.w.again(ctx)
}

// samePlans reports that two plans announce the same.
func samePlans(a, b *Plan) bool {
	type announced struct {
		Actions []Planned
		Outputs []OutputChange
	}
	x, errX := json.Marshal(announced{a.Actions, a.OutputChanges})
	y, errY := json.Marshal(announced{b.Actions, b.OutputChanges})
	return errX == nil && errY == nil && string(x) == string(y)
}

// prelude is the first change of a run: renamed rows, rows of everything that was found again, and rows whose
// edges or options moved while the thing itself is settled.
func (r *run) prelude(ctx context.Context) error {
	change := statestore.Change{Move: r.w.moved}
	for _, n := range r.w.sorted {
		if n.decl == nil || n.plan == nil {
			continue
		}
		switch {
		case isFound(n):
			n.rec = recovered(n, r.w.nodes, r.w.findsOwn())
			r.w.owners.Change(nil, n.rec)
			n.others = nil
			if n.plan.Generation == 0 {
				n.plan.Generation = n.rec.Live().Number
			}
		case len(n.others) > 0:
			n.rec = r.recordOf(n) // what it was before, of another kind or elsewhere: later runs do not look for it
			n.condemnOthers(n.rec, r.w.findsOwn())
		case n.from != "", stale(r.w, n):
			r.refresh(n)
		case isTraced(n.rec):
			r.w.owners.Change(nil, n.rec)
		default:
			continue
		}
		if err := r.seal(&change, n.rec); err != nil {
			return err
		}
	}
	for _, n := range r.w.leftover {
		if !n.rec.Found {
			continue
		}
		if err := r.seal(&change, n.rec); err != nil {
			return err
		}
	}
	if len(change.Put) == 0 && len(change.Move) == 0 {
		return nil
	}
	r.introduce(&change)
	return r.journal.Commit(ctx, change)
}

// refresh brings what is recorded of a thing up to date with its declaration.
func (r *run) refresh(n *node) {
	rec := r.recordOf(n)
	live := rec.Live()
	if live != nil && n.plan.Action != Replace && n.plan.Action != Create {
		if c := rec.Candidate(); c != nil {
			c.State, c.Props = statestore.Condemned, first(c.Props, rec.Props) // the program was reverted
		}
	}
	if live != nil && n.job != nil && (n.plan.Action == Unchanged || n.plan.Action == Wait) {
		live.Settings = nil
		if len(n.job.Unknown) == 0 {
			keepSettled(rec, n, n.job)
		}
		if !n.spec.Recorded && !n.look.Absent && n.look.Attrs != nil {
			live.Attributes = seenAttrs(n, live.Attributes)
		}
	}
	n.rec = rec
}

// seenAttrs are the attributes that a look showed: a run that was cut may have changed the thing without recording it. What
// only the answer to its creation told is kept.
func seenAttrs(n *node, recorded map[string]any) map[string]any {
	attrs := maps.Clone(n.look.Attrs)
	for _, name := range n.spec.Once {
		if v, ok := recorded[name]; ok {
			attrs[name] = v
		}
	}
	return attrs
}

func first(a, b map[string]any) map[string]any {
	if a != nil {
		return a
	}
	return b
}

// stale reports that the record of a settled thing differs from its declaration in what no look shows.
func stale(w *work, n *node) bool {
	if n.rec == nil || n.was != nil || !w.isSelected(n) || n.plan.Action != Unchanged && n.plan.Action != Wait {
		return false
	}
	return w.outdated(n)
}

// sameBut compares props without ignored paths: what is there has its own values in them.
func sameBut(ignored []tree.Path, a, b map[string]any) bool {
	x, y := anyMap(a), anyMap(b)
	for _, p := range ignored {
		x, y = tree.Without(x, p), tree.Without(y, p)
	}
	return tree.Equal(x, y)
}

// sameOptions compares by what is written of options: nil and empty lists are equal.
func sameOptions(a, b graph.Options) bool {
	if a.IsZero() && b.IsZero() {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// ownedNeeds are the addresses with rows that a node depends on.
func (x *index) ownedNeeds(n *node) []string {
	if n.was != nil && n.rec != nil {
		return n.rec.Needs
	}
	var needs []string
	for _, a := range n.needs {
		if up := x.nodes[a]; up != nil && up.decl != nil && up.rec != nil && a != n.addr {
			needs = append(needs, a)
		}
	}
	return needs
}

func (l *ledger) needs(n *node) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index.ownedNeeds(n)
}

// anythingToDo reports whether applying would write anything at all.
func anythingToDo(ctx context.Context, w *work, p *Plan) bool {
	if p.Pending() || len(w.moved) > 0 {
		return true
	}
	if w.edit != nil {
		return w.edit.Also()
	}
	if slices.ContainsFunc(w.declared, func(n *node) bool { return stale(w, n) }) {
		return true
	}
	if w.o.waives {
		return w.snap.Holder != nil // another run is at work there: what is empty now need not stay so
	}
	sealed, changed := w.outputs().seal(ctx)
	return changed && sealed != nil
}
