package state

import (
	"fmt"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/adopt"
)

// Slots knows which generated names are taken. A name is made of the birth address and the number of a slot. After a rename
// two addresses can have the same birth address: the resource that moved away, and a new one in its old place.
type Slots struct {
	mu    sync.Mutex
	taken map[slot]string // by which address
}

type slot struct {
	birth string
	kind  string
	n     int
}

// Hold takes the slots from state.
func (s *Slots) Hold(entries map[string]*Entry) {
	s.taken = map[slot]string{}
	for _, rec := range entries {
		for _, g := range rec.Generations {
			if !g.NameGiven && !g.StateOnly {
				s.taken[slot{rec.Birth, g.Kind, g.Slot}] = rec.Address
			}
		}
	}
}

// By returns the address that has a slot, "" when none has.
func (s *Slots) By(birth, kind string, n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[slot{birth, kind, n}]
}

// Occupy notes that the cloud has an object with the name of a slot, and that the object belongs to another address.
func (s *Slots) Occupy(birth, kind string, n int, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[slot]string{}
	}
	s.taken[slot{birth, kind, n}] = by
}

// Take gives an entry the lowest slot that neither it nor another entry of the same birth address has. What is kept in state alone
// has no generated name, and shares its slots with nobody.
func (s *Slots) Take(rec *Entry, kind string, stateOnly bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range adopt.Slots {
		own := slices.ContainsFunc(rec.Generations, func(g *Generation) bool { return g.Slot == n && !g.NameGiven })
		by := s.taken[slot{rec.Birth, kind, n}]
		switch {
		case own || by != "" && by != rec.Address:
			continue
		case !stateOnly:
			s.taken[slot{rec.Birth, kind, n}] = rec.Address
		}
		return n, nil
	}
	return 0, fmt.Errorf("%d objects of this address wait for their deletion; one must be deleted before another can be created", adopt.Slots)
}
