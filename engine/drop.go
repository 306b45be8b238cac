package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// collect takes away what is condemned and what is no longer declared, those that need others first, as long
// as nothing that failed or was blocked depends on it.
func (r *run) collect(ctx context.Context) {
	kept := r.stillNeeded()
	drops := map[string]*task{}
	var tasks []*task
	add := func(n *node, do func(context.Context, *node) error) {
		if r.handled(n) {
			return
		}
		if kept[n.addr] {
			r.keep(n)
			return
		}
		t := &task{n: n, drop: true}
		t.do = func(t *task) (bool, error) {
			return r.work(ctx, t, func(ctx context.Context, n *node) (bool, error) { return false, do(ctx, n) })
		}
		tasks, drops[n.addr] = append(tasks, t), t
	}
	for _, n := range r.w.leftover {
		switch {
		case !r.w.isSelected(n):
		case n.plan == nil && len(n.rec.gens) > 0:
			n.plan = &Planned{Address: n.addr, Action: Delete, Kind: n.rec.gens[0].kind}
			add(n, r.drop)
		case n.plan == nil:
		case n.plan.Action == Delete:
			add(n, r.drop)
		case n.plan.Action == Forget:
			add(n, r.forget)
		case n.plan.Action == Blocked:
			r.settled(n)
		}
	}
	for _, n := range r.w.declared {
		if n.rec != nil && len(n.rec.condemned()) > 0 && r.ok(n) && r.w.isSelected(n) {
			add(n, r.dropCondemned)
		}
	}
	if err := r.part(ctx, drops); err != nil {
		r.failures = append(r.failures, &ResourceError{Address: "record", Action: Delete, Err: err})
		return
	}
	for _, t := range drops {
		for _, a := range t.n.dropNeeds() {
			t.before(drops[a], false)
		}
		if with := drops[t.n.rec.options.DeletedWith]; with != nil {
			with.before(t, false)
		}
		if len(t.n.rec.cut) > 0 && t.n.decl == nil {
			tasks = append(tasks, r.untie(ctx, t.n, drops))
		}
	}
	r.schedule(tasks)
}

// part takes what is deleted with another off the other's needs, so that the other's row can go first.
func (r *run) part(ctx context.Context, drops map[string]*task) error {
	change := statestore.Change{}
	for _, t := range drops {
		with := t.n.rec.options.DeletedWith
		if drops[with] == nil || !slices.Contains(t.n.rec.needs, with) {
			continue
		}
		rec := t.n.rec.clone()
		rec.needs = slices.DeleteFunc(slices.Clone(rec.needs), func(a string) bool { return a == with })
		row, err := rec.seal(r.w.stage, r.e.Key)
		if err != nil {
			return err
		}
		t.n.rec = rec
		change.Put = append(change.Put, row)
	}
	if len(change.Put) == 0 {
		return nil
	}
	return r.journal.Commit(context.WithoutCancel(ctx), change)
}

// untie empties the late paths through which a cycle was closed, before any member of it goes.
func (r *run) untie(ctx context.Context, n *node, drops map[string]*task) *task {
	t := &task{n: n, drop: true}
	t.do = func(*task) (bool, error) {
		err := r.emptied(ctx, n)
		if err != nil {
			r.fail(n, Update, err)
			r.setStatus(n, StatusFailed)
		}
		return false, err
	}
	for up := range n.rec.cut {
		t.before(drops[up], false)
	}
	t.before(drops[n.addr], false)
	return t
}

func (r *run) emptied(ctx context.Context, n *node) error {
	rec := n.rec.clone()
	g := rec.live()
	if g == nil || n.kind == nil {
		return nil
	}
	a, err := r.w.accessOf(ctx, n, g)
	if err != nil {
		return err
	}
	props := any(rec.props)
	for up, paths := range rec.cut {
		for _, p := range paths {
			props = tree.Without(props, p)
		}
		rec.needs = slices.DeleteFunc(slices.Clone(rec.needs), func(a string) bool { return a == up })
	}
	job := r.w.recordedJob(n, a, g)
	job.Props, _ = props.(map[string]any)
	out, err := n.kind.Settle(ctx, job, reconcile.Hooks{Intend: func(context.Context) error { return errStopped }})
	if err != nil && !errors.Is(err, errStopped) {
		return err
	}
	if err == nil {
		g.attrs = out.Attrs
	}
	rec.props, rec.cut = job.Props, nil
	if err := r.commit(ctx, n, rec); err != nil {
		return err
	}
	r.recount("", Update)
	return nil
}

// handled reports a leftover that went first in the forward pass.
func (r *run) handled(n *node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, done := r.statuses[n.addr]
	return done && n.decl == nil
}

// dropNeeds are the addresses that may go only after this one. What is deleted with another goes after it.
func (n *node) dropNeeds() []string {
	if n.rec == nil {
		return nil
	}
	with := n.rec.options.DeletedWith
	return slices.DeleteFunc(slices.Clone(n.rec.needs), func(a string) bool {
		_, cut := n.rec.cut[a]
		return a == with || a == n.addr || cut
	})
}

// stillNeeded are the addresses that something which failed, was blocked or was not started depends on.
func (r *run) stillNeeded() map[string]bool {
	kept := map[string]bool{}
	var visit func(addr string)
	visit = func(addr string) {
		if kept[addr] {
			return
		}
		kept[addr] = true
		n := r.w.nodes[addr]
		if n == nil {
			return
		}
		for _, a := range n.needs {
			visit(a)
		}
		if row, ok := r.w.snap.Rows[addr]; ok {
			for _, a := range row.Needs {
				visit(a)
			}
		}
	}
	for _, n := range slices.Concat(r.w.declared, r.w.leftover) {
		if n.plan != nil && (n.decl != nil && !r.ok(n) || n.plan.Action == Blocked) {
			for _, a := range n.needs {
				visit(a)
			}
			if n.rec != nil {
				for _, a := range n.rec.needs {
					visit(a)
				}
			}
		}
	}
	for addr := range r.w.damaged {
		for _, a := range r.w.snap.Rows[addr].Needs {
			visit(a)
		}
	}
	return kept
}

func (r *run) keep(n *node) {
	if n.decl == nil {
		r.setStatus(n, StatusBlocked)
	}
	r.emit(Event{
		Type: EventDone, Address: n.addr, Kind: n.kindName(), Action: Delete, Status: StatusBlocked,
		Note: "something that failed still needs it",
	})
}

// drop deletes everything of a row that is no longer declared, the newest generation first.
func (r *run) drop(ctx context.Context, n *node) error {
	rec := n.rec.clone()
	if rec.options.DeletedWith != "" {
		if _, gone := r.w.nodes[rec.options.DeletedWith]; !gone {
			rec.options.DeletedWith = ""
		}
	}
	if err := r.condemn(ctx, n, rec); err != nil {
		return err
	}
	for _, g := range slices.Backward(slices.Clone(rec.gens)) {
		if err := r.deleteGeneration(ctx, n, g); err != nil {
			return err
		}
		rec.drop(g)
		if len(rec.gens) > 0 {
			if err := r.commit(ctx, n, rec); err != nil {
				return err
			}
		}
	}
	return r.commit(ctx, n, rec)
}

// condemn makes it durable that the things of a row are on their way out, so that a run which is cut short and
// finds the address declared again makes a new thing instead of waiting for a dying one.
func (r *run) condemn(ctx context.Context, n *node, rec *record) error {
	if n.spec != nil && n.spec.Recorded {
		return nil
	}
	changed := false
	for _, g := range rec.gens {
		changed = changed || g.state != statestore.Condemned
		g.state = statestore.Condemned
	}
	if !changed {
		return nil
	}
	return r.commit(ctx, n, rec)
}

// dropCondemned deletes the generations that a declared row has left behind.
func (r *run) dropCondemned(ctx context.Context, n *node) error {
	var errs []error
	for _, g := range n.rec.condemned() {
		if err := r.deleteGeneration(ctx, n, g); err != nil {
			errs = append(errs, err)
			continue
		}
		rec := n.rec.clone()
		rec.gens = slices.DeleteFunc(rec.gens, func(x *generation) bool { return x.number == g.number })
		if err := r.commit(ctx, n, rec); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// dropFirst deletes the live thing before the new one is made. The intent for the new one takes its place in
// the same commit, so that the row stays and nothing that needs it dangles.
func (r *run) dropFirst(ctx context.Context, n *node) (bool, error) {
	rec := r.recordOf(n)
	live := rec.live()
	if live == nil {
		return false, nil
	}
	if err := r.deleteGeneration(ctx, n, live); err != nil {
		return false, err
	}
	g, err := r.candidate(n, rec)
	if err != nil {
		return false, err
	}
	rec.drop(live)
	g.slot, g.intent, g.written = live.slot, true, time.Time{}
	if g.name == "" && live.kind == g.kind {
		g.name, g.named = live.name, live.named
	}
	return false, r.commit(ctx, n, rec)
}

// deleteGeneration deletes one physical thing, after a look that it is there and still ours.
func (r *run) deleteGeneration(ctx context.Context, n *node, g *generation) error {
	kind, ok := r.e.Catalog.Kind(g.kind)
	if !ok {
		return unknownKind(g.kind, r.e.Catalog.Types())
	}
	a, err := r.w.accessOf(ctx, n, g)
	if err != nil {
		return err
	}
	job := r.w.recordedJob(n, a, g)
	job.MayDelete = r.w.mayDelete(n)
	if !kind.Spec().Recorded {
		gone, err := r.checkDelete(ctx, n, g, kind, job)
		if gone || err != nil {
			return err
		}
	}
	return kind.Delete(ctx, job)
}

// checkDelete looks once more before a deletion. What carries another mark is never deleted.
func (r *run) checkDelete(ctx context.Context, n *node, g *generation, kind reconcile.Any, job *reconcile.Job) (gone bool, err error) {
	look, err := kind.Look(ctx, job)
	if err != nil {
		return false, err
	}
	if look.Absent {
		if look.NotYet && g.intent {
			return false, fmt.Errorf("its creation was cut short less than %s ago and it may not be visible yet; the next run deletes it", kind.Spec().Visibility)
		}
		return true, nil
	}
	o := look.Owner
	foreign := o.Stack != r.w.stage.Stack || o.Stage != r.w.stage.Name || !slices.Contains(n.births(), o.Address)
	if !o.IsZero() && (foreign || o.Generation != g.number && !n.discovered && g.identity != look.Identity) {
		return false, reconcile.WithHint(
			&adopt.OwnerError{Kind: g.kind, Identity: look.Identity, Verdict: adopt.Foreign, Owner: o}, "`athanor state rm %s` forgets it here", n.addr)
	}
	if g.identity == "" && job.Named && kind.Spec().Same && len(look.Steps) > 0 {
		return true, nil // the intent was never carried out, and what is there is somebody else's
	}
	if look.Holds && !job.MayDelete {
		return false, reconcile.WithHint(reconcile.ErrHoldsData, "--allow-delete %s if its data may go", n.addr)
	}
	job.Last, job.ID = look.Attrs, look.Identity
	return false, nil
}

// forget lets a row go without deleting its things. Those that can carry a mark are marked as retained.
func (r *run) forget(ctx context.Context, n *node) error {
	rec := n.rec.clone()
	if g := rec.live(); g != nil && n.spec != nil && n.spec.Marked && rec.props != nil {
		a, err := r.w.accessOf(ctx, n, g)
		if err != nil {
			return err
		}
		job := r.w.recordedJob(n, a, g)
		job.Props, job.Mark.Retained = rec.props, true
		job.Name, job.Named = g.name, g.named
		if _, err := n.kind.Settle(ctx, job, reconcile.Hooks{
			Intend: func(context.Context) error { return errStopped },
		}); err != nil && !errors.Is(err, errStopped) {
			return err
		}
	}
	rec.gens = nil
	return r.commit(ctx, n, rec)
}
