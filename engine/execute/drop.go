package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// deleter deletes objects, each after it has read that the object is there, still ours, and announced to go.
type deleter struct {
	*planner.Jobs
	*agreement
	*ledger
	*report
	takeOver bool // objects may be deleted that another store has tagged
	guards   plan.Guards
	// keeps reports whether a dev session must leave an object.
	keeps func(*state.Generation) bool
	// condemnedBefore reports a generation that was on its way out when the run began.
	condemnedBefore func(address string, number uint64) bool
}

// drop deletes everything of a row that is no longer declared, the newest generation first.
func (d *deleter) drop(ctx context.Context, n *plan.Node) error {
	rec := n.Entry.Clone()
	if err := d.condemn(ctx, n, rec); err != nil {
		return err
	}
	return d.clear(ctx, n, rec)
}

// clear deletes all generations of a record and with the last one the row.
func (d *deleter) clear(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	var errs []error
	for _, g := range slices.Backward(slices.Clone(rec.Generations)) {
		if err := d.deleteGeneration(ctx, n, g); err != nil {
			errs = append(errs, err)
			continue // it stops none of the others
		}
		rec = rec.Clone()
		rec.Generations = slices.DeleteFunc(rec.Generations, func(x *state.Generation) bool { return x.Number == g.Number })
		if err := d.commitLess(ctx, n, rec); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}

// commitLess writes to state that something of a row is deleted.
func (d *deleter) commitLess(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	if t := d.tasks[n]; t.passes() && t.drop && len(rec.Generations) == 0 {
		return d.commitAhead(ctx, t, rec)
	}
	return d.commit(ctx, n, rec)
}

// condemn makes it durable that the objects of a row are on their way out, so that a run which is cut short and
// finds the address declared again makes a new object instead of waiting for a dying one.
func (d *deleter) condemn(ctx context.Context, n *plan.Node, rec *state.Entry) error {
	changed := false
	for _, g := range rec.Generations {
		if d.beginUndo(n, rec, g) {
			changed = true
			continue
		}
		changed = changed || g.State != statestore.Condemned && !g.StateOnly
		g.State = statestore.Condemned
	}
	if !changed {
		return nil
	}
	return d.commit(ctx, n, rec)
}

// beginUndo notes in an entry that what its live generation did on the outside is about to be undone, and reports whether it does.
// As when its run was cut, the generation counts as begun from then on: it is undone again, or runs again where it is declared.
func (d *deleter) beginUndo(n *plan.Node, rec *state.Entry, g *state.Generation) bool {
	kind, known := d.Catalog.Kind(g.Kind)
	if !known || !plan.Undoes(kind.Spec()) || g.State != statestore.Live || rec.Candidate() != nil || d.GoesWith(n, g.Number) != nil {
		return false
	}
	g.State, g.Identity, g.Written = statestore.Candidate, "", time.Now()
	g.Intent = &state.Intent{Address: n.Address, Props: first(g.Props, rec.Props), Started: g.Written, Undo: true}
	return true
}

// dropCondemned deletes the generations that a declared row has left behind. One that cannot be deleted stops
// none of the others.
func (d *deleter) dropCondemned(ctx context.Context, n *plan.Node) error {
	var errs []error
	for _, g := range slices.DeleteFunc(n.Entry.Condemned(), d.keeps) {
		if err := d.deleteGeneration(ctx, n, g); err != nil {
			errs = append(errs, err)
			continue
		}
		rec := n.Entry.Clone()
		rec.Generations = slices.DeleteFunc(rec.Generations, func(x *state.Generation) bool { return x.Number == g.Number })
		if len(rec.Condemned()) == 0 && n.Decl != nil && n.Was == nil {
			rec.Former = state.StillNamed(rec.Former, n.Decl.Options.RenamedFrom)
		}
		if err := d.commit(ctx, n, rec); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// compareLate decides about an object that is deleted before its replacement where the plan could not tell whether it is replaced:
// it is compared once more, with the values that its upstreams have now.
func (c *creator) compareLate(ctx context.Context, n *plan.Node) error {
	if !n.Plan.May {
		return nil
	}
	_, job, err := c.presentJob(ctx, n)
	if err != nil {
		return err
	}
	look, err := n.Kind.Compare(job, *n.Look())
	n.Kept = err == nil && len(look.Replaces()) == 0
	return err
}

// presentJob is the job of comparing a declared node with what is there: the present generation, or the object that planning found.
func (d *deleter) presentJob(ctx context.Context, n *plan.Node) (*state.Generation, *reconcile.Job, error) {
	g := n.Present()
	if g == nil {
		g = &state.Generation{Number: max(n.Look().Owner.Generation, 1), Kind: n.Spec.Type, Location: n.Access.Place}
	}
	job, err := d.DeclaredJob(ctx, n, planner.Target{Gen: g, Final: n.Files == plan.FilesKnown})
	if err == nil && job.ID == "" {
		job.ID = n.Look().Identity
	}
	return g, job, err
}

// dropFirst deletes what must be deleted before the new object is made. The intent for the new one takes its place
// in the same commit, so that the row stays and nothing that needs it dangles.
func (c *creator) dropFirst(ctx context.Context, n *plan.Node) (bool, error) {
	rec := c.recordOf(n)
	c.carry(n, rec)
	number := rec.NextNumber()
	old := c.goesFirst(n, rec)
	if len(old) == 0 {
		return false, nil
	}
	if err := c.compareLate(ctx, n); n.Kept || err != nil {
		return false, err
	}
	for _, g := range old {
		if begun := n.Entry.Clone(); c.beginUndo(n, begun, begun.ByNumber(g.Number)) {
			if err := c.commit(ctx, n, begun); err != nil {
				return false, err
			}
		}
		if err := c.deleteGeneration(ctx, n, g); err != nil {
			return false, err
		}
		rec.Drop(g)
	}
	g := rec.Candidate()
	if g == nil {
		var err error
		if g, err = c.fresh(n, rec, number); err != nil {
			return false, err
		}
		if g.Written = time.Now(); !g.StateOnly {
			g.Intent = new(state.Intent)
		}
	}
	if rec.Live() == nil {
		for p, v := range n.Carried {
			rec.Props = plan.WithValue(rec.Props, p, v)
		}
	}
	return false, c.commit(ctx, n, rec)
}

// goesFirst are the generations of an entry that are deleted before the new object of a node is made.
func (c *creator) goesFirst(n *plan.Node, rec *state.Entry) []*state.Generation {
	old := n.NameHeld(rec)
	if g := rec.ByNumber(n.Plan.Generation); g != nil && n.Doing() == plan.Replace && !slices.Contains(old, g) {
		old = append(old, g)
	}
	return old
}

// deletes reports that what an address stands for was deleted, by this run or by one before it.
func (d *deleter) deletes(addr string) bool {
	n := d.Nodes[addr]
	return n == nil || n.Decl == nil && n.Plan != nil && n.Doing() == plan.Delete && d.ok(n)
}

// deleteGeneration deletes one object after it has read that the object is there and still ours. An object that was replaced
// and is retained is released instead.
func (d *deleter) deleteGeneration(ctx context.Context, n *plan.Node, g *state.Generation) error {
	if g.Retain {
		return d.release(ctx, n, g)
	}
	kind, err := d.Cloud.KindOf(n.Address, g.Kind)
	if err != nil {
		return err
	}
	job, err := d.deletionJob(ctx, n, g)
	if err != nil || d.NeverBegan(g) {
		return err
	}
	switch with, by := d.GoesWith(n, g.Number), n.Entry.Options().DeletedWith; {
	case kind.Spec().Recorded && (with != nil || by != "" && d.deletes(by)):
		return nil // it has no object of its own, and what it did went with the other
	case with != nil:
		return d.missing(ctx, with, kind, job)
	}
	if !kind.Spec().Recorded {
		gone, err := d.checkDelete(ctx, n, g, kind, job)
		if gone || err != nil {
			return err
		}
	}
	if err := d.permitDelete(n, g, kind.Spec()); err != nil {
		return err
	}
	if d.keeps(g) {
		return reconcile.WithHint(plan.ErrKept, "athanor deploy deletes it")
	}
	return kind.Delete(ctx, job)
}

// deletionJob is the job of deleting the object of a generation.
func (d *deleter) deletionJob(ctx context.Context, n *plan.Node, g *state.Generation) (*reconcile.Job, error) {
	a, err := d.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return nil, err
	}
	job := d.RecordedJob(n, a, g)
	job.MayDelete = d.guards.MayDelete(n)
	return job, nil
}

// checkDelete reads once more before a deletion. An object with another owner tag is never deleted.
func (d *deleter) checkDelete(ctx context.Context, n *plan.Node, g *state.Generation, kind reconcile.Any, job *reconcile.Job) (gone bool, err error) {
	look, err := d.seen(ctx, kind, job)
	may, could := d.guards.Unread(n, g, kind.Spec())
	switch {
	case planner.FailsToRead(ctx, err) && may:
		d.emit(plan.Event{Type: plan.EventWarning, Address: n.Address, Kind: g.Kind, Note: "it cannot be read, and is deleted by its identity in state: " + err.Error()})
		return false, d.permits(n, d.proposed(n, operation.Remove, g, reconcile.Look{Identity: g.Identity, Holds: job.MayDelete && kind.Spec().HoldsData}))
	case planner.FailsToRead(ctx, err) && could:
		return false, plan.UnreadHint(n, err)
	case err != nil || look.Absent:
		return look.Absent && !kind.Spec().Tidies, err
	}
	answer := adopt.Judge(d.EvidenceOf(n, kind.Spec(), job, look, g))
	foreign := plan.OwnerError(g.Kind, look, answer)
	hint := func(err error) error {
		return reconcile.WithHint(err, "`athanor state rm %s` forgets it here", n.Address)
	}
	o := look.Owner
	switch {
	case g.Identity == "" && answer.Verdict == adopt.Foreign:
		return true, nil // the intent was never carried out, and what is there is somebody else's
	case g.Identity == "" && n.Entry.ByObject(g.Kind, g.Location, look.Identity) != nil:
		return true, nil // what the intent began was found again, and is another generation's by now
	case answer.Verdict == adopt.Ambiguous, !o.IsZero() && answer.Verdict != adopt.Ours:
		return false, hint(foreign)
	case !o.IsZero() && o.Generation != g.Number && !n.Entry.OnlyOwner(g, look.Identity):
		foreign.Owner = o
		return false, hint(foreign)
	case answer.Unproven && !d.guards.Names(n):
		return false, plan.Unproven(n, g.Kind, look.Identity)
	case answer.OtherStore && !d.takeOver && !d.condemnedBefore(n.Address, g.Number):
		return false, plan.OtherStore(g.Kind, look.Identity)
	case look.Holds && !job.MayDelete:
		return false, reconcile.WithHint(reconcile.ErrHoldsData, "--allow-delete %s if its data may go", n.Address)
	}
	x := d.proposed(n, operation.Remove, g, look)
	x.Fresh = false // nothing of an older value is deleted or kept
	job.Last, job.ID = look.Attrs, look.Identity
	return false, d.permits(n, x)
}

// withBound is for how long an object is waited for that goes with another one, after that one was deleted.
const withBound = time.Minute

// missing waits until an object is missing that went with another resource. It deletes nothing.
func (d *deleter) missing(ctx context.Context, with *plan.Node, kind reconcile.Any, job *reconcile.Job) error {
	until := time.Now().Add(max(withBound, kind.Spec().Visibility))
	why := fmt.Errorf("%s was deleted, and it is still there", with.Address)
	return observe.Poll(ctx, func() (*reconcile.Pending, error) {
		look, err := d.seen(ctx, kind, job)
		left := time.Until(until)
		switch {
		case err != nil || look.Absent:
			return nil, err
		case left <= 0:
			return nil, reconcile.WithHint(why, "the next run deletes it by itself; deletedWith is for what the provider deletes together")
		default:
			return &reconcile.Pending{Why: why, Most: left}, nil
		}
	})
}

// permitDelete holds to the plan the deletion of what has no object.
func (d *deleter) permitDelete(n *plan.Node, g *state.Generation, spec *reconcile.Spec) error {
	if !spec.Recorded {
		return nil
	}
	verb := operation.Write
	if plan.Acts(spec) {
		verb = operation.Undo
	}
	return d.permits(n, d.proposed(n, verb, g, reconcile.Look{}))
}

// seen looks until the answer is certain: absent within the visibility bound of the last write is no answer yet.
func (d *deleter) seen(ctx context.Context, kind reconcile.Any, job *reconcile.Job) (look reconcile.Look, err error) {
	err = observe.Certain(ctx, func() (time.Time, error) {
		if look, err = observe.See(ctx, kind, job); err != nil || !look.Absent || !look.NotYet {
			return time.Time{}, err
		}
		return look.HiddenUntil, nil
	}, func(until time.Time) {
		d.emit(plan.Event{Type: plan.EventProgress, Address: job.Address, Kind: kind.Spec().Type, Note: (&reconcile.HiddenError{Until: until}).Error()})
	})
	return look, err
}

// forget removes a row without deleting its live object. What was condemned before is deleted all the same.
func (d *deleter) forget(ctx context.Context, n *plan.Node) error {
	if err := d.permits(n, operation.Seen{Operation: operation.Operation{Verb: operation.Detach}}); err != nil {
		return err
	}
	live := n.Entry.Live()
	rec := n.Entry.Clone()
	if live == nil {
		rec.Generations = nil
		return d.commit(ctx, n, rec)
	}
	if err := d.release(ctx, n, live); err != nil {
		return err
	}
	rec.Generations = slices.DeleteFunc(rec.Generations, func(g *state.Generation) bool { return g.Number == live.Number })
	if len(rec.Generations) == 0 {
		return d.commit(ctx, n, rec)
	}
	if err := d.condemn(ctx, n, rec); err != nil {
		return err
	}
	return d.clear(ctx, n, rec)
}

// release writes into the owner tag of an object that it is retained, where it can carry one and is ours, and changes
// nothing else of it.
func (d *deleter) release(ctx context.Context, n *plan.Node, g *state.Generation) error {
	mark := d.Mark(n.Address, g.Number)
	mark.Retained = true
	if err := d.permits(n, d.proposed(n, operation.Release, g, reconcile.Look{})); err != nil {
		return err
	}
	return remark(ctx, d.Jobs, n, g, mark)
}

// dropBeside deletes objects that no row knows. One that cannot be deleted stops none of the others.
func (d *deleter) dropBeside(ctx context.Context, n *plan.Node) error {
	var errs []error
	for _, g := range n.Entry.Generations {
		errs = append(errs, d.deleteGeneration(ctx, n, g))
	}
	return errors.Join(errs...)
}
