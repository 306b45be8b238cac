package edit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// Finding is something wrong with a record.
type Finding struct {
	// Address of the row, "" where more than one or none is meant.
	Address string
	// Identities are the physical objects of the row, as far as they can be read.
	Identities []statestore.Identity
	Err        error
}

// Checkup is what examining a record showed.
type Checkup struct {
	Serial uint64
	// Rows counts those that can be read; Things counts their objects.
	Rows, Things int
	Findings     []Finding
}

// checker is a store that can prove more of itself than its contract shows: its file, its indexes.
type checker interface {
	Check(ctx context.Context) (broken []error, err error)
}

// Check examines the state of a stage, as Check of the engine says.
func Check(ctx context.Context, e *planner.Planner, stage statestore.Stage) (*Checkup, error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if err := e.Key.Check(snap.KeyID); err != nil {
		return nil, err
	}
	c := &Checkup{Serial: snap.Serial}
	said := map[string]bool{}
	for _, err := range snap.Check() {
		said[err.Error()] = true
		c.add(snap, err)
	}
	for _, addr := range slices.Sorted(maps.Keys(snap.Rows)) {
		row := snap.Rows[addr]
		c.Things += len(row.Generations)
		if _, err := state.Open(row, stage, e.Key); err != nil {
			c.Findings = append(c.Findings, Finding{
				Address: addr, Identities: identities(row), Err: &statestore.DamagedError{Stage: stage, Address: addr, Err: err},
			})
			continue
		}
		c.Rows++
	}
	if _, _, err := state.OpenOutputs(snap, e.Key); err != nil {
		c.Findings = append(c.Findings, Finding{Err: &statestore.DamagedError{Stage: stage, Err: fmt.Errorf("its outputs: %w", err)}})
	}
	for name, sealed := range snap.Meta {
		if _, err := documentsOf(e, stage).part("\x00"+name, sealed, false); err != nil {
			c.Findings = append(c.Findings, Finding{Err: &statestore.DamagedError{Stage: stage, Err: fmt.Errorf("the fact %s: %w", name, err)}})
		}
	}
	store, ok := e.Store.(checker)
	if !ok {
		return c, nil
	}
	broken, err := store.Check(ctx)
	for _, err := range broken {
		if !said[err.Error()] {
			c.Findings = append(c.Findings, Finding{Err: err}) // of which stage is not always said
		}
	}
	return c, err
}

// add notes what is wrong, with the address and the objects that the error names.
func (c *Checkup) add(snap *statestore.Snapshot, err error) {
	f := Finding{Err: err}
	if damaged, ok := errors.AsType[*statestore.DamagedError](err); ok {
		f.Address, f.Identities = damaged.Address, damaged.Identities
	} else if invalid, ok := errors.AsType[*statestore.InvalidError](err); ok {
		f.Address, f.Identities = invalid.Address, identities(snap.Rows[invalid.Address])
	} else if owned, ok := errors.AsType[*statestore.OwnedError](err); ok {
		f.Address, f.Identities = owned.Claimant, []statestore.Identity{{Place: owned.Place, Kind: owned.Kind, Identity: owned.Identity}}
	}
	c.Findings = append(c.Findings, f)
}

// identities returns the physical objects of a row.
func identities(row statestore.Row) []statestore.Identity {
	var ids []statestore.Identity
	for _, g := range row.Generations {
		if g.Identity != "" {
			ids = append(ids, statestore.Identity{Place: g.Place, Kind: g.Kind, Identity: g.Identity})
		}
	}
	return ids
}
