package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// forwarding makes everything match that is declared, upstreams first.
type forwarding struct {
	*maker
	works    *worker
	leftover []*node // that are selected
}

func (f *forwarding) forward(ctx context.Context) {
	makes, drops := map[*node]*task{}, map[*node]*task{}
	var tasks []*task
	add := func(n *node, drop bool, first preview, do func(context.Context, *node) (bool, error)) *task {
		t := &task{n: n, drop: drop}
		t.do = func(t *task) (bool, error) {
			waiting, err := f.works.work(ctx, t, first, do)
			if !drop && err == nil && !convergesLater(n) {
				n.job = nil // there can be very many, and nothing asks for it any more
			}
			return waiting, err
		}
		if tasks = append(tasks, t); !drop {
			f.tasks[n] = t
		}
		return t
	}
	for _, n := range f.sorted {
		if n.decl == nil || n.plan == nil {
			continue
		}
		switch n.doing() {
		case Unchanged, Wait, Blocked:
			f.settled(n, f.sleeps(n))
			continue
		default:
		}
		if up := f.waitsFor(n); up != nil {
			f.blocked(n, up, true)
			continue
		}
		makes[n] = add(n, false, f.previewMake, f.make)
		if n.plan.DeleteFirst {
			drops[n] = add(n, true, f.previewDrop, f.dropFirst)
		}
	}
	for _, n := range breaking(drops, f.leftover) {
		drops[n] = add(n, true, f.previewDelete, func(ctx context.Context, n *node) (bool, error) { return false, f.drop(ctx, n) })
	}
	order(makes, drops, f.jobs.index)
	f.works.schedule(tasks)
	for _, t := range makes {
		delete(f.tasks, t.n)
	}
}

// waitsFor is an upstream that is not ready because somebody else must act first, or that is blocked by one.
func (f *forwarding) waitsFor(n *node) *node {
	for _, up := range n.ups {
		if up.decl == nil || n.atBirth(up) {
			continue
		}
		if n.was != nil && up.doing() == Blocked {
			continue // that one is left as it is, and this one goes back to what it was beside it
		}
		if up.doing() == Wait || f.statuses[up.addr] == StatusBlocked {
			return up
		}
	}
	return nil
}

// breaking are the undeclared things that go before a thing which is deleted first, because they need it, or need
// one that does. Of what reading has found nobody knows what it needs: it goes first as well.
func breaking(drops map[*node]*task, undeclared []*node) []*node {
	doomed := map[string]bool{}
	for n := range drops {
		doomed[n.addr] = true
	}
	var found []*node
	for more := len(doomed) > 0; more; {
		more = false
		for _, n := range undeclared {
			needs := n.rec.NeedsUnknown || slices.ContainsFunc(n.needs, func(a string) bool { return doomed[a] })
			if !isDeleted(n) || doomed[n.addr] || !needs && !refersToFound(n, drops) {
				continue
			}
			doomed[n.addr], more = true, true
			found = append(found, n)
		}
	}
	return found
}

// refersToFound reports that an undeclared resource refers by its values to an object that is deleted first and has no entry: an
// entry that was lost is in nobody's needs.
func refersToFound(n *node, drops map[*node]*task) bool {
	refers := false
	for up := range drops {
		if up.rec != nil && up.rec.Found || isFound(up) {
			tree.Walk(anyMap(n.rec.Props), func(_ tree.Path, v any) bool {
				refers = refers || v == up.look.Identity
				return !refers
			})
		}
	}
	return refers
}

// planRemains plans the deletion of those undeclared nodes of which only condemned generations are left: they have no
// line of their own in the plan, each of their generations has.
func planRemains(undeclared []*node) {
	for _, n := range undeclared {
		if n.plan == nil && len(n.rec.Generations) > 0 {
			n.plan = &Planned{Address: n.addr, Action: Delete, Kind: n.rec.Generations[0].Kind}
		}
	}
}

// isDeleted reports that an undeclared node is to be deleted.
func isDeleted(n *node) bool { return n.plan != nil && n.doing() == Delete }

// order says what waits for what. New things wait for what they need; what must go first waits for those that
// need it, and for everything that comes before it: nothing is deleted before its upstreams have succeeded.
func order(makes, drops map[*node]*task, x *index) {
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
	under := below(drops, x.sorted)
	for n, t := range drops {
		for _, a := range n.needs {
			if up := x.nodes[a]; up != nil && drops[up] == nil && n.decl != nil && !under[up] {
				makes[up].before(t, false)
			}
		}
		for _, a := range needed(n) {
			if _, cut := n.cut[a]; !cut { // through a deferrable path both would wait for each other
				t.before(drops[x.nodes[a]], false)
			}
		}
	}
	for n, t := range makes {
		if under[n] || drops[n] != nil {
			continue
		}
		for _, a := range needed(n) {
			if !slices.Contains(n.needs, a) {
				t.before(drops[x.nodes[a]], false) // it lets go of what it needed until now
			}
		}
	}
}

// needed are the addresses that a node needs, or that what is there of it needed when it was made.
func needed(n *node) []string {
	if n.rec == nil {
		return n.needs
	}
	both := slices.Concat(n.needs, n.rec.Needs)
	slices.Sort(both)
	return slices.Compact(both)
}

// below are the declared nodes that need something which is deleted first: they are made after it, and so cannot
// be waited for by what goes before it.
func below(drops map[*node]*task, sorted []*node) map[*node]bool {
	under := map[*node]bool{}
	for _, n := range sorted {
		for _, up := range n.ups {
			if drops[up] != nil || under[up] {
				under[n] = true
				break
			}
		}
	}
	return under
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
