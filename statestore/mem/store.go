// Package mem is the store in memory: for tests, and for runs that leave nothing behind.
//
// It knows how to keep ordered tables and undo a transaction. What the tables mean is the ledger's.
package mem

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// Store is a store in memory. It lives as long as the value does; Close changes nothing.
type Store struct {
	data *data
	ops  ledger.Operations
}

var _ statestore.Store = (*Store)(nil)

// data is what several handles may share.
type data struct {
	mu     sync.RWMutex
	id     string
	stages map[statestore.Stage]*tables
}

// New makes an empty store with an identity of its own.
func New() *Store {
	world := host.Real()
	world.Locks = nil // no other process can claim it
	return open(&data{id: rand.Text(), stages: make(map[statestore.Stage]*tables)}, world)
}

func open(d *data, world host.World) *Store {
	s := &Store{data: d}
	s.ops = ledger.Operations{Backend: d, World: world}
	return s
}

// Load implements [statestore.Store].
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	return s.ops.Load(ctx, stage)
}

// Acquire implements [statestore.Store].
func (s *Store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	return s.ops.Acquire(ctx, stage, claim)
}

// Commit implements [statestore.Store].
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	return s.ops.Commit(ctx, lease, batch)
}

// Versions implements [statestore.Versions].
func (s *Store) Versions(ctx context.Context, stage statestore.Stage) ([]statestore.Version, error) {
	return s.ops.Versions(ctx, stage)
}

// LoadVersion implements [statestore.Versions].
func (s *Store) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (*statestore.Snapshot, error) {
	return s.ops.LoadVersion(ctx, stage, serial)
}

// Interrupt implements [statestore.Store].
func (s *Store) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (bool, error) {
	return s.ops.Interrupt(ctx, stage, order)
}

// Runs implements [statestore.Store].
func (s *Store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	return s.ops.Runs(ctx, stage, limit)
}

// Events implements [statestore.Store].
func (s *Store) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	return s.ops.Events(ctx, stage, run, after, limit)
}

// Stages implements [statestore.Store].
func (s *Store) Stages(ctx context.Context) ([]statestore.Stage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	var stages []statestore.Stage
	for stage := range s.data.stages {
		stages = append(stages, stage)
	}
	slices.SortFunc(stages, func(a, b statestore.Stage) int {
		if c := strings.Compare(a.Stack, b.Stack); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return stages, nil
}

// ID implements [statestore.Store].
func (s *Store) ID(ctx context.Context) (string, error) { return s.data.id, ctx.Err() }

// Close implements [statestore.Store].
func (s *Store) Close() error { return nil }

// View implements the ledger's backend.
func (d *data) View(ctx context.Context, stage statestore.Stage, _ []ledger.Want, read func(ledger.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	t := d.stages[stage]
	if t == nil {
		return nil
	}
	return read(&tx{tables: t})
}

// Update implements the ledger's backend.
func (d *data) Update(ctx context.Context, stage statestore.Stage, makeIt bool, _ []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.stages[stage]
	if t == nil && !makeIt {
		return nil
	}
	if t == nil {
		t = newTables()
	}
	change := &tx{tables: t}
	durable, err := write(change)
	if err != nil || !durable {
		change.undo()
		return err
	}
	d.stages[stage] = t
	return nil
}
