package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/adopt"
)

// slots knows which generated names are taken. Names come from the address of birth, and after a rename two
// addresses can have the same one: the thing that moved away, and a new one in its old place.
type slots struct {
	mu    sync.Mutex
	taken map[slot]string // by which address
}

type slot struct {
	birth string
	kind  string
	n     int
}

// hold notes what the records hold.
func (s *slots) hold(records map[string]*record) {
	s.taken = map[slot]string{}
	for _, rec := range records {
		for _, g := range rec.gens {
			if !g.named && !g.virtual {
				s.taken[slot{rec.birth, g.kind, g.slot}] = rec.address
			}
		}
	}
}

// by is the address that holds a slot, "" when none does.
func (s *slots) by(birth, kind string, n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[slot{birth, kind, n}]
}

// occupy notes that the world has a thing by the name of a slot, which is another address's.
func (s *slots) occupy(birth, kind string, n int, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[slot]string{}
	}
	s.taken[slot{birth, kind, n}] = by
}

// take gives a record the lowest slot that nothing of it holds, nor another record of the same birth.
func (s *slots) take(rec *record, kind string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range adopt.Slots {
		own := slices.ContainsFunc(rec.gens, func(g *generation) bool { return g.slot == n && !g.named })
		if by := s.taken[slot{rec.birth, kind, n}]; own || by != "" && by != rec.address {
			continue
		}
		s.taken[slot{rec.birth, kind, n}] = rec.address
		return n, nil
	}
	return 0, fmt.Errorf("%d things of this address are waiting for deletion; one must be gone before another can be made", adopt.Slots)
}
