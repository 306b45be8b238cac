package cmd

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// A stage is reaped under its lease only when it is over by the store's clock; a lease that is refused is free again.
func TestUnlessRenewed(t *testing.T) {
	stage := statestore.Stage{Stack: "shop", Name: "pr"}
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key, err := seal.LoadOrMake(t.TempDir(), stage.Stack, stage.Name)
	if err != nil {
		t.Fatal(err)
	}
	sealed := keeper.New(store, stage, key, nil)
	s := &session.Session{Stage: stage, Engine: &engine.Engine{Store: sealed, Key: key}}
	held := &unlessRenewed{sealed, key}
	acquire := func() (statestore.Lease, error) {
		return held.Acquire(t.Context(), stage, statestore.Claim{Run: project.NewRun(), Command: "reap"})
	}
	for _, tt := range []struct {
		name string
		ttl  time.Duration
		want error
	}{
		{"to come", time.Hour, errRenewed},
		{"over", time.Nanosecond, nil},
		{"renewed", time.Hour, errRenewed},
		{"over again", time.Nanosecond, nil},
		{"never", 0, errRenewed},
	} {
		if err := session.RenewExpiry(t.Context(), s, tt.ttl); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		lease, err := acquire()
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		runs, broken := store.Runs(t.Context(), stage, 1)
		if broken != nil || len(runs) != 1 || (runs[0].State == statestore.Running) != (tt.want == nil) {
			t.Errorf("%s: the newest run is %+v (%v)", tt.name, runs, broken)
		}
		if err == nil {
			if _, err := sealed.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded}); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, err := seal.LoadOrMake(t.TempDir(), stage.Stack, stage.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.RenewExpiry(t.Context(), s, time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	snap, err := sealed.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	if until, err := session.Expires(snap, other); err == nil {
		t.Errorf("another key reads %s", until)
	}
}
