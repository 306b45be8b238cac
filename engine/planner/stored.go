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
	Snap *statestore.Snapshot
	// Records by address, after moves; Moved are old addresses to new ones; Damaged those that cannot be read.
	Records map[string]*state.Entry
	Moved   map[string]string
	Damaged map[string]error
	// NeededBefore are the needs of rows that have any, as they were before the plan.
	NeededBefore map[string][]string
	// lost: there are no entries, and the stage was deployed before.
	lost bool
}

// openStored decodes all entries of a snapshot, on all cores. What cannot be read is set apart and stops nobody else. What is
// in state as the program declares it is not held twice.
func openStored(snap *statestore.Snapshot, key *seal.Key, program []graph.Resource) *Stored {
	s := &Stored{Snap: snap, Records: make(map[string]*state.Entry, len(snap.Rows)), Moved: map[string]string{}, Damaged: map[string]error{}}
	addresses := slices.AppendSeq(make([]string, 0, len(snap.Rows)), maps.Keys(snap.Rows))
	records, errs := make([]*state.Entry, len(addresses)), make([]error, len(addresses))
	declared := make(map[string]map[string]any, len(program))
	for i := range program {
		if r := &program[i]; tree.Is(r.Props) {
			declared[r.Address] = r.Props
		}
	}
	workers := runtime.GOMAXPROCS(0)
	Parallel(workers, workers, func(worker int) {
		opener := state.NewOpener(snap.Stage, key)
		for i := worker; i < len(addresses); i += workers {
			records[i], errs[i] = opener.Open(snap.Rows[addresses[i]], declared[addresses[i]])
		}
	})
	for i, address := range addresses {
		if errs[i] != nil {
			s.Damaged[address] = errs[i]
			continue
		}
		s.Records[address] = records[i]
	}
	for addr, err := range snap.Damaged {
		s.Damaged[addr] = err
	}
	return s
}

// isEmpty reports that the stage has no entries, not even such as cannot be read.
func (s *Stored) isEmpty() bool { return len(s.Snap.Rows) == 0 && len(s.Snap.Damaged) == 0 }

// shedRows drops the rows whose entries have what they say, but for those of which something was condemned before or that are on their
// way between stages, and of all rows keeps what they needed: with many of them they weigh as much as their entries.
func (s *Stored) shedRows() {
	condemned := func(g statestore.Generation) bool { return g.State == statestore.Condemned }
	rows, needs := map[string]statestore.Row{}, map[string][]string{}
	for addr, row := range s.Snap.Rows {
		if len(row.Needs) > 0 {
			needs[addr] = row.Needs
		}
		if rec := s.Records[addr]; rec == nil || rec.MovingFrom != "" || rec.MovingTo != "" || slices.ContainsFunc(row.Generations, condemned) {
			rows[addr] = row
		}
	}
	s.Snap.Rows, s.NeededBefore = rows, needs
}

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
