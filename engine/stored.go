package engine

import (
	"maps"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// stored is what the store has of a stage when a plan begins, with its entries as the plan will have them.
type stored struct {
	snap *statestore.Snapshot
	// records by address, after moves; moved are old addresses to new ones; damaged those that cannot be read.
	records map[string]*state.Entry
	moved   map[string]string
	damaged map[string]error
	// lost: there are no entries, and the stage was deployed before.
	lost bool
}

// openStored decodes all entries of a snapshot, on all cores. What cannot be read is set apart and stops nobody else.
func openStored(snap *statestore.Snapshot, key *seal.Key) *stored {
	s := &stored{snap: snap, records: make(map[string]*state.Entry, len(snap.Rows)), moved: map[string]string{}, damaged: map[string]error{}}
	rows := slices.Collect(maps.Values(snap.Rows))
	records, errs := make([]*state.Entry, len(rows)), make([]error, len(rows))
	parallel(len(rows), runtime.GOMAXPROCS(0), func(i int) {
		records[i], errs[i] = state.Open(rows[i], snap.Stage, key)
	})
	for i, row := range rows {
		if errs[i] != nil {
			s.damaged[row.Address] = errs[i]
			continue
		}
		s.records[row.Address] = records[i]
	}
	for addr, err := range snap.Damaged {
		s.damaged[addr] = err
	}
	return s
}

// isEmpty reports that the stage has no entries, not even such as cannot be read.
func (s *stored) isEmpty() bool { return len(s.snap.Rows) == 0 && len(s.snap.Damaged) == 0 }

// shed lets go of what rows hold sealed once they are open: with many rows it is most of what a snapshot weighs.
func (s *stored) shed() {
	for addr := range s.records {
		row := s.snap.Rows[addr]
		row.Body = nil
		s.snap.Rows[addr] = row
	}
}

// relocate moves entries to other addresses, all at once, so that two of them may change places.
func (s *stored) relocate(moves map[string]string, key *seal.Key) {
	taken := make(map[string]*state.Entry, len(moves))
	for old := range moves {
		taken[old] = s.records[old]
		delete(s.records, old)
	}
	for old, addr := range moves {
		s.records[addr] = taken[old].Renamed(addr, key)
		s.moved[old] = addr
	}
}

// followNeeds lets entries need the addresses that others have moved to, as the store does by itself. What else names
// an address is written by the run.
func (s *stored) followNeeds(moves map[string]string) {
	for addr, entry := range s.records {
		if renamed, differs := entry.Readdressed(moves); differs {
			entry = entry.Clone()
			entry.Needs = renamed.Needs
			s.records[addr] = entry
		}
	}
}

// known are all addresses on record, damaged ones too.
func (s *stored) known() map[string]bool { return knownAddresses(s.records, s.damaged) }

// lastRun reports that the last run of the stage was one of these commands.
func (s *stored) lastRun(commands ...string) bool {
	return s.snap.LastRun != nil && slices.Contains(commands, s.snap.LastRun.Command)
}

// entryOf finds the entry that has the object of a declaration, or an intent that stands for it: at its address, or
// at one that it was renamed from.
func (s *stored) entryOf(r *graph.Resource) *state.Entry {
	for _, addr := range addressesOf(r) {
		rec := s.records[addr]
		if rec.Present() != nil || rec != nil && slices.ContainsFunc(rec.Generations, (*state.Generation).Begun) {
			return rec
		}
	}
	return nil
}

func (s *stored) damagedIdentity(addr string) string {
	for _, g := range s.snap.Rows[addr].Generations {
		if g.Identity != "" {
			return g.Identity
		}
	}
	if d := s.snap.Damaged[addr]; d != nil && len(d.Identities) > 0 {
		return d.Identities[0].Identity
	}
	return ""
}

// condemnedBefore reports a generation that was on its way out by this very record when the run began. A record that
// was copied here from another store goes on with what that one began.
func (s *stored) condemnedBefore(addr string, number uint64) bool {
	return slices.ContainsFunc(s.snap.Rows[addr].Generations, func(g statestore.Generation) bool {
		return g.Number == number && g.State == statestore.Condemned
	})
}

func knownAddresses(records map[string]*state.Entry, damaged map[string]error) map[string]bool {
	known := make(map[string]bool, len(records)+len(damaged))
	for addr := range records {
		known[addr] = true
	}
	for addr := range damaged {
		known[addr] = true
	}
	return known
}
