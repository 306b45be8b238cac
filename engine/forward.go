package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// forward makes everything match, upstreams first.
func (r *run) forward(ctx context.Context) {
	makes, drops := map[*node]*task{}, map[*node]*task{}
	var tasks []*task
	add := func(n *node, drop bool, do func(context.Context, *node) (bool, error)) *task {
		t := &task{n: n, drop: drop, rank: n.rank}
		t.do = func(t *task) (bool, error) { return r.work(ctx, t, do) }
		if tasks = append(tasks, t); !drop {
			n.task = t
		}
		return t
	}
	for _, n := range r.w.sorted {
		if n.decl == nil || n.plan == nil {
			continue
		}
		switch n.plan.Action {
		case Unchanged, Wait, Blocked:
			r.settled(n, r.w.sleeps(n))
			continue
		default:
		}
		if up := r.waitsFor(n); up != nil {
			r.blocked(n, up, true)
			continue
		}
		makes[n] = add(n, false, r.make)
		if n.plan.DeleteFirst {
			drops[n] = add(n, true, r.dropFirst)
		}
	}
	for _, n := range r.breaking(drops) {
		drops[n] = add(n, true, func(ctx context.Context, n *node) (bool, error) { return false, r.drop(ctx, n) })
	}
	r.order(makes, drops)
	r.schedule(tasks)
	for _, t := range makes {
		t.n.task = nil
	}
}

// waitsFor is an upstream that is not ready because somebody else must act first, or that is blocked by one.
func (r *run) waitsFor(n *node) *node {
	for _, up := range n.ups {
		if up.decl == nil || n.atBirth(up) {
			continue
		}
		if n.was != nil && up.plan.Action == Blocked {
			continue // that one is left as it is, and this one goes back to what it was beside it
		}
		if up.plan.Action == Wait || r.statuses[up.addr] == StatusBlocked {
			return up
		}
	}
	return nil
}

// breaking are the undeclared things that go before a thing which is deleted first, because they need it, or need
// one that does. Of what reading has found nobody knows what it needs: it goes first as well.
func (r *run) breaking(drops map[*node]*task) []*node {
	doomed := map[string]bool{}
	for n := range drops {
		doomed[n.addr] = true
	}
	var found []*node
	for more := len(doomed) > 0; more; {
		more = false
		for _, n := range r.w.leftover {
			if !r.goes(n) || doomed[n.addr] || !n.rec.NeedsUnknown && !slices.ContainsFunc(n.needs, func(a string) bool { return doomed[a] }) {
				continue
			}
			doomed[n.addr], more = true, true
			found = append(found, n)
		}
	}
	return found
}

// goes reports that an undeclared thing is to be deleted. One of which only condemned generations are left has no line of
// its own in the plan.
func (r *run) goes(n *node) bool {
	if n.plan == nil && len(n.rec.Generations) > 0 && r.w.isSelected(n) {
		n.plan = &Planned{Address: n.addr, Action: Delete, Kind: n.rec.Generations[0].Kind}
	}
	return n.plan != nil && n.plan.Action == Delete
}

// order says what waits for what. New things wait for what they need; what must go first waits for those that
// need it, and for everything that comes before it: nothing is deleted before its upstreams have succeeded.
func (r *run) order(makes, drops map[*node]*task) {
	for n, t := range makes {
		for _, up := range n.ups {
			makes[up].before(t, n.atBirth(up))
		}
		if n.files == filesLater { // also behind what needs nothing itself, and so has no task to wait for
			for _, writer := range n.writers(func(up *node) bool { return makes[up] != nil }) {
				makes[writer].before(t, false)
			}
		}
		drops[n].before(t, false)
	}
	below := r.below(drops)
	for n, t := range drops {
		for _, a := range n.needs {
			if up := r.w.nodes[a]; up != nil && drops[up] == nil && n.decl != nil && !below[up] {
				makes[up].before(t, false)
			}
		}
		for _, a := range n.needed() {
			t.before(drops[r.w.nodes[a]], false)
		}
	}
	for n, t := range makes {
		if below[n] || drops[n] != nil {
			continue
		}
		for _, a := range n.needed() {
			if !slices.Contains(n.needs, a) {
				t.before(drops[r.w.nodes[a]], false) // it lets go of what it needed until now
			}
		}
	}
}

// needed are the addresses that a node needs, or that what is there of it needed when it was made.
func (n *node) needed() []string {
	if n.rec == nil {
		return n.needs
	}
	both := slices.Concat(n.needs, n.rec.Needs)
	slices.Sort(both)
	return slices.Compact(both)
}

// below are the declared nodes that need something which is deleted first: they are made after it, and so cannot
// be waited for by what goes before it.
func (r *run) below(drops map[*node]*task) map[*node]bool {
	below := map[*node]bool{}
	for _, n := range r.w.sorted {
		for _, up := range n.ups {
			if drops[up] != nil || below[up] {
				below[n] = true
				break
			}
		}
	}
	return below
}

// schedule runs tasks and accounts for those that could not run.
func (r *run) schedule(tasks []*task) {
	sched := newSchedule(r.stopping, func(t, cause *task) {
		r.blocked(t.n, cause.n, cause.state == finished)
	})
	sched.run(tasks)
	for _, t := range tasks {
		if t.state != pending {
			continue
		}
		if !r.stopping() {
			r.fail(t.n, t.n.plan.Action, errWaitsForItself)
		}
		r.setStatus(t.n, StatusSkipped)
	}
}

// work does one task with everything around it: saved plan, hooks, events, failure.
func (r *run) work(ctx context.Context, t *task, do func(context.Context, *node) (bool, error)) (bool, error) {
	n, begun := t.n, time.Now()
	ctx, calls := calls.Note(ctx)
	action := n.plan.Action
	if t.drop && action != Forget {
		action = Delete
	}
	r.emit(Event{Type: EventStart, Address: n.addr, Kind: n.kindName(), Action: action, Status: StatusRunning})
	n.changed = nil
	waiting, err := r.hooked(ctx, t, action, do)
	if action == Create {
		action = n.plan.Action // it may have been found instead
	}
	e := Event{Type: EventDone, Address: n.addr, Kind: n.kindName(), Action: action, Status: StatusDone, Elapsed: calls.Elapsed(begun)}
	e.Paths = pathTexts(n.changed)
	switch {
	case err != nil:
		e.ended(err, calls.Mutated())
		r.fail(n, action, err)
	case waiting:
		e.Status, e.Note = StatusWaiting, n.plan.Waiting
	case action == Replace && n.plan.May && n.rec.Live() != nil && n.rec.Live().Number == n.plan.Generation:
		// What it needs came out so that nothing had to be replaced.
		switch action = Update; {
		case n.rec.Found:
			action = Recover
		case len(n.changed) == 0:
			action = Unchanged
		}
		e.Action = action
	case action == Update && n.plan.May && len(n.changed) == 0:
		// What it needs came out as it was: the update that may have been was none.
		action, e.Action = Unchanged, Unchanged
	}
	if !t.drop || n.decl == nil {
		r.account(n, action, e.Status)
	} else if err != nil {
		r.count(action, e.Status)
	}
	r.emit(e)
	return waiting, err
}

func pathTexts(paths []tree.Path) []string {
	texts := make([]string, len(paths))
	for i, p := range paths {
		texts[i] = string(p)
	}
	return texts
}

func (n *node) kindName() string {
	if n.spec != nil {
		return n.spec.Type
	}
	return n.plan.Kind
}

// errWaitsForItself is why tasks were not started that nothing stopped: each waits for another of them.
var errWaitsForItself = errors.New("it waits for what waits for it: a cycle that nothing opens")

// errStopped ends work that may not be started any more.
var errStopped = errors.New("stopped")
