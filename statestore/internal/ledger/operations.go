package ledger

import (
	"context"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
)

// Backend runs transactions on the tables of one stage. Each gets the wants that it begins with, for backends to which
// reading one by one would be slow; the head is always among them.
type Backend interface {
	// View calls read with one consistent version. A stage that does not exist is not an error: read is
	// not called. It is called again when the connection to the store broke.
	View(ctx context.Context, stage statestore.Stage, wants []Want, read func(Tx) error) error
	// Update calls write and makes what it wrote durable when it says so; otherwise, and after an error, nothing
	// of it happened. When another writer came in between, it is called again with what that one left. A
	// stage that does not exist is made only when the caller asks; else write is not called.
	Update(ctx context.Context, stage statestore.Stage, makeIt bool, wants []Want, write func(Tx) (durable bool, err error)) error
}

// Operations are those of the contract that work on one stage.
type Operations struct {
	Backend Backend
	World   host.World
	// Near: reading one by one is not slow, so that nothing needs to be known of what is read next.
	Near bool
	// Keep is how many versions of a stage are kept before the newest one; 0 is the default.
	Keep int
}

func (o Operations) stage(name statestore.Stage, tx Tx) *Stage {
	s := &Stage{Name: name, Tx: tx, World: o.World, Keep: o.Keep}
	if remote, ok := tx.(Remote); ok {
		s.World.Now = remote.Now
	}
	return s
}

// Load is [statestore.Store.Load].
func (o Operations) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	snap := Empty(stage)
	wants := []Want{{Table: Rows, All: true}, {Table: Facts, All: true}}
	err := o.Backend.View(ctx, stage, wants, func(tx Tx) (err error) {
		snap, err = o.stage(stage, tx).Load()
		return err
	})
	if err != nil {
		return nil, err
	}
	return snap, nil
}

// Acquire is [statestore.Store.Acquire]. The lock that proves that the holder lives is taken before the holder is named,
// and given back with the lease.
func (o Operations) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (lease statestore.Lease, err error) {
	lock, fresh := o.World.Locks.Hold(purpose(stage, claim.Run))
	o.World.Self.Lock = lock
	var ended host.Process
	err = o.Backend.Update(ctx, stage, true, nil, func(tx Tx) (durable bool, err error) {
		lease, ended, err = o.stage(stage, tx).Acquire(claim)
		return err == nil, err
	})
	if err != nil {
		if fresh && statestore.Refused(err) {
			o.World.Locks.Release(purpose(stage, claim.Run))
		}
		return statestore.Lease{}, err
	}
	ended.Lock.Remove()
	return lease, nil
}

// purpose names what the lock of a run is held for.
func purpose(stage statestore.Stage, run string) string { return string(StageKey(stage)) + run }

// Commit is [statestore.Store.Commit]. A stage that is not there has no lease that could be right.
func (o Operations) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	next, found := lease, false
	var wants []Want
	if !o.Near {
		wants = wantsOf(lease, &batch)
	}
	err := o.Backend.Update(ctx, lease.Stage, false, wants, func(tx Tx) (durable bool, err error) {
		found = true
		next, durable, err = o.stage(lease.Stage, tx).Commit(lease, &batch)
		return durable, err
	})
	if err == nil && !found {
		err = &statestore.FencedError{Stage: lease.Stage, Run: lease.Run, Note: "the store does not know the stage"}
	}
	if err != nil {
		return lease, err
	}
	if batch.Finish != "" {
		o.World.Locks.Release(purpose(lease.Stage, lease.Run))
	}
	return next, nil
}

// Interrupt is [statestore.Store.Interrupt].
func (o Operations) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (done bool, err error) {
	err = o.Backend.Update(ctx, stage, false, nil, func(tx Tx) (durable bool, err error) {
		done, durable, err = o.stage(stage, tx).Interrupt(order)
		return durable, err
	})
	return done && err == nil, err
}

// Runs is [statestore.Store.Runs].
func (o Operations) Runs(ctx context.Context, stage statestore.Stage, limit int) (runs []statestore.Run, err error) {
	err = o.Backend.View(ctx, stage, []Want{{Table: Runs, All: true, Last: max(limit, 0)}}, func(tx Tx) (err error) {
		runs, err = o.stage(stage, tx).Runs(limit)
		return err
	})
	return runs, err
}

// Events is [statestore.Store.Events].
func (o Operations) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) (events []statestore.Event, err error) {
	err = o.Backend.View(ctx, stage, []Want{{Table: Runs, All: true}}, func(tx Tx) (err error) {
		events, err = o.stage(stage, tx).Events(run, after, limit)
		return err
	})
	return events, err
}

// Check proves the indexes of a stage; see [Stage.Check].
func (o Operations) Check(ctx context.Context, stage statestore.Stage) (broken []error, err error) {
	wants := []Want{{Table: Rows, All: true}, {Table: Owners, All: true}, {Table: Needed, All: true}}
	err = o.Backend.View(ctx, stage, wants, func(tx Tx) error {
		broken = o.stage(stage, tx).Check()
		return nil
	})
	return broken, err
}

// Versions is [statestore.Versions.Versions].
func (o Operations) Versions(ctx context.Context, stage statestore.Stage) (versions []statestore.Version, err error) {
	err = o.Backend.View(ctx, stage, []Want{{Table: Runs, All: true}}, func(tx Tx) (err error) {
		versions, err = o.stage(stage, tx).Versions()
		return err
	})
	return versions, err
}

// LoadVersion is [statestore.Versions.LoadVersion].
func (o Operations) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (snap *statestore.Snapshot, err error) {
	wants := []Want{{Table: Rows, All: true}, {Table: Facts, All: true}, {Table: Past, All: true}}
	err = o.Backend.View(ctx, stage, wants, func(tx Tx) (err error) {
		snap, err = o.stage(stage, tx).LoadVersion(serial)
		return err
	})
	if err == nil && snap == nil {
		err = &statestore.NoVersionError{Stage: stage, Serial: serial}
	}
	return snap, err
}

// DropVersions gives up all versions of a stage but the state as it is.
func (o Operations) DropVersions(ctx context.Context, stage statestore.Stage) error {
	return o.Backend.Update(ctx, stage, false, nil, func(tx Tx) (bool, error) { return o.stage(stage, tx).DropVersions() })
}
