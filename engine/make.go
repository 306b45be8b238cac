package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/athanor-dev/athanor/adopt"
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
	resolved, err := r.w.resolve(ctx, n.declaredProps())
	if err != nil {
		return err
	}
	declared, _ := resolved.Tree.(map[string]any)
	job := &reconcile.Job{Address: n.addr, Props: declared, Dir: r.w.graph.Dir}
	if err := n.kind.Prepare(ctx, job, reconcile.Workspace{Dir: r.w.graph.Dir, Cache: r.e.Cache}); err != nil {
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
	hooks := r.hooks(n, job, rec, g)
	out, err := n.kind.Settle(ctx, job, hooks)
	n.changed = append(n.changed, out.Changed...)
	if err != nil {
		return false, r.unannounced(n, err)
	}
	return r.done(ctx, n, rec, g, job, out)
}

// taken is the live generation of a thing that is taken over.
func (r *run) taken(n *node, rec *record) *generation {
	g := &generation{
		number: max(n.look.Owner.Generation, 1), state: statestore.Live, slot: n.slot, kind: n.spec.Type, place: n.access.place,
		identity: n.look.Identity, attrs: n.look.Attrs,
	}
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
	if n.plan.Action == Create {
		if gone := rec.live(); gone != nil {
			rec.drop(gone) // the plan saw that it is gone
		}
	}
	g, err := r.candidate(n, rec)
	if err != nil {
		return false, err
	}
	job, err := r.w.declaredJob(ctx, n, target{gen: g, number: g.number, slot: g.slot})
	if err != nil {
		return false, err
	}
	g.name, g.named = job.Name, job.Named
	job.Had = nil
	out, err := n.kind.Settle(ctx, job, r.hooks(n, job, rec, g))
	n.changed = append(n.changed, out.Changed...)
	if err != nil {
		return false, r.unannounced(n, err)
	}
	return r.done(ctx, n, rec, g, job, out)
}

// candidate is the generation that is being made: one that an interrupted run began, or a new one.
func (r *run) candidate(n *node, rec *record) (*generation, error) {
	if g := rec.candidate(); g != nil {
		if g.kind == n.spec.Type && g.place == n.access.place {
			return g, nil
		}
		g.state = statestore.Condemned
	}
	slot, err := rec.slotFree(adopt.Slots)
	if err != nil {
		return nil, err
	}
	g := &generation{
		number: rec.next(), state: statestore.Candidate, slot: slot, kind: n.spec.Type, place: n.access.place, nonce: rand.Text(),
	}
	rec.gens = append(rec.gens, g)
	return g, nil
}

// recordOf is a copy of the node's record to work on, with the declaration of now.
func (r *run) recordOf(n *node) *record {
	rec := &record{address: n.addr, birth: n.addr}
	if n.rec != nil {
		rec = n.rec.clone()
	}
	if rec.birth == "" {
		rec.birth = n.addr
	}
	for _, g := range rec.gens {
		if g.settings == nil {
			g.settings = rec.settings
		}
	}
	rec.options, rec.settings, rec.needs, rec.cut = n.decl.Options, n.decl.Settings, r.needs(n), n.cut
	return rec
}

// hooks is the engine's part in settling: what must be durable when, and what may be touched.
func (r *run) hooks(n *node, job *reconcile.Job, rec *record, g *generation) reconcile.Hooks {
	h := reconcile.Hooks{
		Permit: func(look reconcile.Look) error { return r.permit(n, job, g, look) },
		Note: func(text string) {
			r.emit(Event{Type: EventProgress, Address: n.addr, Kind: n.kindName(), Action: n.plan.Action, Note: text})
		},
	}
	if n.spec.Recorded {
		return h
	}
	h.Intend = func(ctx context.Context) error {
		if n.plan.Action != Create && n.plan.Action != Replace {
			if r.o.Saved != nil {
				return fmt.Errorf("%w: it is gone", ErrWorldChanged)
			}
			r.emit(Event{Type: EventWarning, Address: n.addr, Note: "it is gone since the plan, and made again"})
		}
		if rec.live() == nil {
			rec.props = job.Props // all that there is to find it by until it has an identity
		}
		g.intent, g.written, g.identity, g.name, g.named = true, time.Now(), "", job.Name, job.Named
		if g.nonce == "" {
			g.nonce = rand.Text()
		}
		job.Nonce = g.nonce
		return r.commit(ctx, n, rec)
	}
	h.Born = func(ctx context.Context, identity string, attrs map[string]any) error {
		g.identity, g.attrs, g.intent, g.written = identity, attrs, false, time.Now()
		if err := r.commit(ctx, n, rec); err != nil {
			return err
		}
		r.born(n, attrs)
		return nil
	}
	return h
}

// permit decides whether what a look shows may be taken and changed.
func (r *run) permit(n *node, job *reconcile.Job, g *generation, look reconcile.Look) error {
	answer := adopt.Judge(r.w.evidence(n, job, look, g.identity))
	if answer.Verdict == adopt.Ours || n.plan.Action == Adopt && look.Identity == n.look.Identity {
		return nil
	}
	if n.plan.Action == Move && answer.Verdict == adopt.Foreign && g.identity == look.Identity {
		return nil
	}
	return reconcile.WithHint(
		&adopt.OwnerError{Kind: n.spec.Type, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner},
		"take it over with --adopt, or give the resource another name")
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
	rec.settle(g)
	g.identity, g.attrs, g.digests, g.written = out.Identity, out.Attrs, maps.Clone(out.Written), time.Now()
	g.name, g.named, g.settings = job.Name, job.Named, nil
	rec.props, rec.needs = job.Props, r.needs(n)
	for _, path := range job.Omit {
		rec.props, _ = tree.Without(rec.props, path).(map[string]any)
	}
	for i := range n.others {
		rec.gens = append(rec.gens, r.older(n, &n.others[i], rec))
	}
	n.others = nil
	if err := r.commit(ctx, n, rec); err != nil {
		return false, err
	}
	n.used, n.omitted = tree.Digest(rec.props), len(job.Omit) > 0
	n.plan.Waiting = out.Waiting
	r.publish(n, out.Attrs)
	return out.Waiting != "", nil
}

// older is the condemned generation of a further find.
func (r *run) older(n *node, f *found, rec *record) *generation {
	return &generation{
		number: rec.next(), state: statestore.Condemned, slot: f.slot, kind: n.spec.Type, place: f.access.place,
		identity: f.look.Identity, attrs: f.look.Attrs, name: f.job.Name, named: f.job.Named,
	}
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
