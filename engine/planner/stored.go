package planner

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Stored is what the store has of a stage when a plan begins, with its entries as the plan will have them.
type Stored struct {
	Snap *statestore.Snapshot // its rows are those that entries do not stand for
	// Records by address, after moves; Moved are old addresses to new ones; Damaged those that cannot be read.
	Records map[string]*state.Entry
	Moved   map[string]string
	Damaged map[string]error
	// NeededBefore are the needs of rows that have any, as they were before the plan.
	NeededBefore map[string][]string
	// lost: there are no entries, and the stage was deployed before.
	lost bool
}

// opening bounds how many entries are opened before the rows that they are opened from go.
const opening = 4096

// openStored decodes all entries of a snapshot, on all cores. What cannot be read is set apart and stops nobody else. What is
// in state as the program declares it is not held twice, and neither are rows beside their entries, unless they are to stay whole.
func openStored(snap *statestore.Snapshot, key *seal.Key, program []graph.Resource, whole bool) *Stored {
	s := &Stored{
		Snap: snap, Records: make(map[string]*state.Entry, len(snap.Rows)), Moved: map[string]string{}, Damaged: map[string]error{},
		NeededBefore: map[string][]string{},
	}
	addresses := slices.AppendSeq(make([]string, 0, len(snap.Rows)), maps.Keys(snap.Rows))
	declared := make(map[string]map[string]any, len(program))
	for i := range program {
		if r := &program[i]; tree.Is(r.Props) {
			declared[r.Address] = r.Props
		}
	}
	openers := make([]*state.Opener, runtime.GOMAXPROCS(0))
	for i := range openers {
		openers[i] = state.NewOpener(snap.Stage, key)
	}
	atOnce := min(len(addresses), opening)
	entries, errs := make([]*state.Entry, atOnce), make([]error, atOnce)
	kept := map[string]statestore.Row{}
	for part := range slices.Chunk(addresses, opening) {
		Parallel(len(openers), len(openers), func(worker int) {
			for i := worker; i < len(part); i += len(openers) {
				entries[i], errs[i] = openers[worker].Open(snap.Rows[part[i]], declared[part[i]])
			}
		})
		for i, address := range part {
			row := snap.Rows[address]
			if len(row.Needs) > 0 {
				s.NeededBefore[address] = row.Needs
			}
			if errs[i] != nil {
				s.Damaged[address] = errs[i]
			} else {
				s.Records[address] = entries[i]
			}
			switch {
			case whole:
				continue
			case errs[i] != nil || saysMore(&row, entries[i]):
				kept[address] = row
			}
			delete(snap.Rows, address)
		}
	}
	if !whole {
		snap.Rows = kept
	}
	for addr, err := range snap.Damaged {
		s.Damaged[addr] = err
	}
	return s
}

// saysMore reports that a plan asks for a row beside its entry: something of it was condemned before, or it is on its way between
// stages.
func saysMore(row *statestore.Row, entry *state.Entry) bool {
	return entry.MovingFrom != "" || entry.MovingTo != "" ||
		slices.ContainsFunc(row.Generations, func(g statestore.Generation) bool { return g.State == statestore.Condemned })
}

// isEmpty reports that the stage has no entries, not even such as cannot be read.
func (s *Stored) isEmpty() bool { return len(s.Records)+len(s.Damaged) == 0 }

// Relocate moves entries to other addresses, all at once, so that two of them may change places.
func (s *Stored) Relocate(moves map[string]string, key *seal.Key) {
	taken := make(map[string]*state.Entry, len(moves))
	for old := range moves {
		taken[old] = s.Records[old]
		delete(s.Records, old)
	}
	for old, addr := range moves {
		s.Records[addr] = taken[old].Renamed(addr, key)
		s.Moved[old] = addr
	}
}

// followNeeds lets entries need the addresses that others have moved to, as the store does by itself. What else names
// an address is written by the run.
func (s *Stored) followNeeds(moves map[string]string) {
	for addr, entry := range s.Records {
		if renamed, differs := entry.Readdressed(moves); differs {
			entry = entry.Clone()
			entry.Needs = renamed.Needs
			s.Records[addr] = entry
		}
	}
}

// Known are all addresses in state, damaged ones too.
func (s *Stored) Known() map[string]bool { return KnownAddresses(s.Records, s.Damaged) }

// lastRun reports that the last run of the stage was one of these commands.
func (s *Stored) lastRun(commands ...string) bool {
	return s.Snap.LastRun != nil && slices.Contains(commands, s.Snap.LastRun.Command)
}

// entryOf finds the entry that has the object of a declaration, or an intent that stands for it: at its address, or
// at one that it was renamed from.
func (s *Stored) entryOf(r *graph.Resource) *state.Entry {
	for _, addr := range addressesOf(r) {
		rec := s.Records[addr]
		if rec.Present() != nil || rec != nil && slices.ContainsFunc(rec.Generations, (*state.Generation).Begun) {
			return rec
		}
	}
	return nil
}

func (s *Stored) damagedIdentity(addr string) string {
	for _, g := range s.Snap.Rows[addr].Generations {
		if g.Identity != "" {
			return g.Identity
		}
	}
	if d := s.Snap.Damaged[addr]; d != nil && len(d.Identities) > 0 {
		return d.Identities[0].Identity
	}
	return ""
}

// CondemnedBefore reports a generation that was on its way out by this very record when the run began. A record that
// was copied here from another store goes on with what that one began.
func (s *Stored) CondemnedBefore(addr string, number uint64) bool {
	return slices.ContainsFunc(s.Snap.Rows[addr].Generations, func(g statestore.Generation) bool {
		return g.Number == number && g.State == statestore.Condemned
	})
}

// KnownAddresses are those of all entries, damaged ones too.
func KnownAddresses(records map[string]*state.Entry, damaged map[string]error) map[string]bool {
	known := make(map[string]bool, len(records)+len(damaged))
	for addr := range records {
		known[addr] = true
	}
	for addr := range damaged {
		known[addr] = true
	}
	return known
}

// NothingAs says that an address is not in state, and which one may be meant.
func NothingAs(addr string, known []string) error {
	return plan.WithNearest(fmt.Errorf("state has no entry %q", addr), addr, known, "`athanor state list` lists what is")
}
