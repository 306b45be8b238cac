package execute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// settler reconciles one object, held to what the plan announces of it, and makes durable what is begun and done.
type settler struct {
	*deleter
	// adoptAll: objects without an owner tag may be taken over without being named.
	adoptAll bool
	// findsOwn: what is found without an entry counts as made by a dev session.
	findsOwn bool
}

// creator makes new objects, beside what is there or in its place.
type creator struct {
	*settler
	slots *state.Slots
	// inDev: what is created is a dev session's.
	inDev bool
}

// maker does what the plan says of a declared node: it creates, changes, replaces and takes over.
type maker struct {
	*creator
	builder *planner.Builder
	reading *reading
}

// make does what the plan says of a declared node. It reports whether somebody else must act before it is ready.
func (m *maker) make(ctx context.Context, n *plan.Node) (bool, error) {
	if err := m.buildLate(ctx, n); err != nil {
		return false, err
	}
	switch n.Doing() {
	case plan.Create:
		return m.makeNew(ctx, n)
	case plan.Replace:
		if n.Plan.DeleteFirst && !n.Kept || !n.Plan.May {
			return m.makeNew(ctx, n)
		}
		waiting, err := m.makeLive(ctx, n)
		if errors.Is(err, reconcile.ErrReplace) && !n.Kept {
			return m.makeNew(ctx, n)
		}
		return waiting, err
	case plan.Recover, plan.Update:
		if n.Spec.Recorded && n.Entry == nil {
			return m.makeNew(ctx, n)
		}
		return m.makeLive(ctx, n)
	default:
		return m.makeLive(ctx, n)
	}
}

// buildLate prepares what had to wait for values.
func (m *maker) buildLate(ctx context.Context, n *plan.Node) error {
	if !n.Spec.Prepares || len(n.Uses()) == 0 && n.Files == plan.FilesKnown {
		return nil
	}
	resolved, err := m.Resolve(ctx, n.Props)
	if err != nil {
		return err
	}
	declared, _ := resolved.Tree.(map[string]any)
	job := &reconcile.Job{Address: n.Address, Props: declared, Dir: m.Dir}
	if err := m.builder.PrepareOne(ctx, n, job); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if name := plan.ChangedAsset(n.Plan.Assets, job.Assets); name != "" && !m.inDev {
		return reconcile.WithHint(fmt.Errorf("%w: the files of %s are other ones", operation.ErrChanged, name), "plan again")
	}
	n.Assets, n.Files = job.Assets, plan.FilesKnown
	return nil
}

// makeLive reconciles the object that is there: an update, an adoption, a recovery, a new owner tag after a move.
func (m *maker) makeLive(ctx context.Context, n *plan.Node) (bool, error) {
	rec := m.recordOf(n)
	g := rec.Live()
	if g == nil {
		g = rec.Candidate()
	}
	if g == nil {
		g = m.taken(n, rec)
	}
	job, err := m.DeclaredJob(ctx, n, planner.Target{Gen: g, Final: true})
	if err != nil {
		return false, err
	}
	if g.Identity == "" || job.ID == "" {
		job.ID = n.Look().Identity
	}
	return m.settleJob(ctx, n, rec, g, job)
}

// settleJob reconciles the object of a generation, and writes to state that it is as declared.
func (s *settler) settleJob(ctx context.Context, n *plan.Node, rec *state.Entry, g *state.Generation, job *reconcile.Job) (bool, error) {
	hooks := s.hooks(n, job, rec, g)
	out, err := n.Kind.Settle(ctx, job, hooks)
	n.Changed = append(n.Changed, out.Changed...)
	if err != nil {
		if hooks.Keep != nil {
			if lost := hooks.Keep(ctx); lost != nil {
				err = errors.Join(err, lost)
			}
		}
		return false, s.unannounced(n, err)
	}
	return s.done(ctx, n, rec, g, job, out)
}

// taken returns the live generation of an object that is taken over.
func (s *settler) taken(n *plan.Node, rec *state.Entry) *state.Generation {
	g := &state.Generation{
		Number: rec.NumberFor(n.Look().Owner.Generation), State: statestore.Live, Slot: n.Slot, Kind: n.Spec.Type, Location: n.Access.Place,
		Identity: n.Look().Identity, Attributes: n.Look().Attrs, StateOnly: n.Spec.Recorded,
	}
	g.Dev = n.Doing() == plan.Recover && s.findsOwn
	if n.Doing() == plan.Adopt {
		g.Number = rec.NextNumber()
	}
	if o := n.Object(); o != nil {
		g.Name, g.NameGiven = o.Name, o.Named
	}
	rec.Generations = append(rec.Generations, g)
	return g
}

// makeNew creates an object beside whatever is there: a first one, or the next generation.
func (c *creator) makeNew(ctx context.Context, n *plan.Node) (bool, error) {
	rec := c.recordOf(n)
	c.carry(n, rec)
	g, err := c.begun(ctx, n, rec)
	if err != nil {
		return false, err
	}
	again := g.Identity != "" || n.Doing() == plan.Replace && g.Intent != nil
	for {
		waiting, err := c.settleNew(ctx, n, rec, g)
		if c.nameRetained(n, g, err) {
			c.slots.Occupy(rec.Birth, g.Kind, g.Slot, retainedObject)
			rec.Drop(g)
			if g, err = c.fresh(n, rec, g.Number); err != nil {
				return false, err
			}
			continue
		}
		if !unusable(err, again) {
			return waiting, err
		}
		number := rec.NextNumber() // reads may still show the one that is discarded, by its number
		if err := c.discard(ctx, n, rec, g); err != nil {
			return false, err
		}
		if g, err = c.fresh(n, rec, number); err != nil {
			return false, err
		}
		again = false
	}
}

// retainedObject has a slot whose name a retained object bears, which is in nobody's state.
const retainedObject = "a retained object"

// nameRetained reports that the generated name of a replacement is borne by an object that an earlier replacement retained.
func (c *creator) nameRetained(n *plan.Node, g *state.Generation, err error) bool {
	owner, foreign := errors.AsType[*adopt.OwnerError](err)
	return foreign && n.Doing() == plan.Replace && !g.NameGiven && g.Empty() && plan.RetainedHere(owner.Owner, c.Jobs.Stage)
}

func (c *creator) settleNew(ctx context.Context, n *plan.Node, rec *state.Entry, g *state.Generation) (bool, error) {
	job, err := c.DeclaredJob(ctx, n, planner.Target{Gen: g, Final: true})
	if err != nil {
		return false, err
	}
	g.Name, g.NameGiven = job.Name, job.Named
	c.contract(n).begun = g.Number
	job.Had = nil
	if job.Addresses = n.Births(); g.Number > 1 && g.Identity == "" {
		job.OlderUntil = time.Now().Add(n.Spec.Visibility)
	}
	job.ReplaceOn = nil // a new object has nothing that could have changed
	waiting, err := c.settleJob(ctx, n, rec, g, job)
	if err == nil {
		c.Release(job)
	}
	return waiting, err
}

// begun is the generation that is to be made: one that an interrupted run began, or a further one.
func (c *creator) begun(ctx context.Context, n *plan.Node, rec *state.Entry) (made *state.Generation, err error) {
	number := rec.NextNumber()
	if gone := rec.Live(); gone != nil && n.Doing() == plan.Create {
		if n.Look().NotYet {
			return gone, nil // it may only not be visible yet, and is waited for
		}
		rec.Drop(gone)
		defer func() {
			if made != nil && made.Written.IsZero() {
				made.Written = time.Now() // reads may still show the one that is deleted
			}
		}()
	}
	if err := c.traceBegun(ctx, n, rec); err != nil {
		return nil, err
	}
	if g := rec.Candidate(); g != nil {
		unwanted := n.Doing() == plan.Replace && rec.Live() == nil && g.Number == n.Plan.Generation
		if g.Kind == n.Spec.Type && g.Location == n.Access.Place && !unwanted {
			return g, nil
		}
		if err := c.discard(ctx, n, rec, g); err != nil {
			return nil, err
		}
	}
	if err := c.makeRoom(ctx, n, rec); err != nil {
		return nil, err
	}
	return c.fresh(n, rec, number)
}

// fresh is a generation that nothing was made of yet.
func (c *creator) fresh(n *plan.Node, rec *state.Entry, number uint64) (*state.Generation, error) {
	slot, err := c.slots.Take(rec, n.Spec.Type, n.Spec.Recorded)
	if err != nil {
		return nil, err
	}
	g := &state.Generation{
		Number: number, State: statestore.Candidate, Slot: slot, Kind: n.Spec.Type, Location: n.Access.Place, Nonce: rand.Text(),
		StateOnly: n.Spec.Recorded, Dev: c.inDev,
	}
	rec.Generations = append(rec.Generations, g)
	return g, nil
}

// carry keeps for a new object what the program does not want compared: ignored paths hold the values of
// the object that is replaced, or those that an interrupted run had taken from it.
func (c *creator) carry(n *plan.Node, rec *state.Entry) {
	ignored := n.Decl.Options.IgnoreChanges
	if len(ignored) == 0 || n.Carried != nil {
		return
	}
	n.Carried = map[tree.Path]any{}
	if n.Doing() != plan.Replace || n.Look().Absent || n.ReplacedWhole() {
		if rec.Live() == nil && rec.Candidate() != nil {
			for _, p := range ignored {
				if v, ok := tree.Get(rec.Props, p); ok {
					n.Carried[p] = v
				}
			}
		}
		return
	}
	job := *n.Job
	job.Ignore = nil
	look, err := n.Kind.Compare(&job, *n.Look())
	if err != nil {
		return // the late compare says so
	}
	for _, s := range look.Steps {
		if !slices.ContainsFunc(ignored, func(p tree.Path) bool { return s.Path.Within(p) }) {
			continue
		}
		if s.Secret {
			s.Have, _ = tree.Get(rec.Props, s.Path) // what is shown of it is masked
		}
		n.Carried[s.Path] = s.Have
	}
}

// recordOf is a copy of the node's record to work on, with the declaration of now. What is there keeps the
// settings that it was made with.
func (s *settler) recordOf(n *plan.Node) *state.Entry {
	rec := &state.Entry{Address: n.Address, Birth: n.Address}
	if n.Entry != nil {
		rec = n.Entry.Clone()
	}
	if n.Was != nil {
		return rec // it is what was deployed: only the object itself is mended
	}
	if rec.Birth == "" {
		rec.Birth = n.Address
	}
	if len(rec.Generations) > 0 && !tree.Equal(plan.AnyMap(rec.Settings), plan.AnyMap(n.Decl.Settings)) {
		for _, g := range rec.Generations {
			if g.Settings == nil {
				g.Settings, _ = plan.AnyMap(rec.Settings).(map[string]any)
			}
		}
	}
	rec.SetOptions(&n.Decl.Options)
	rec.Settings, rec.Needs, rec.Cut = n.Decl.Settings, s.needs(n), n.Cut
	o := n.Object()
	rec.MayDeleteData, rec.MovingFrom = o != nil && o.MayDeleteData, ""
	return rec
}

// unannounced turns a replacement that the plan did not announce into what the user can act on.
func (s *settler) unannounced(n *plan.Node, err error) error {
	if errors.Is(err, reconcile.ErrReplace) && (n.Doing() != plan.Replace || n.Kept) {
		return reconcile.WithHint(fmt.Errorf("%w: %w", operation.ErrChanged, err), "plan again: it says what would be replaced")
	}
	return err
}

// done writes to state that an object is as declared, and lets others use it.
func (s *settler) done(ctx context.Context, n *plan.Node, rec *state.Entry, g *state.Generation, job *reconcile.Job, out reconcile.Outcome) (bool, error) {
	g.Identity, g.Attributes, g.WriteDigests = out.Identity, out.Attrs, maps.Clone(out.Written)
	g.Replaced, g.Written = s.contract(n).replaced(g, n.Spec.Visibility), time.Now()
	g.Name, g.NameGiven = job.Name, job.Named
	rec.MakeLive(g)
	keepSettled(rec, n, job)
	rec.NeedsUnknown = false
	rec.Needs = s.needs(n)
	for _, path := range job.Omit {
		rec.Props, _ = tree.Without(rec.Props, path).(map[string]any)
	}
	n.CondemnOthers(rec, s.findsOwn)
	if n.Plan.Waiting != out.Waiting {
		n.Amend(func(p *plan.Planned) { p.Waiting = out.Waiting })
	}
	switch {
	case s.tasks[n].passes():
		s.publish(n, out.Attrs)
		return false, s.commitAhead(ctx, s.tasks[n], rec)
	case !s.releases(n):
		if err := s.commit(ctx, n, rec); err != nil {
			return false, err
		}
		s.publish(n, out.Attrs)
		return out.Waiting != "", nil
	}
	s.publish(n, out.Attrs)
	return false, s.commitBy(n, rec, func(change statestore.Change) error {
		return s.ledger.journal.CommitWith(context.WithoutCancel(ctx), change, func() <-chan struct{} {
			c := newCompany()
			t := s.tasks[n]
			t.sched.signals <- signal{t: t, settled: c}
			return c.alone
		})
	})
}

// keepSettled writes into a state entry what its resource was reconciled with. A path that was secret once stays masked.
func keepSettled(rec *state.Entry, n *plan.Node, job *reconcile.Job) {
	if rec.Props = job.Props; len(rec.Condemned()) == 0 { // an older object may have a former address in its owner tag
		rec.Former = state.StillNamed(rec.Former, n.Decl.Options.RenamedFrom)
	}
	if n.Was == nil { // a repair leaves what was built anew to the next deploy
		rec.Assets, rec.Files = plan.BuiltOf(job.Assets), plan.FilesOf(job.Assets)
	}
	rec.AddSecretPaths(job.Secret)
}

// born lets those go on that need no more than the identity.
func (s *settler) born(n *plan.Node, attrs map[string]any) {
	s.publish(n, attrs)
	n.Mu.Lock()
	n.Moving = slices.DeleteFunc(slices.Collect(maps.Keys(attrs)), func(name string) bool { return slices.Contains(n.Spec.AtBirth, name) })
	n.Mu.Unlock()
	if t := s.tasks[n]; t != nil {
		t.sched.signals <- signal{t: t, born: true}
	}
}

// publish makes attributes known to all.
func (s *settler) publish(n *plan.Node, attrs map[string]any) {
	for _, p := range n.Spec.SecretAttrs {
		if v, ok := tree.Get(attrs, p); ok {
			s.redact.Learn(v)
		}
	}
	n.Know(attrs)
}
