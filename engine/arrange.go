package engine

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// arrange opens cycles, and orders the nodes so that each comes after what it needs. The order is the same for
// the same graph.
func (w *work) arrange() error {
	all := slices.Concat(w.reads, w.declared)
	var problems []Problem
	for _, component := range components(all, w.upstreams) {
		if err := w.openCycle(component); err != nil {
			problems = append(problems, Problem{Address: component[0].addr, Source: component[0].source(), Err: err})
		}
	}
	if len(problems) > 0 {
		return &GraphError{problems}
	}
	for _, n := range all {
		n.ups = w.upstreams(n)
		for _, up := range n.ups {
			up.users = append(up.users, n)
		}
	}
	w.sorted = sortNodes(all, w.upstreams)
	for _, n := range slices.Backward(w.sorted) {
		for _, user := range n.users {
			n.rank = max(n.rank, user.rank+1)
		}
	}
	for i, n := range w.sorted {
		n.order = i
	}
	return nil
}

// upstreams are the nodes that must come before n: cut edges left out. They are found anew until all cycles are open.
func (w *work) upstreams(n *node) []*node {
	if n.ups != nil {
		return n.ups
	}
	ups := make([]*node, 0, len(n.needs))
	for _, a := range n.needs {
		if _, cut := n.cut[a]; !cut {
			if up := w.nodes[a]; up != nil {
				ups = append(ups, up)
			}
		}
	}
	return ups
}

// components are the cycles: strongly connected sets of more than one node, or one that needs itself. It is
// Tarjan's algorithm without recursion, so that a chain of any length fits.
func components(all []*node, ups func(*node) []*node) [][]*node {
	type frame struct {
		n    *node
		next []*node
	}
	index, low, on := map[*node]int{}, map[*node]int{}, map[*node]bool{}
	var stack []*node
	var out [][]*node
	for _, root := range all {
		if _, seen := index[root]; seen {
			continue
		}
		var frames []frame
		enter := func(n *node) {
			index[n], low[n], on[n] = len(index), len(index), true
			stack = append(stack, n)
			frames = append(frames, frame{n, ups(n)})
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if len(f.next) > 0 {
				up := f.next[0]
				f.next = f.next[1:]
				if _, seen := index[up]; !seen {
					enter(up)
				} else if on[up] {
					low[f.n] = min(low[f.n], index[up])
				}
				continue
			}
			n := f.n
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].n
				low[parent] = min(low[parent], low[n])
			}
			if low[n] != index[n] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != n { // near the top: what lies above it belongs to its component
				at--
			}
			component := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, m := range component {
				on[m] = false
			}
			if len(component) > 1 || slices.Contains(ups(n), n) {
				slices.SortFunc(component, func(a, b *node) int { return cmp.Compare(a.addr, b.addr) })
				out = append(out, component)
			}
		}
	}
	return out
}

// openCycle cuts edges through late paths until no cycle is left: smallest address first, then path. The
// choice depends on the graph alone.
func (w *work) openCycle(component []*node) error {
	for {
		rest := components(component, w.upstreams)
		if len(rest) == 0 {
			return nil
		}
		if !w.cutOne(rest[0]) {
			return w.cycleError(rest[0])
		}
	}
}

// cutOne cuts the first edge of a cycle that goes through late paths alone.
func (w *work) cutOne(component []*node) bool {
	for _, n := range component {
		type edge struct {
			up    string
			paths []tree.Path
		}
		var edges []edge
		for _, up := range w.upstreams(n) {
			if paths, late := n.latePaths(up.addr); late && slices.Contains(component, up) {
				edges = append(edges, edge{up.addr, paths})
			}
		}
		if len(edges) == 0 {
			continue
		}
		first := slices.MinFunc(edges, func(a, b edge) int {
			return cmp.Or(cmp.Compare(a.paths[0], b.paths[0]), cmp.Compare(a.up, b.up))
		})
		if n.cut == nil {
			n.cut = map[string][]tree.Path{}
		}
		n.cut[first.up] = first.paths
		return true
	}
	return false
}

// latePaths are the paths through which n refers to up, and whether each may be left out at creation. A
// dependsOn cannot be left out.
func (n *node) latePaths(up string) ([]tree.Path, bool) {
	if n.decl != nil && slices.Contains(n.decl.Options.DependsOn, up) {
		return nil, false
	}
	var paths []tree.Path
	for _, u := range n.uses {
		if u.Ref.Address != up {
			continue
		}
		if !slices.ContainsFunc(n.spec.Late, func(late tree.Path) bool { return u.At.Within(late) }) {
			return nil, false
		}
		paths = append(paths, u.At)
	}
	slices.Sort(paths)
	return slices.Compact(paths), len(paths) > 0
}

// cycleError walks one cycle of a component and says through which props it goes.
func (w *work) cycleError(component []*node) error {
	at := map[*node]int{}
	var walk []*node
	for n := component[0]; ; {
		if i, seen := at[n]; seen {
			walk = walk[i:]
			break
		}
		at[n] = len(walk)
		walk = append(walk, n)
		ups := w.upstreams(n)
		n = ups[slices.IndexFunc(ups, func(up *node) bool { return slices.Contains(component, up) })]
	}
	e := &CycleError{}
	for i, n := range walk {
		up := walk[(i+1)%len(walk)]
		path := "dependsOn"
		for _, u := range n.uses {
			if u.Ref.Address == up.addr {
				path = string(u.At)
				break
			}
		}
		e.Members = append(e.Members, n.addr)
		e.Paths = append(e.Paths, path)
	}
	return e
}

// sortNodes orders nodes after what they need; among those that are free, by address.
func sortNodes(all []*node, ups func(*node) []*node) []*node {
	waiting := make(map[*node]int, len(all))
	users := make(map[*node][]*node, len(all))
	free := &byAddress{}
	for _, n := range all {
		for _, up := range ups(n) {
			waiting[n]++
			users[up] = append(users[up], n)
		}
		if waiting[n] == 0 {
			*free = append(*free, n)
		}
	}
	heap.Init(free)
	sorted := make([]*node, 0, len(all))
	for free.Len() > 0 {
		n, _ := heap.Pop(free).(*node)
		sorted = append(sorted, n)
		for _, user := range users[n] {
			if waiting[user]--; waiting[user] == 0 {
				heap.Push(free, user)
			}
		}
	}
	return sorted
}

// byAddress is a heap of nodes.
type byAddress []*node

func (h byAddress) Len() int           { return len(h) }
func (h byAddress) Less(i, j int) bool { return h[i].addr < h[j].addr }
func (h byAddress) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byAddress) Push(x any) {
	if n, ok := x.(*node); ok {
		*h = append(*h, n)
	}
}

func (h *byAddress) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
