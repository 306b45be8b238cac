package plan

import (
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
)

// renaming finds out which entries are to be at other addresses.
type renaming struct {
	declared []*Node
	entries  map[string]*state.Entry
	claims   map[*Node]string   // the entry's address that a declaration names as its own earlier one
	renamers map[string][]*Node // by the earlier address that they name
}

// Renames returns the addresses, from old to new, to which entries move by what the program declares: chains, shifts and swaps
// included. A rename that was done before is not done again: the entry remembers where it came from.
func Renames(declared []*Node, entries map[string]*state.Entry) (moves map[string]string, problems []error) {
	r := renaming{declared, entries, map[*Node]string{}, map[string][]*Node{}}
	for _, n := range declared {
		for _, old := range n.Decl.Options.RenamedFrom {
			r.renamers[old] = append(r.renamers[old], n)
			if _, claims := r.claims[n]; !claims && entries[old] != nil && old != n.Address && !entries[n.Address].CameFrom(old) {
				r.claims[n] = old
			}
		}
	}
	r.takeBack()
	by := map[string]*Node{}
	moves = map[string]string{}
	for _, n := range declared {
		old, ok := r.claims[n]
		if !ok || !r.free(n, map[*Node]bool{}) {
			continue
		}
		if other := by[old]; other != nil {
			problems = append(problems, fmt.Errorf("%s and %s both say that they were renamed from %s", other.Address, n.Address, old))
			continue
		}
		by[old], moves[old] = n, n.Address
	}
	return moves, problems
}

// takeBack claims entries for programs that take a rename back: an earlier address of an entry is declared again and has no
// entry, and the entry's own address is not declared any more. The owner tag of its object may hold either address.
func (r *renaming) takeBack() {
	renamed := false
	for _, entry := range r.entries {
		if renamed = len(entry.Former) > 0; renamed {
			break
		}
	}
	if !renamed {
		return
	}
	stays, free := map[string]bool{}, map[string]*Node{}
	for _, n := range r.declared {
		if stays[n.Address] = true; r.entries[n.Address] == nil && r.claims[n] == "" {
			free[n.Address] = n
		}
	}
	back := map[*Node][]*state.Entry{}
	for _, entry := range r.entries {
		if stays[entry.Address] || r.renamers[entry.Address] != nil || entry.MovingFrom != "" {
			continue
		}
		for _, former := range slices.Backward(entry.Former) {
			n := free[former]
			if n != nil && slices.ContainsFunc(entry.Generations, func(g *state.Generation) bool { return g.Kind == n.Spec.Type }) {
				back[n] = append(back[n], entry)
				break
			}
		}
	}
	for n, entries := range back {
		if len(entries) == 1 { // of several nothing says which one it was
			r.claims[n] = entries[0].Address
		}
	}
}

// free reports that the address of a node has no entry, or that its entry goes elsewhere. Around a circle of claims every
// entry goes on by one: a swap.
func (r *renaming) free(n *Node, visiting map[*Node]bool) bool {
	if r.entries[n.Address] == nil || visiting[n] {
		return true
	}
	visiting[n] = true
	return slices.ContainsFunc(r.renamers[n.Address], func(next *Node) bool { return r.claims[next] == n.Address && r.free(next, visiting) })
}

// renameNote says that a renamedFrom has done its work here.
func (n *Node) renameNote() string {
	for _, old := range n.Decl.Options.RenamedFrom {
		if n.From == "" && n.Entry.CameFrom(old) {
			return fmt.Sprintf("renamed from %s; that renamedFrom may go when every stage has been deployed with it", old)
		}
	}
	return ""
}
