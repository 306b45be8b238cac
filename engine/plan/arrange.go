package plan

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Arrange opens cycles, those first that were opened at the last deploy as the entries say, and orders the nodes so that each
// comes after what it needs. The order is the same for the same graph.
func (x *Index) Arrange(entries map[string]*state.Entry) error {
	all := slices.Concat(x.Reads, x.Declared)
	edges := 0
	for _, n := range all {
		edges += len(n.Needs)
	}
	c := cycles{x.Nodes, entries}
	ups := make([]*Node, 0, edges) // of all nodes, in one piece
	for _, n := range all {
		from := len(ups)
		ups = c.appendUps(ups, n)
		n.Ups = ups[from:len(ups):len(ups)]
	}
	var problems []Problem
	for _, component := range components(all) {
		if err := c.openCycle(component); err != nil {
			problems = append(problems, Problem{Address: component[0].Address, Source: component[0].Source(), Err: err})
		}
	}
	if len(problems) > 0 {
		return &GraphError{problems}
	}
	x.needThroughReads(c)
	for _, n := range all {
		for _, up := range n.Ups {
			up.users = append(up.users, n)
		}
	}
	x.Sorted = sortNodes(all)
	return nil
}

// needThroughReads gives a resource that uses a read what that refers to as needs of its own: it is made after these, fails with them, and is
// deleted before them.
func (x *Index) needThroughReads(c cycles) {
	known := map[*Node][]string{}
	var behind func(read *Node) []string
	behind = func(read *Node) []string {
		needs, ok := known[read]
		if ok {
			return needs
		}
		for _, up := range read.Ups {
			if up.Read == nil {
				needs = append(needs, up.Address)
			} else {
				needs = append(needs, behind(up)...)
			}
		}
		known[read] = needs
		return needs
	}
	for _, n := range x.Declared {
		var more []string
		for _, up := range n.Ups {
			if up.Read != nil {
				more = append(more, behind(up)...)
			}
		}
		if len(more) > 0 {
			n.Needs = slices.Concat(n.Needs, more)
			slices.Sort(n.Needs)
			n.Needs = slices.Compact(n.Needs)
			n.Ups = c.appendUps(nil, n)
		}
	}
}

// cycles opens cycles of nodes.
type cycles struct {
	nodes   map[string]*Node
	entries map[string]*state.Entry // say which edges were cut at the last deploy
}

// appendUps appends the nodes that must come before n: cut edges left out.
func (c cycles) appendUps(ups []*Node, n *Node) []*Node {
	for _, a := range n.Needs {
		if _, cut := n.Cut[a]; cut {
			continue
		}
		if up := c.nodes[a]; up != nil {
			ups = append(ups, up)
		}
	}
	return ups
}

// visit is what a search for cycles knows of a node.
type visit struct {
	index, low int // from 1; index 0: not seen
	open       bool
}

// components are the cycles: strongly connected sets of more than one node, or one that needs itself. It is
// Tarjan's algorithm without recursion, so that a chain of any length fits.
func components(all []*Node) [][]*Node {
	type frame struct {
		n    *Node
		next []*Node
	}
	visits := make([]visit, len(all))
	at := make(map[*Node]*visit, len(all)) // what is not among them is left out
	for i, n := range all {
		at[n] = &visits[i]
	}
	var stack []*Node
	var frames []frame
	var out [][]*Node
	seen := 0
	enter := func(n *Node) {
		seen++
		*at[n] = visit{seen, seen, true}
		stack = append(stack, n)
		frames = append(frames, frame{n, n.Ups})
	}
	for _, root := range all {
		if at[root].index > 0 {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if len(f.next) > 0 {
				up := f.next[0]
				f.next = f.next[1:]
				switch v := at[up]; {
				case v == nil:
				case v.index == 0:
					enter(up)
				case v.open:
					at[f.n].low = min(at[f.n].low, v.index)
				}
				continue
			}
			n := f.n
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := at[frames[len(frames)-1].n]
				parent.low = min(parent.low, at[n].low)
			}
			if at[n].low != at[n].index {
				continue
			}
			from := len(stack) - 1 // near the top, and all that lies above n belongs to its component
			for at[stack[from]].open = false; stack[from] != n; at[stack[from]].open = false {
				from--
			}
			if component := stack[from:]; len(component) > 1 || slices.Contains(n.Ups, n) {
				component = slices.Clone(component)
				slices.SortFunc(component, func(a, b *Node) int { return cmp.Compare(a.Address, b.Address) })
				out = append(out, component)
			}
			stack = stack[:from]
		}
	}
	return out
}

// openCycle cuts edges through late paths until no cycle is left: those first that were cut at the last deploy, by which
// destroy opens the cycle, then by smallest address, then path.
func (c cycles) openCycle(component []*Node) error {
	for {
		rest := components(component)
		if len(rest) == 0 {
			return nil
		}
		if !c.cutOne(rest[0]) {
			return cycleError(rest[0])
		}
	}
}

// cutOne cuts the first edge of a cycle that goes through late paths alone.
func (c cycles) cutOne(component []*Node) bool {
	for _, recorded := range []bool{true, false} {
		for _, n := range component {
			edges := n.lateEdges(component)
			if recorded {
				edges = slices.DeleteFunc(edges, func(e lateEdge) bool { return !wasCut(c.entries[n.Address], e) })
			}
			if len(edges) == 0 {
				continue
			}
			first := slices.MinFunc(edges, func(a, b lateEdge) int {
				return cmp.Or(cmp.Compare(a.paths[0], b.paths[0]), cmp.Compare(a.up, b.up))
			})
			if n.Cut == nil {
				n.Cut = map[string][]tree.Path{}
			}
			n.Cut[first.up] = first.paths
			n.Ups = c.appendUps(nil, n)
			return true
		}
	}
	return false
}

// lateEdge is a need that goes through late paths alone.
type lateEdge struct {
	up    string
	paths []tree.Path
}

// lateEdges returns the needs of a node within a component that go through late paths alone.
func (n *Declaration) lateEdges(component []*Node) []lateEdge {
	var edges []lateEdge
	for _, up := range n.Ups {
		if paths, late := n.LatePaths(up.Address); late && slices.Contains(component, up) {
			edges = append(edges, lateEdge{up.Address, paths})
		}
	}
	return edges
}

// wasCut reports whether an edge was cut at the last deploy, through the same paths.
func wasCut(entry *state.Entry, e lateEdge) bool {
	return entry != nil && slices.Equal(entry.Cut[e.up], e.paths)
}

// LatePaths are the paths through which n refers to up, and whether each may be left out at creation. A
// dependsOn cannot be left out, nor can what is read by a query.
func (n *Declaration) LatePaths(up string) ([]tree.Path, bool) {
	if n.Read != nil || n.Decl != nil && slices.Contains(n.Decl.Options.DependsOn, up) {
		return nil, false
	}
	var paths []tree.Path
	for _, u := range n.Uses() {
		if u.Ref.Address != up {
			continue
		}
		if !slices.ContainsFunc(n.Spec.Late, func(late tree.Path) bool { return u.At.Within(late) }) {
			return nil, false
		}
		paths = append(paths, n.documentAt(u.At))
	}
	slices.Sort(paths)
	return slices.Compact(paths), len(paths) > 0
}

// documentAt returns the prop of any form that a path lies in, else the path itself: a document with a hole is another document,
// so it is left out whole.
func (n *Declaration) documentAt(p tree.Path) tree.Path {
	if n.Spec.Shape == nil {
		return p
	}
	fields, _, err := n.Spec.Shape()
	if err != nil {
		return p // a kind that has no form is told so by its declaration
	}
	for at := fields; len(at) > 0; {
		i := slices.IndexFunc(at, func(f props.Field) bool { return p.Within(f.Path) })
		switch {
		case i < 0:
			return p
		case at[i].Type == "any":
			for p.Parent() != "" && p.Parent().Within(at[i].Path) {
				p = p.Parent()
			}
			return p
		}
		at = at[i].Fields
	}
	return p
}

// cycleError walks one cycle of a component and says through which props it goes.
func cycleError(component []*Node) error {
	at := map[*Node]int{}
	var walk []*Node
	for n := component[0]; ; {
		if i, seen := at[n]; seen {
			walk = walk[i:]
			break
		}
		at[n] = len(walk)
		walk = append(walk, n)
		ups := n.Ups
		n = ups[slices.IndexFunc(ups, func(up *Node) bool { return slices.Contains(component, up) })]
	}
	e := &CycleError{}
	for i, n := range walk {
		up := walk[(i+1)%len(walk)]
		path := "dependsOn"
		for _, u := range n.Uses() {
			if u.Ref.Address == up.Address {
				path = string(u.At)
				break
			}
		}
		e.Members = append(e.Members, n.Address)
		e.Paths = append(e.Paths, path)
	}
	return e
}

// sortNodes orders nodes after what they need; among those that are free, by address.
func sortNodes(all []*Node) []*Node {
	waiting := make(map[*Node]int, len(all))
	free := new(make(byAddress, 0, len(all)))
	for _, n := range all {
		if len(n.Ups) == 0 {
			*free = append(*free, n)
		}
		waiting[n] = len(n.Ups)
	}
	heap.Init(free)
	sorted := make([]*Node, 0, len(all))
	for free.Len() > 0 {
		n, _ := heap.Pop(free).(*Node)
		sorted = append(sorted, n)
		for _, user := range n.users {
			if waiting[user]--; waiting[user] == 0 {
				heap.Push(free, user)
			}
		}
	}
	return sorted
}

// byAddress is a heap of nodes.
type byAddress []*Node

func (h byAddress) Len() int           { return len(h) }
func (h byAddress) Less(i, j int) bool { return h[i].Address < h[j].Address }
func (h byAddress) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byAddress) Push(x any) {
	if n, ok := x.(*Node); ok {
		*h = append(*h, n)
	}
}

func (h *byAddress) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
