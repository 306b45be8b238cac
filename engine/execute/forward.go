package execute

import (
	"context"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// forwarding makes everything match that is declared, upstreams first.
type forwarding struct {
	*maker
	works    *worker
	leftover []*plan.Node // that are selected
}

func (f *forwarding) forward(ctx context.Context) {
	makes, drops := f.tasks, map[*plan.Node]*task{} // between the phases of a run there are no tasks
	var tasks []*task
	do := func(t *task) (bool, error) { // one for all tasks, of which there can be very many
		waiting, err := f.works.work(ctx, t, t.first, t.work)
		if len(t.n.Changed) > 0 {
			f.reading.again(t.n) // in a cycle that goes through a read
		}
		if !t.drop && err == nil {
			t.n.DropValues()
		}
		return waiting, err
	}
	add := func(n *plan.Node, drop bool, first preview, work func(context.Context, *plan.Node) (bool, error)) *task {
		t := &task{n: n, drop: drop, first: first, work: work, do: do}
		tasks = append(tasks, t)
		return t
	}
	previewMake, doMake := ahead(f.reading, f.previewMake), ahead(f.reading, f.make)
	previewDrop, dropFirst := ahead(f.reading, f.previewDrop), ahead(f.reading, f.dropFirst)
	for _, n := range f.Sorted {
		if n.Decl == nil || n.Plan == nil {
			continue
		}
		switch n.Doing() {
		case plan.Unchanged, plan.Wait, plan.Blocked:
			f.settled(n, f.Sleeps(n))
			continue
		default:
		}
		if up := f.waitsFor(n); up != nil {
			f.blocked(n, up, true)
			continue
		}
		makes[n] = add(n, false, previewMake, doMake)
		if n.Plan.DeleteFirst {
			drops[n] = add(n, true, previewDrop, dropFirst)
		}
	}
	for _, n := range breaking(drops, f.leftover) {
		drops[n] = add(n, true, f.previewDelete, ending(f.drop))
	}
	order(makes, drops, f.Jobs.Index)
	f.works.schedule(tasks)
	clear(f.tasks)
}

// waitsFor is an upstream that is not ready because somebody else must act first, or that is blocked by one.
func (f *forwarding) waitsFor(n *plan.Node) *plan.Node {
	for _, up := range n.Ups {
		if up.Decl == nil || n.AtBirth(up) {
			continue
		}
		if n.Was != nil && up.Doing() == plan.Blocked {
			continue // that one is left as it is, and this one goes back to what it was beside it
		}
		if up.Doing() == plan.Wait || f.statuses[up.Address] == plan.StatusBlocked {
			return up
		}
	}
	return nil
}

// breaking returns the undeclared objects that are deleted before one which is deleted first, because they need it, or
// need one that does. Of what reading has found nobody knows what it needs: it goes first as well.
func breaking(drops map[*plan.Node]*task, undeclared []*plan.Node) []*plan.Node {
	doomed := map[string]bool{}
	for n := range drops {
		doomed[n.Address] = true
	}
	var found []*plan.Node
	for more := len(doomed) > 0; more; {
		more = false
		for _, n := range undeclared {
			needs := n.Entry.NeedsUnknown || slices.ContainsFunc(n.Needs, func(a string) bool { return doomed[a] })
			if !plan.IsDeleted(n) || doomed[n.Address] || !needs && !refersToFound(n, drops) {
				continue
			}
			doomed[n.Address], more = true, true
			found = append(found, n)
		}
	}
	return found
}

// refersToFound reports that an undeclared resource refers by its values to an object that is deleted first and has no entry: an
// entry that was lost is in nobody's needs.
func refersToFound(n *plan.Node, drops map[*plan.Node]*task) bool {
	refers := false
	for up := range drops {
		if up.Entry != nil && up.Entry.Found || plan.IsFound(up) {
			tree.Walk(plan.AnyMap(n.Entry.Props), func(_ tree.Path, v any) bool {
				refers = refers || v == up.Look().Identity
				return !refers
			})
		}
	}
	return refers
}

// planRemains plans the deletion of those undeclared nodes of which only condemned generations are left: they have no
// line of their own in the plan, each of their generations has.
func planRemains(undeclared []*plan.Node) {
	for _, n := range undeclared {
		if n.Plan == nil && len(n.Entry.Generations) > 0 {
			n.Plan = &plan.Planned{Address: n.Address, Action: plan.Delete, Kind: n.Entry.Generations[0].Kind}
		}
	}
}

// order says what waits for what. New objects wait for what they need; what is deleted first waits for those that
// need it, and for everything that comes before it: nothing is deleted before its upstreams have succeeded.
func order(makes, drops map[*plan.Node]*task, x *plan.Index) {
	for n, t := range makes {
		for _, up := range n.Ups {
			makes[up].before(t, n.AtBirth(up))
		}
		if n.Files == plan.FilesLater { // also behind what needs nothing itself, and so has no task to wait for
			for _, writer := range n.Writers(func(up *plan.Node) bool { return makes[up] != nil }) {
				makes[writer].before(t, false)
			}
		}
		drops[n].before(t, false)
	}
	under := below(drops, x.Sorted)
	for n, t := range drops {
		for _, a := range n.Needs {
			if up := x.Nodes[a]; up != nil && drops[up] == nil && n.Decl != nil && !under[up] {
				makes[up].before(t, false)
			}
		}
		for _, a := range needed(n) {
			if _, cut := n.Cut[a]; !cut { // through a deferrable path both would wait for each other
				t.before(drops[x.Nodes[a]], false)
			}
		}
	}
	for n, t := range makes {
		if under[n] || drops[n] != nil {
			continue
		}
		for _, a := range needed(n) {
			if !slices.Contains(n.Needs, a) {
				t.before(drops[x.Nodes[a]], false) // it no longer uses what it needed until now
			}
		}
	}
}

// needed are the addresses that a node needs, or that what is there of it needed when it was made.
func needed(n *plan.Node) []string {
	if n.Entry == nil {
		return n.Needs
	}
	both := slices.Concat(n.Needs, n.Entry.Needs)
	slices.Sort(both)
	return slices.Compact(both)
}

// below are the declared nodes that need something which is deleted first: they are made after it, and so cannot
// be waited for by what goes before it.
func below(drops map[*plan.Node]*task, sorted []*plan.Node) map[*plan.Node]bool {
	under := map[*plan.Node]bool{}
	for _, n := range sorted {
		for _, up := range n.Ups {
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

// errWaitsForItself is why tasks were not started that nothing stopped: each waits for another of them.
var errWaitsForItself = errors.New("it waits for what waits for it: a cycle that nothing opens")
