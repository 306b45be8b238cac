package engine

import (
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
)

// renaming finds out which entries are to be at other addresses.
type renaming struct {
	declared []*node
	entries  map[string]*state.Entry
	claims   map[*node]string   // the entry's address that a declaration names as its own earlier one
	renamers map[string][]*node // by the earlier address that they name
}

// renames returns the addresses, from old to new, to which entries move by what the program declares: chains, shifts and swaps
// included. A rename that was done before is not done again: the entry remembers where it came from.
func renames(declared []*node, entries map[string]*state.Entry) (moves map[string]string, problems []error) {
	r := renaming{declared, entries, map[*node]string{}, map[string][]*node{}}
	for _, n := range declared {
		for _, old := range n.decl.Options.RenamedFrom {
			r.renamers[old] = append(r.renamers[old], n)
			if _, claims := r.claims[n]; !claims && entries[old] != nil && old != n.addr && !entries[n.addr].CameFrom(old) {
				r.claims[n] = old
			}
		}
	}
	by := map[string]*node{}
	moves = map[string]string{}
	for _, n := range declared {
		old, ok := r.claims[n]
		if !ok || !r.free(n, map[*node]bool{}) {
			continue
		}
		if other := by[old]; other != nil {
			problems = append(problems, fmt.Errorf("%s and %s both say that they were renamed from %s", other.addr, n.addr, old))
			continue
		}
		by[old], moves[old] = n, n.addr
	}
	return moves, problems
}

// free reports that the address of a node has no entry, or that its entry goes elsewhere. Around a circle of claims every
// entry goes on by one: a swap.
func (r *renaming) free(n *node, visiting map[*node]bool) bool {
	if r.entries[n.addr] == nil || visiting[n] {
		return true
	}
	visiting[n] = true
	return slices.ContainsFunc(r.renamers[n.addr], func(next *node) bool { return r.claims[next] == n.addr && r.free(next, visiting) })
}

// renameNote says that a renamedFrom has done its work here.
func (n *node) renameNote() string {
	for _, old := range n.decl.Options.RenamedFrom {
		if n.from == "" && n.rec.CameFrom(old) {
			return fmt.Sprintf("renamed from %s; that renamedFrom may go when every stage has been deployed with it", old)
		}
	}
	return ""
}
