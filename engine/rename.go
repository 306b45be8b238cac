package engine

import (
	"fmt"

	"github.com/athanor-dev/athanor/engine/state"
)

// moves gives rows to the addresses that they were renamed to: chains, shifts and swaps included. A rename that was
// done before is not done again: the row remembers where it came from.
func (w *work) moves() []error {
	if w.drift != nil {
		return nil
	}
	claims := w.claims()
	var errs []error
	claimed := map[string]*node{}
	for _, n := range w.declared {
		old, ok := claims[n]
		if !ok || !w.free(n, claims, map[*node]bool{}) {
			continue
		}
		if other := claimed[old]; other != nil {
			errs = append(errs, fmt.Errorf("%s and %s both say that they were renamed from %s", other.addr, n.addr, old))
			continue
		}
		claimed[old] = n
	}
	moves := make(map[string]string, len(claimed))
	for old, n := range claimed {
		n.from = old
		moves[old] = n.addr
	}
	w.relocate(moves)
	return errs
}

// relocate moves records to other addresses, all at once, so that two of them may change places.
func (w *work) relocate(moves map[string]string) {
	taken := make(map[string]*state.Entry, len(moves))
	for old := range moves {
		taken[old] = w.records[old]
		delete(w.records, old)
	}
	for old, addr := range moves {
		w.records[addr] = taken[old].Renamed(addr)
		w.moved[old] = addr
	}
}

// claims are the recorded addresses that declared nodes name as their own earlier ones.
func (w *work) claims() map[*node]string {
	claims := map[*node]string{}
	for _, n := range w.declared {
		for _, old := range n.decl.Options.RenamedFrom {
			if w.records[old] != nil && old != n.addr && !w.records[n.addr].CameFrom(old) {
				claims[n] = old
				break
			}
		}
	}
	return claims
}

// free reports that the address of a node has no row, or that its row goes elsewhere. Around a circle of claims every
// row goes on by one: a swap.
func (w *work) free(n *node, claims map[*node]string, visiting map[*node]bool) bool {
	if w.records[n.addr] == nil || visiting[n] {
		return true
	}
	visiting[n] = true
	for _, next := range w.renamers[n.addr] {
		if claims[next] == n.addr && w.free(next, claims, visiting) {
			return true
		}
	}
	return false
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
