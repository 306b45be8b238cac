package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// make does what the plan says of a declared node. It reports whether somebody else must act before it is ready.
func (r *run) make(ctx context.Context, n *node) (bool, error) {
	if err := r.buildLate(ctx, n); err != nil {
		return false, err
	}
	switch n.plan.Action {
	case Create:
		return r.makeNew(ctx, n)
	case Replace:
		if n.plan.DeleteFirst || !n.plan.May {
			return r.makeNew(ctx, n)
		}
		waiting, err := r.makeLive(ctx, n)
		if errors.Is(err, reconcile.ErrReplace) {
			return r.makeNew(ctx, n)
		}
		return waiting, err
	case Recover, Update:
		if n.spec.Recorded && n.rec == nil {
			return r.makeNew(ctx, n)
		}
		return r.makeLive(ctx, n)
	default:
		return r.makeLive(ctx, n)
	}
}

// buildLate prepares what had to wait for values.
func (r *run) buildLate(ctx context.Context, n *node) error {
	if !n.spec.Prepares || len(n.uses) == 0 {
		return nil
	}
	resolved, err := r.w.resolve(ctx, n.props)
	if err != nil {
		return err
	}
	declared, _ := resolved.Tree.(map[string]any)
	job := &reconcile.Job{Address: n.addr, Props: declared, Dir: r.w.graph.Dir}
	if err := r.w.prepareOne(ctx, n, job); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	n.assets = job.Assets
	return nil
}

// makeLive settles the thing that is there: an update, an adoption, a recovery, a new mark after a move.
func (r *run) makeLive(ctx context.Context, n *node) (bool, error) {
	rec := r.recordOf(n)
	g := rec.live()
	if g == nil {
		g = rec.candidate()
	}
	if g == nil {
		g = r.taken(n, rec)
	}
	job, err := r.w.declaredJob(ctx, n, target{gen: g, number: g.number, slot: g.slot})
	if err != nil {
		return false, err
	}
	if g.identity == "" || job.ID == "" {
		job.ID = n.look.Identity
	}
	return r.settleJob(ctx, n, rec, g, job)
}

// settleJob makes the thing of a generation match, and records that it does.
func (r *run) settleJob(ctx context.Context, n *node, rec *record, g *generation, job *reconcile.Job) (bool, error) {
	hooks := r.hooks(n, job, rec, g)
	out, err := n.kind.Settle(ctx, job, hooks)
	n.changed = append(n.changed, out.Changed...)
	if err != nil {
		if hooks.Keep != nil {
			if lost := hooks.Keep(ctx); lost != nil {
				err = errors.Join(err, lost)
			}
		}
		return false, r.unannounced(n, err)
	}
	return r.done(ctx, n, rec, g, job, out)
}

// taken is the live generation of a thing that is taken over.
func (r *run) taken(n *node, rec *record) *generation {
	g := &generation{
		number: rec.numbered(n.look.Owner.Generation), state: statestore.Live, slot: n.slot, kind: n.spec.Type, place: n.access.place,
		identity: n.look.Identity, attrs: n.look.Attrs, virtual: n.spec.Recorded,
	}
	g.dev = n.plan.Action == Recover && r.w.findsOwn()
	if n.plan.Action == Adopt {
		g.number = rec.next()
	}
	if n.job != nil {
		g.name, g.named = n.job.Name, n.job.Named
	}
	rec.gens = append(rec.gens, g)
	return g
}

// makeNew makes a thing beside whatever is there: a first one, or the next generation.
func (r *run) makeNew(ctx context.Context, n *node) (bool, error) {
	rec := r.recordOf(n)
	r.carry(n, rec)
	g, err := r.begun(ctx, n, rec)
	if err != nil {
		return false, err
	}
	again := n.plan.Action == Replace && (g.identity != "" || g.intent)
	for {
		waiting, err := r.settleNew(ctx, n, rec, g)
		if !unusable(err, again) {
			return waiting, err
		}
		if err := r.discard(ctx, n, rec, g); err != nil {
			return false, err
		}
		if g, err = r.fresh(n, rec, rec.next()); err != nil {
			return false, err
		}
		again = false
	}
}

func (r *run) settleNew(ctx context.Context, n *node, rec *record, g *generation) (bool, error) {
	job, err := r.w.declaredJob(ctx, n, target{gen: g, number: g.number, slot: g.slot})
	if err != nil {
		return false, err
	}
	g.name, g.named = job.Name, job.Named
	job.Had = nil
	job.ReplaceOn = nil // a new thing has nothing that could have changed
	return r.settleJob(ctx, n, rec, g, job)
}

// begun is the generation that is to be made: one that an interrupted run began, or a further one.
func (r *run) begun(ctx context.Context, n *node, rec *record) (made *generation, err error) {
	number := rec.next()
	if gone := rec.live(); gone != nil && n.plan.Action == Create {
		if n.look.NotYet {
			return gone, nil // it may only not be visible yet, and is waited for
		}
		rec.drop(gone)
		defer func() {
			if made != nil && made.written.IsZero() {
				made.written = time.Now() // reads may still show the one that is gone
			}
		}()
	}
	if g := rec.candidate(); g != nil {
		unwanted := n.plan.Action == Replace && rec.live() == nil && g.number == n.plan.Generation
		if g.kind == n.spec.Type && g.place == n.access.place && !unwanted {
			return g, nil
		}
		if err := r.discard(ctx, n, rec, g); err != nil {
			return nil, err
		}
	}
	if err := r.makeRoom(ctx, n, rec); err != nil {
		return nil, err
	}
	return r.fresh(n, rec, number)
}

// fresh is a generation that nothing was made of yet.
func (r *run) fresh(n *node, rec *record, number uint64) (*generation, error) {
	slot, err := r.w.slots.take(rec, n.spec.Type)
	if err != nil {
		return nil, err
	}
	g := &generation{
		number: number, state: statestore.Candidate, slot: slot, kind: n.spec.Type, place: n.access.place, nonce: rand.Text(),
		virtual: n.spec.Recorded, dev: r.w.o.Dev != nil,
	}
	rec.gens = append(rec.gens, g)
	return g, nil
}

// carry keeps for a new thing what the program does not want compared: ignored paths hold the values of
// the thing that is replaced, or those that an interrupted run had taken from it.
func (r *run) carry(n *node, rec *record) {
	ignored := n.decl.Options.IgnoreChanges
	if len(ignored) == 0 || n.carried != nil {
		return
	}
	n.carried = map[tree.Path]any{}
	if n.plan.Action != Replace || n.look.Absent || n.replacedWhole() {
		if rec.live() == nil && rec.candidate() != nil {
			for _, p := range ignored {
				if v, ok := tree.Get(rec.props, p); ok {
					n.carried[p] = v
				}
			}
		}
		return
	}
	job := *n.job
	job.Ignore = nil
	look, err := n.kind.Compare(&job, n.look)
	if err != nil {
		return // the late compare says so
	}
	for _, s := range look.Steps {
		if !slices.ContainsFunc(ignored, func(p tree.Path) bool { return s.Path.Within(p) }) {
			continue
		}
		if s.Secret {
			s.Have, _ = tree.Get(rec.props, s.Path) // what is shown of it is masked
		}
		n.carried[s.Path] = s.Have
	}
}

// recordOf is a copy of the node's record to work on, with the declaration of now. What is there keeps the
// settings that it was made with.
func (r *run) recordOf(n *node) *record {
	rec := &record{address: n.addr, birth: n.addr}
	if n.rec != nil {
		rec = n.rec.clone()
	}
	if n.was != nil {
		return rec // it is what was deployed: only the thing itself is mended
	}
	if rec.birth == "" {
		rec.birth = n.addr
	}
	if len(rec.gens) > 0 && !tree.Equal(anyMap(rec.settings), anyMap(n.decl.Settings)) {
		for _, g := range rec.gens {
			if g.settings == nil {
				g.settings, _ = anyMap(rec.settings).(map[string]any)
			}
		}
	}
	rec.options, rec.settings, rec.needs, rec.cut = n.decl.Options, n.decl.Settings, r.needs(n), n.cut
	rec.leave, rec.moving = n.job != nil && n.job.Leave, ""
	return rec
}

// unannounced turns a replacement that the plan did not announce into what the user can act on.
func (r *run) unannounced(n *node, err error) error {
	if errors.Is(err, reconcile.ErrReplace) && n.plan.Action != Replace {
		return reconcile.WithHint(fmt.Errorf("%w: %w", ErrWorldChanged, err), "plan again: it says what would be replaced")
	}
	return err
}

// done records that a thing is settled, and lets others use it.
func (r *run) done(ctx context.Context, n *node, rec *record, g *generation, job *reconcile.Job, out reconcile.Outcome) (bool, error) {
	g.identity, g.attrs, g.digests, g.written = out.Identity, out.Attrs, maps.Clone(out.Written), time.Now()
	g.name, g.named = job.Name, job.Named
	rec.settle(g)
	rec.keep(n, job)
	rec.loose = false
	rec.needs = r.needs(n)
	for _, path := range job.Omit {
		rec.props, _ = tree.Without(rec.props, path).(map[string]any)
	}
	n.condemnOthers(rec, r.w.findsOwn())
	n.plan.Waiting = out.Waiting
	switch {
	case n.task.passes():
		r.publish(n, out.Attrs)
		return false, r.commitAhead(ctx, n.task, rec)
	case !n.releases():
		if err := r.commit(ctx, n, rec); err != nil {
			return false, err
		}
		r.publish(n, out.Attrs)
		return out.Waiting != "", nil
	}
	r.publish(n, out.Attrs)
	return false, r.commitBy(n, rec, func(change statestore.Change) error {
		return r.journal.CommitWith(context.WithoutCancel(ctx), change, func() <-chan struct{} {
			c := newCompany()
			r.sched.signals <- signal{t: n.task, settled: c}
			return c.alone
		})
	})
}

// keep records what a node is settled with. A path that was secret once stays masked.
func (r *record) keep(n *node, job *reconcile.Job) {
	r.props, r.was = job.Props, still(r.was, n.decl.Options.RenamedFrom)
	if n.was == nil { // a repair leaves what was built anew to the next deploy
		r.built = builtOf(job.Assets)
	}
	r.mind(job)
}

// mind notes which paths are secret, from before their values are on record.
func (r *record) mind(job *reconcile.Job) {
	for p := range job.Secret {
		if !slices.Contains(r.secret, p) {
			r.secret = append(slices.Clone(r.secret), p)
		}
	}
	slices.Sort(r.secret)
}

// condemnOthers records what else was found of a node, to be deleted.
func (n *node) condemnOthers(rec *record, dev bool) {
	for i := range n.others {
		rec.older(&n.others[i], dev)
	}
	n.others = nil
}

// older condemns a further find.
func (r *record) older(f *found, dev bool) {
	if r.owns(f.Kind, f.access.place, f.look.Identity) != nil {
		return
	}
	g := &generation{
		number: r.numbered(f.look.Owner.Generation), state: statestore.Condemned, slot: f.slot, kind: f.Kind, place: f.access.place,
		identity: f.look.Identity, attrs: f.look.Attrs, settings: f.access.settings, retain: r.options.Retain,
		dev: dev,
	}
	if f.job != nil {
		g.name, g.named = f.job.Name, f.job.Named
	}
	r.gens = append(r.gens, g)
}

// born lets those go on that need no more than the identity.
func (r *run) born(n *node, attrs map[string]any) {
	r.publish(n, attrs)
	n.mu.Lock()
	n.moving = map[string]bool{}
	for name := range attrs {
		n.moving[name] = true
	}
	for _, name := range n.spec.AtBirth {
		delete(n.moving, name)
	}
	n.mu.Unlock()
	if t := n.task; t != nil {
		r.sched.signals <- signal{t: t, born: true}
	}
}

// publish makes attributes known to all.
func (r *run) publish(n *node, attrs map[string]any) {
	for _, p := range n.spec.SecretAttrs {
		if v, ok := tree.Get(attrs, p); ok {
			r.w.redact.learn(v)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attrs, n.unknown, n.moving = attrs, false, nil
}
