package statestore

import (
	"maps"
	"slices"
	"time"
)

// Limits of what a store takes and keeps. They hold every key well inside what any store can index.
const (
	MaxAddress = 4096                  // bytes of an address, a stack, stage or run name
	MaxSlot    = 3                     // the highest name slot of a generation
	MinTTL     = 10 * time.Millisecond // the shortest lease
	KeptRuns   = 100                   // runs of a stage that are kept, with their events
)

// Repair, as the Version of a row, writes or removes a row that cannot be decoded, whatever its
// version was. A row that can be decoded, or is not there, is refused as a conflict.
const Repair = ^uint64(0)

// Check says whether the row has a valid structure: an address, sorted needs without itself, at most
// one live and one candidate generation, distinct numbers and slots in range. The error is a *InvalidError.
func (r *Row) Check() error {
	if rule := r.brokenRule(); rule != "" {
		return &InvalidError{Address: r.Address, Rule: rule}
	}
	return nil
}

func (r *Row) brokenRule() string {
	switch {
	case r.Address == "":
		return "a row has no address"
	case len(r.Address) > MaxAddress || len(r.Birth) > MaxAddress:
		return "an address is too long"
	}
	for i, need := range r.Needs {
		switch {
		case need == "" || len(need) > MaxAddress:
			return "a needed address is empty or too long"
		case need == r.Address:
			return "a row needs itself"
		case i > 0 && r.Needs[i-1] >= need:
			return "needs are not sorted and distinct"
		}
	}
	seen := make(map[State]int, len(r.Generations))
	for i := range r.Generations {
		g := &r.Generations[i]
		if rule := g.brokenRule(); rule != "" {
			return rule
		}
		seen[g.State]++
		for j := range i {
			if r.Generations[j].Number == g.Number {
				return "two generations have one number"
			}
		}
	}
	if seen[Live] > 1 || seen[Candidate] > 1 {
		return "more than one live or candidate generation"
	}
	return ""
}

func (g *Generation) brokenRule() string {
	switch {
	case g.State != Live && g.State != Candidate && g.State != Condemned:
		return "a generation has an unknown state"
	case g.Kind == "":
		return "a generation has no kind"
	case g.Slot < 0 || g.Slot > MaxSlot:
		return "a generation's slot is out of range"
	case len(g.Kind)+len(g.Identity)+len(g.Place.Provider)+len(g.Place.Account)+len(g.Place.Region) > 4*MaxAddress:
		return "a physical identity is too long"
	}
	return ""
}

// Check proves the structure of the whole snapshot: every row's own, one owner for each physical
// identity, keys that agree with the rows. Damaged rows are reported too. An address in Needs may
// have no row: what it named was never made, or is not a managed object.
func (s *Snapshot) Check() []error {
	type claim struct {
		place          Place
		kind, identity string
	}
	var broken []error
	owners := make(map[claim]string)
	for _, address := range slices.Sorted(maps.Keys(s.Rows)) {
		row := s.Rows[address]
		if row.Address != address {
			broken = append(broken, &InvalidError{Address: address, Rule: "the row is kept under another address"})
		}
		if err := row.Check(); err != nil {
			broken = append(broken, err)
		}
		for _, g := range row.Generations {
			if g.Identity == "" {
				continue
			}
			key := claim{g.Place, g.Kind, g.Identity}
			if owner, taken := owners[key]; taken && owner != address {
				broken = append(broken, &OwnedError{Place: g.Place, Kind: g.Kind, Identity: g.Identity, Address: owner, Claimant: address})
			}
			owners[key] = address
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.Damaged)) {
		broken = append(broken, s.Damaged[address])
	}
	for _, damaged := range s.DamagedFacts {
		broken = append(broken, damaged)
	}
	return broken
}
