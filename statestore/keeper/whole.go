package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Whole is a store that authenticates the state of one stage as a whole. Each commit that changes the state writes its
// head; each load that finds another state than the head says is refused. A store without a head is from an older
// version: the next commit writes one.
type Whole struct {
	statestore.Store
	// Accept takes a state that its head does not fit for what counts from now on.
	Accept bool
	// Unproven is called by each load that cannot prove the state, because something of it cannot be decoded: such
	// entries are reported one by one, and stop none of the others. It may be nil.
	Unproven func(*TamperedError)

	stage      statestore.Stage
	committing sync.Mutex // held during a commit: each head follows from the one before

	mu   sync.Mutex
	key  *seal.Key
	base *contents // that was loaded or written last; nil when nothing was
}

// NewWhole authenticates the state of a stage under the newest key of a ring. Without a key it passes everything
// through until [Whole.Rekey].
func NewWhole(store statestore.Store, stage statestore.Stage, key *seal.Key) *Whole {
	return &Whole{Store: store, stage: stage, key: key}
}

// Load implements [statestore.Store]. The error is a *TamperedError when somebody without the key changed the state.
func (s *Whole) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	snap, err := s.Store.Load(ctx, stage)
	if err != nil || stage != s.stage {
		return snap, err
	}
	return s.proven(snap)
}

// proven returns a snapshot of the store itself that is proven, without what proves it.
func (s *Whole) proven(snap *statestore.Snapshot) (*statestore.Snapshot, error) {
	if err := s.Prove(snap); err != nil {
		return nil, err
	}
	delete(snap.Meta, headFact)
	delete(snap.Meta, begunFact) // it says something of this store, and goes to no other one
	return snap, nil
}

// Prove proves a snapshot of the store itself and remembers what it holds. Without a key nothing is proven.
func (s *Whole) Prove(snap *statestore.Snapshot) error {
	s.mu.Lock()
	key := s.key
	s.mu.Unlock()
	if key == nil {
		return nil
	}
	found := contentsOf(key, snap)
	if err := s.prove(snap, found); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == key {
		s.base = found
	}
	return nil
}

// prove returns why a snapshot is not what was written last, unless that is accepted.
func (s *Whole) prove(snap *statestore.Snapshot, found *contents) error {
	err := check(found, snap)
	tampered, ok := errors.AsType[*TamperedError](err)
	switch {
	case !ok:
		return err
	case s.Accept:
		return nil
	case len(snap.Damaged)+len(snap.DamagedFacts) > 0:
		if s.Unproven != nil {
			tampered.Damaged = true
			s.Unproven(tampered)
		}
		return nil
	}
	return tampered
}

// BegunSince reports whether the key proves that the state of a snapshot was begun after an epoch: that its first commit in this
// store was written by a later run. A copy of a state that was there in that epoch never is. It is false of a state that cannot
// be read whole, or that an older version began.
func BegunSince(epoch uint64, key *seal.Key, snap *statestore.Snapshot) bool {
	begun, err := strconv.ParseUint(string(snap.Meta[begunFact]), 10, 64)
	if err != nil || begun <= epoch || len(snap.Meta[headFact]) == 0 || len(snap.Damaged)+len(snap.DamagedFacts) > 0 {
		return false
	}
	return check(contentsOf(key, snap), snap) == nil
}

// Rekey goes on with another ring. The next commit authenticates the state under its newest key.
func (s *Whole) Rekey(ring *seal.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.base = ring, nil
}

// Commit implements [statestore.Store]. What the head says follows from what was loaded or committed before and from the
// batch, not from what the store holds now. The same batch gets the same head when it is sent again.
func (s *Whole) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	changes := len(batch.Put)+len(batch.Move)+len(batch.Meta) > 0 || batch.Outputs != nil || batch.KeyID != ""
	s.mu.Lock()
	keyless := s.key == nil
	s.mu.Unlock()
	if lease.Stage != s.stage || !changes || keyless {
		return s.Store.Commit(ctx, lease, batch)
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	base, snap, err := s.current(ctx, lease, len(batch.Move) > 0)
	if err != nil {
		return statestore.Lease{}, err
	}
	facts := maps.Clone(batch.Meta)
	if facts == nil {
		facts = map[string][]byte{}
	}
	batch.Meta = facts
	if base.serial == 0 && len(base.tags) == 0 {
		facts[begunFact] = strconv.AppendUint(nil, lease.Epoch, 10)
	}
	next := base.after(batch, lease, snap)
	facts[headFact] = next.head(s.stage)
	done, err := s.Store.Commit(ctx, lease, batch)
	if err != nil {
		return done, err
	}
	next.apply(base)
	base.revision = done.Revision
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = base
	return done, nil
}

// current is what the state holds under a lease. It is read again when somebody may have written since it was read, and
// when rows move: then those that refer to them change too, and the snapshot is returned.
func (s *Whole) current(ctx context.Context, lease statestore.Lease, moves bool) (*contents, *statestore.Snapshot, error) {
	s.mu.Lock()
	base := s.base
	s.mu.Unlock()
	known := base != nil && base.revision == lease.Revision && base.serial == lease.Serial
	if known && base.revision == 0 && base.serial > 0 {
		known = false // a version that counts no revisions wrote it, and may have written again
	}
	if known && !moves {
		return base, nil, nil
	}
	snap, err := s.Store.Load(ctx, s.stage)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Prove(snap); err != nil {
		return nil, nil, s.rotated(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base, snap, nil
}

// rotated says in place of an error about the key that another run rotated it.
func (s *Whole) rotated(err error) error {
	if !errors.Is(err, seal.ErrKey) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &RotatedError{Stage: s.stage, Key: s.key.ID()}
}

// Check proves what the store can prove of itself, where it can.
func (s *Whole) Check(ctx context.Context) (broken []error, err error) {
	if store, ok := s.Store.(interface {
		Check(ctx context.Context) ([]error, error)
	}); ok {
		return store.Check(ctx)
	}
	return nil, nil
}

// ErrTampered says that a state is not what was written last (*TamperedError).
var ErrTampered = errors.New("the state is not what was written last")

// TamperedError says that somebody who does not have the key of a stage changed its state.
type TamperedError struct {
	Stage statestore.Stage
	// Headless says that what authenticates the state was removed.
	Headless bool
	// Damaged says that something of the state cannot be decoded, which may be the only reason.
	Damaged bool
}

func (e *TamperedError) Error() string {
	switch {
	case e.Damaged:
		return fmt.Sprintf("%s: while an entry cannot be read, the others are not proven to be what was written last", e.Stage)
	case e.Headless:
		return fmt.Sprintf("%s: %v: what authenticates it was removed", e.Stage, ErrTampered)
	}
	return fmt.Sprintf("%s: %v: entries were put back, dropped or changed without the stage's key", e.Stage, ErrTampered)
}

// Is reports ErrTampered, and that a write was refused: it is certain that it did not happen.
func (e *TamperedError) Is(target error) bool {
	return target == ErrTampered || target == statestore.ErrInvalid
}

// Hint says what the user can do.
func (e *TamperedError) Hint() string {
	return "find out who can write the store; then restore a copy (athanor state import FILE --accept-older-state), " +
		"or go on from what is there with --accept-older-state"
}
