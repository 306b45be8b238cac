package session

import (
	"context"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// ExpiresFact is the name of the stage-wide fact that says when a stage may be reaped.
const ExpiresFact = "expires"

// Expires reads when a stage may be reaped, zero for never.
func Expires(snap *statestore.Snapshot, key *seal.Key) (time.Time, error) {
	sealed := snap.Meta[ExpiresFact]
	if sealed == nil {
		return time.Time{}, nil
	}
	plain, err := key.Open(sealed, state.Binding(snap.Stage, "\x00"+ExpiresFact))
	if err != nil {
		return time.Time{}, fmt.Errorf("the fact %s: %w", ExpiresFact, err)
	}
	v, err := tree.Decode(plain)
	if err != nil {
		return time.Time{}, fmt.Errorf("the fact %s: %w", ExpiresFact, err)
	}
	text, _ := v.(string)
	return time.Parse(time.RFC3339, text)
}

// StoreTime is the store's clock when it gave a lease.
func StoreTime(lease statestore.Lease) time.Time { return lease.Expires.Add(-lease.TTL) }

// RenewExpiry writes when the stage expires, by the store's clock, as a run of its own. A duration of 0 lets it never expire.
func RenewExpiry(ctx context.Context, s *Session, ttl time.Duration) error {
	e := s.Engine
	lease, err := e.Store.Acquire(ctx, s.Stage, statestore.Claim{Run: project.NewRun(), Command: "ttl", User: e.User})
	if err != nil {
		return err
	}
	var sealed []byte
	if ttl > 0 {
		until := StoreTime(lease).Add(ttl).UTC().Format(time.RFC3339)
		sealed = e.Key.Seal(tree.Canonical(until), state.Binding(s.Stage, "\x00"+ExpiresFact))
	}
	_, err = e.Store.Commit(context.WithoutCancel(ctx), lease, statestore.Batch{
		Seq: 1, Meta: map[string][]byte{ExpiresFact: sealed}, KeyID: e.Key.ID(), Finish: statestore.Succeeded,
	})
	return err
}

// expiring deploys with --ttl: a new stage expires from before its first object on, so that one whose deploy is cut is found
// too; of any other the time is renewed when the deploy is complete.
func expiring(s *Session, c *cli.Context, deploy func() error) error {
	if !c.IsSet("ttl") {
		return deploy()
	}
	runs, err := s.Project.Store.Runs(c.Context, s.Stage, 1)
	if err != nil {
		return err
	}
	isNew := len(runs) == 0
	if isNew && c.Duration("ttl") > 0 {
		if err := RenewExpiry(c.Context, s, c.Duration("ttl")); err != nil {
			return err
		}
	}
	if err := deploy(); err != nil || isNew {
		return err
	}
	return RenewExpiry(c.Context, s, c.Duration("ttl"))
}
