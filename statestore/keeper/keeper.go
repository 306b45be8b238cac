// Package keeper keeps beside the rows of a stage what must outlive the machine that wrote them: the wrapped ring of
// keys that opens them.
//
// It authenticates the whole state of a stage ([Whole]) beside that. It knows which stage-wide facts are its own, and
// hides them from who reads the rest. It opens nothing.
package keeper

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Prefix begins the names of the facts that are not the engine's.
const Prefix = "athanor."

// RingFact is the name of the fact that holds the wrapped ring. It holds nothing that is secret without one of the ways
// that open it, and is not sealed.
const RingFact = Prefix + "ring"

// StoreFact is the name of the fact that holds the id of the store which a stage moved from. The owner tags of its objects
// have that id, and so it stays the stage's.
const StoreFact = Prefix + "store"

// Own reports whether a stage-wide fact is one of ours.
func Own(name string) bool { return strings.HasPrefix(name, Prefix) }

// Store is a store that keeps the ring of one stage: the first commit that finds an older one in the store writes it
// too.
type Store struct {
	*Whole
	ring  []byte
	first atomic.Pointer[statestore.Snapshot] // of [Store.Begin]
	// Ended is called when a run has ended, with the state as it left it; nil when nobody wants to know.
	Ended func(lease statestore.Lease)

	mu       sync.Mutex
	revision uint64 // that was loaded last
	rows     int    // of what was loaded last
	epoch    uint64 // of the lease that the ring was compared under
	kept     bool   // the ring in the store is ours
	newer    bool   // the ring in the store is newer than ours
	loaded   bool
	origin   string // the id of the store that the stage moved from; "" for this one
}

// New keeps a ring in a store; wrapped is what others can open it from, nil when nobody else can.
func New(store statestore.Store, stage statestore.Stage, key *seal.Key, wrapped []byte) *Store {
	return &Store{Whole: NewWhole(store, stage, key), ring: wrapped}
}

// Begin gives the store a snapshot of its stage that was read right before. The next Load takes it instead of reading the same
// once more: a state has very many entries. It must not be used any more.
func (s *Store) Begin(snap *statestore.Snapshot) { s.first.Store(snap) }

// Load implements [statestore.Store]. The facts that are not the engine's are left out.
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	snap, err := s.load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if stage == s.stage {
		s.note(snap)
	}
	maps.DeleteFunc(snap.Meta, func(name string, _ []byte) bool { return Own(name) })
	return snap, nil
}

func (s *Store) load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	if stage == s.stage {
		if snap := s.first.Swap(nil); snap != nil {
			return s.proven(snap)
		}
	}
	return s.Whole.Load(ctx, stage)
}

// note remembers what the store has of the ring.
func (s *Store) note(snap *statestore.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := snap.Meta[RingFact]
	s.revision, s.rows = snap.Revision, len(snap.Rows)
	s.kept = len(s.ring) == 0 || bytes.Equal(stored, s.ring)
	s.newer = s.key.Check(snap.KeyID) != nil || seal.Revision(stored) > seal.Revision(s.ring)
	s.loaded, s.origin = true, string(snap.Meta[StoreFact])
}

// ID implements [statestore.Store]: for a stage that moved here it is the id of the store that it moved from, so that what
// it has in the cloud stays its own.
func (s *Store) ID(ctx context.Context) (string, error) {
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if !loaded {
		if _, err := s.Load(ctx, s.stage); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	origin := s.origin
	s.mu.Unlock()
	if origin != "" {
		return origin, nil
	}
	return s.Whole.ID(ctx)
}

// Commit implements [statestore.Store]. It refuses to seal with a ring that was rotated since it was found: such a run
// has to begin again. A batch that is sent again because its outcome is not known is the same one: the ring is left
// out only once it is known to be there.
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	if lease.Stage != s.stage || batch.KeyID == "" {
		return s.send(ctx, lease, batch)
	}
	adds, err := s.adds(ctx, lease)
	if err != nil {
		return statestore.Lease{}, err
	}
	if adds {
		facts := maps.Clone(batch.Meta)
		if facts == nil {
			facts = map[string][]byte{}
		}
		facts[RingFact], batch.Meta = s.ring, facts
	}
	next, err := s.send(ctx, lease, batch)
	if err == nil && adds {
		s.mu.Lock()
		s.kept = true
		s.mu.Unlock()
	}
	return next, err
}

func (s *Store) send(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	next, err := s.Whole.Commit(ctx, lease, batch)
	if err == nil && batch.Finish != "" && s.Ended != nil && lease.Stage == s.stage {
		s.Ended(next)
	}
	return next, err
}

// adds reports whether a batch that seals must bring the ring. The ring is compared once under each lease; what was
// loaded before counts if nobody has written since, which the revision says as long as there are rows.
func (s *Store) adds(ctx context.Context, lease statestore.Lease) (bool, error) {
	s.mu.Lock()
	compared := s.epoch == lease.Epoch || s.rows > 0 && s.revision == lease.Revision
	s.mu.Unlock()
	if !compared {
		snap, err := s.Whole.Load(ctx, s.stage)
		if err != nil {
			return false, s.rotated(err)
		}
		s.note(snap)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newer {
		return false, &RotatedError{Stage: s.stage, Key: s.key.ID()}
	}
	s.epoch = lease.Epoch
	return !s.kept, nil
}

// RotatedError says that the key of a stage was changed by another run.
type RotatedError struct {
	Stage statestore.Stage
	Key   string
}

func (e *RotatedError) Error() string {
	return fmt.Sprintf("%s: key %s was rotated by another run", e.Stage, e.Key)
}

// Is reports that the write was refused: it is certain that it did not happen.
func (e *RotatedError) Is(target error) bool {
	return target == seal.ErrKey || target == statestore.ErrInvalid
}

// Hint says what the user can do.
func (e *RotatedError) Hint() string {
	return "run the command again: it takes the new key from the store"
}
