package execute

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
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Runner applies the plans of a planner.
type Runner struct {
	*planner.Planner
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
	// PlanOptions say how a plan that was read from a document is planned again.
	plan.PlanOptions
	// Graph is the program that a plan was made of, for one that was read from a document. A destroy needs none.
	Graph *planner.Graph
	// Approve is asked again when the state moved between planning and the lease and the new plan differs. Nil: not approved.
	Approve func(*plan.Plan) bool
	// Wait queues for the lease that long; 0: not at all.
	Wait time.Duration
	// Command is the run's name in the history: "deploy", "destroy".
	Command string
	// Interrupt, when closed, starts nothing new and lets running calls finish. Cancelling the context cancels calls.
	Interrupt <-chan struct{}
}

// Apply does what a plan says. A plan with nothing to do takes no lease, is not a run and commits nothing. Failures of single
// resources are in the result; an error means that the run as a whole could not be done.
func (e *Runner) Apply(ctx context.Context, p *plan.Plan, o RunOptions) (*Result, error) {
	started := time.Now()
	announced, resumed := p, false
	if planner.DraftOf(p) == nil {
		var err error
		if p, resumed, err = e.Derive(ctx, announced, o.Graph, o.PlanOptions); err != nil {
			return nil, err
		}
	}
	w := planner.DraftOf(p)
	if err := w.Refused(); err != nil {
		return nil, err
	}
	if !anythingToDo(ctx, w, p) {
		r := &Result{State: statestore.Succeeded, Summary: p.Summary, Calls: w.Gate.Made(), Took: time.Since(started)}
		if p.Summary.Blocked > 0 {
			r.State = statestore.Failed // nothing could be done, and not because there was nothing to do
		}
		r.Outputs, r.Secret = w.Outputs().Values(ctx)
		r.Waiting = waitingOf(p)
		if r.Summary.OutputsFailed = w.Outputs().Failed(ctx, e.Planner.Events); r.Summary.OutputsFailed > 0 {
			r.State = statestore.Failed
		}
		return r, nil
	}
	r := &Run{Runner: e, Draft: w, Plan: p, o: o, id: runID(), started: started}
	r.hold(announced, resumed)
	if announced != p {
		var err error
		if r.document, err = planner.DocumentID(e.Key, announced); err != nil {
			return nil, err
		}
	}
	return r.apply(ctx)
}

// Run is one application of a plan.
type Run struct {
	Runner  *Runner
	Draft   *planner.Draft
	Plan    *plan.Plan
	o       RunOptions
	id      string
	started time.Time
	Journal *statestore.Journal
	// document identifies the plan document that is applied; "" for a plan that was made for this run.
	document string

	*report
	*agreement
	*stops
	*maker
	cancelled sync.Once // it was said that somebody asked the run to stop
}

// hold holds the run to what a plan announces.
func (r *Run) hold(p *plan.Plan, resumed bool) {
	r.agreement = &agreement{contracts: contracts(p, resumed), announcedAt: p.Made, catalog: r.Runner.Catalog, reason: r.Draft.Jobs.Reason}
}

func runID() string { return time.Now().UTC().Format("20060102-150405-") + rand.Text()[:6] }

func (r *Run) apply(ctx context.Context) (*Result, error) {
	journal, err := r.acquire(reconcile.WithInterrupt(ctx, r.o.Interrupt))
	if err != nil {
		return nil, err
	}
	r.Journal = journal
	r.report = &report{run: r.id, redact: r.Draft.Redact, journal: journal, show: r.Runner.Events, statuses: make(map[string]plan.Status, len(r.Plan.Actions))}
	r.stops = &stops{interrupt: r.o.Interrupt, journal: journal, told: r.sayCancelled}
	defer func() { _ = journal.Close() }() // after Finish there is nothing that it could lose
	ctx, unwatch := r.interruptible(ctx)
	defer unwatch()
	r.Draft.Gate.Hold(&calls.Lease{Journal: journal, Stopping: r.Stopping})
	if err := r.replan(ctx); err != nil {
		return nil, errors.Join(err, journal.Finish(context.WithoutCancel(ctx), statestore.Cancelled, nil))
	}
	ctx = reconcile.WithGate(ctx, r.Draft.Gate)
	r.maker = r.newMaker()
	r.emit(plan.Event{Type: plan.EventRun, Status: plan.StatusRunning, Action: plan.Action(r.o.Command), Total: r.Plan.Changes()})
	r.remember(ctx)
	if what, edits := r.Draft.Edit.(*StateEdit); edits {
		return r.edit(ctx, what)
	}
	if err := r.prelude(ctx); err != nil {
		return nil, errors.Join(err, journal.Finish(context.WithoutCancel(ctx), statestore.Failed, nil))
	}
	w, known := r.Draft, openDurations(r.Draft.Snap, r.Runner.Key)
	for _, n := range w.Declared {
		if n.Plan != nil && n.Entry == nil && n.Doing() == plan.Create && n.Look().Absent {
			n.DropValues() // with nothing to compare, its work makes a job of its own
		}
	}
	works := r.worker(known)
	leftover := slices.DeleteFunc(slices.Clone(w.Leftover), func(n *plan.Node) bool { return !w.IsSelected(n) })
	planRemains(leftover)
	(&forwarding{maker: r.maker, works: works, leftover: leftover}).forward(ctx)
	if !r.Stopping() {
		r.rest(ctx)
		(&converging{maker: r.maker, Chosen: w.Chosen, stopping: r.Stopping}).converge(ctx)
		r.tie(ctx)
		(&collecting{deleter: r.deleter, Chosen: w.Chosen, DevRules: w.DevRules, works: works, leftover: w.Leftover, stored: w.Stored}).collect(ctx)
	}
	var end statestore.Change
	r.keepDurations(&end, known)
	return r.finish(context.WithoutCancel(ctx), end)
}

// newMaker is what works on the plan that the run was left with.
func (r *Run) newMaker() *maker {
	w := r.Draft
	deleter := &deleter{
		Jobs: w.Jobs, agreement: r.agreement, report: r.report,
		ledger:   &ledger{journal: r.Journal, stage: w.Stage, key: r.Runner.Key, owners: w.Owners, index: w.Index, first: r.introduction(), tasks: map[*plan.Node]*task{}},
		takeOver: w.Policy.TakeOver, guards: w.Guards(), keeps: w.Keeps, condemnedBefore: w.CondemnedBefore,
	}
	settler := &settler{deleter: deleter, adoptAll: w.Policy.Adopt, findsOwn: w.FindsOwn()}
	return &maker{
		creator: &creator{settler: settler, slots: w.Slots, inDev: w.Policy.Dev != nil}, builder: w.Builder(), reading: newReading(w.Index, w.ReadLater),
	}
}

func (r *Run) worker(known durations.Table) *worker {
	return &worker{
		report: r.report, agreement: r.agreement, gate: r.Draft.Gate, stage: r.Draft.Stage, stopping: r.Stopping,
		hooks: r.Draft.Graph.Funcs.Hooks, dir: r.Draft.Graph.Dir, runHook: r.Runner.RunHook,
		known: known,
	}
}

// remember lets this machine remember the store before anything carries an owner tag with it.
func (r *Run) remember(ctx context.Context) {
	if r.Runner.Remember == nil {
		return
	}
	if err := r.Runner.Remember(ctx, r.Draft.Store); err != nil {
		r.emit(plan.Event{Type: plan.EventWarning, Note: "this machine could not remember the stack: " + err.Error()})
	}
}

// acquire takes the lease, queueing as long as it is told to.
func (r *Run) acquire(ctx context.Context) (*statestore.Journal, error) {
	claim := statestore.Claim{Run: r.id, Command: r.o.Command, User: r.Runner.User}
	deadline := time.Now().Add(r.o.Wait)
	for {
		j, err := statestore.Begin(ctx, r.Runner.Store, r.Draft.Stage, claim)
		if err == nil || !errors.Is(err, statestore.ErrHeld) || statestore.MovedTo(err) != "" || time.Now().After(deadline) {
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
// store that was made meanwhile by somebody else has another identity than the one that was planned with, which owner
// tags would not agree with.
func (r *Run) replan(ctx context.Context) error {
	serial := r.Journal.Lease().Serial
	store, err := r.Runner.Store.ID(ctx)
	if err != nil || serial == r.Draft.Snap.Serial && store == r.Draft.Store {
		return err
	}
	if r.document != "" {
		moved := fmt.Sprintf("state, from serial %d to %d", r.Draft.Snap.Serial, serial)
		if store != r.Draft.Store {
			moved = "the state store, which another run created meanwhile"
		}
		return &plan.StaleError{Moved: []string{moved}}
	}
	p, err := r.again(ctx)
	if stopped := reconcile.Interrupted(ctx, nil); stopped != nil || err != nil {
		return cmp.Or(stopped, err)
	}
	if !samePlans(p, r.Plan) && (r.o.Approve == nil || !r.o.Approve(p)) {
		return cmp.Or(reconcile.Interrupted(ctx, nil), plan.ErrNotApproved)
	}
	planner.DraftOf(p).Gate.Hold(&calls.Lease{Journal: r.Journal, Stopping: r.Stopping})
	r.Plan, r.Draft = p, planner.DraftOf(p)
	r.hold(p, false)
	return nil
}

func (r *Run) again(ctx context.Context) (*plan.Plan, error) {
	ctx, end := endsWith(ctx)
	defer end()
	return r.Draft.Again(ctx)
}

// samePlans reports that two plans announce the same.
func samePlans(a, b *plan.Plan) bool {
	type announced struct {
		Actions []plan.Planned
		Outputs []plan.OutputChange
	}
	x, errX := json.Marshal(announced{a.Actions, a.OutputChanges})
	y, errY := json.Marshal(announced{b.Actions, b.OutputChanges})
	return errX == nil && errY == nil && string(x) == string(y)
}

// prelude is the first change of a run: renamed rows, rows of everything that was found again, and rows whose
// edges or options moved while the object itself is as declared.
func (r *Run) prelude(ctx context.Context) error {
	change := statestore.Change{Move: r.Draft.Moved}
	for _, n := range r.Draft.Sorted {
		if n.Decl == nil || n.Plan == nil {
			continue
		}
		switch {
		case plan.IsFound(n):
			n.Entry = planner.Recovered(n, r.Draft.Nodes, r.Draft.FindsOwn())
			r.Draft.Owners.Change(nil, n.Entry)
			n.Others = nil
			if n.Plan.Generation == 0 {
				n.Amend(func(p *plan.Planned) { p.Generation = n.Entry.Live().Number })
			}
		case len(n.Others) > 0:
			n.Entry = r.recordOf(n) // what it was before, of another kind or elsewhere: later runs do not look for it
			n.CondemnOthers(n.Entry, r.Draft.FindsOwn())
		case n.From != "", stale(r.Draft, n):
			r.refresh(n)
		case plan.IsTraced(n.Entry):
			r.Draft.Owners.Change(nil, n.Entry)
		default:
			continue
		}
		if err := r.Seal(&change, n.Entry); err != nil {
			return err
		}
	}
	for _, n := range r.Draft.Leftover {
		if !n.Entry.Found {
			continue
		}
		if err := r.Seal(&change, n.Entry); err != nil {
			return err
		}
	}
	if len(change.Put) == 0 && len(change.Move) == 0 {
		return nil
	}
	r.introduce(&change)
	return r.Journal.Commit(ctx, change)
}

// refresh brings what state says of an object up to date with its declaration.
func (r *Run) refresh(n *plan.Node) {
	rec := r.recordOf(n)
	live := rec.Live()
	if live != nil && n.Plan.Action != plan.Replace && n.Plan.Action != plan.Create {
		if c := rec.Candidate(); c != nil {
			c.State, c.Props = statestore.Condemned, first(c.Props, rec.Props) // the program was reverted
		}
	}
	if live != nil && n.Job != nil && (n.Plan.Action == plan.Unchanged || n.Plan.Action == plan.Wait) {
		live.Settings = nil
		if len(n.Job.Unknown) == 0 {
			keepSettled(rec, n, n.Job)
		}
		if !n.Spec.Recorded && !n.Look().Absent && n.Look().Attrs != nil {
			live.Attributes = seenAttrs(n, live.Attributes)
		}
	}
	n.Entry = rec
}

// seenAttrs returns the attributes that a read showed: a run that was cut may have changed the object without writing
// that to state. What only the answer to its creation held is kept.
func seenAttrs(n *plan.Node, recorded map[string]any) map[string]any {
	attrs := maps.Clone(n.Look().Attrs)
	for _, name := range n.Spec.Once {
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

// stale reports that the state of an object that is as declared differs from its declaration in what no read shows.
func stale(w *planner.Draft, n *plan.Node) bool {
	if n.Entry == nil || n.Was != nil || !w.IsSelected(n) || n.Plan.Action != plan.Unchanged && n.Plan.Action != plan.Wait {
		return false
	}
	return w.Outdated(n)
}

func (l *ledger) needs(n *plan.Node) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index.OwnedNeeds(n)
}

// anythingToDo reports whether applying would write anything at all.
func anythingToDo(ctx context.Context, w *planner.Draft, p *plan.Plan) bool {
	if p.Pending() || len(w.Moved) > 0 {
		return true
	}
	if w.Edit != nil {
		return w.Edit.Also()
	}
	if slices.ContainsFunc(w.Declared, func(n *plan.Node) bool { return stale(w, n) }) {
		return true
	}
	if w.Policy.Waives {
		return w.Snap.Holder != nil // another run is at work there: what is empty now need not stay so
	}
	sealed, changed := w.Outputs().Seal(ctx)
	return changed && sealed != nil
}
