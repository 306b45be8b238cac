package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// elsewhere is a store on another machine whose wall clock is wrong by so much.
func elsewhere(t *testing.T, url, name string, wrong time.Duration) *Store {
	t.Helper()
	s := opened(t, url)
	world := host.World{
		Now:    func() time.Time { return time.Now().Add(wrong) },
		Uptime: func() (time.Duration, bool) { return time.Hour, true },
		Self:   host.Process{Host: name, PID: 1, Boot: "boot of " + name, Space: "s"},
		Dead:   func(host.Process) bool { return false },
	}
	s.ops.World, s.once.World = world, world
	return s
}

// TestTheServersClockDecides: machines whose clocks are years apart agree on when a lease is over.
func TestTheServersClockDecides(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	const year = 365 * 24 * time.Hour
	late, early := elsewhere(t, url, "late", -10*year), elsewhere(t, url, "early", 10*year)
	lease, err := late.Acquire(t.Context(), stage, statestore.Claim{Run: "r1", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Until(lease.Expires); off < 30*time.Second || off > 90*time.Second {
		t.Errorf("the lease ends in %v", off)
	}
	_, err = early.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"})
	if held, ok := errors.AsType[*statestore.HeldError](err); !ok || held.Holder.Host != "late" || time.Since(held.Holder.Since).Abs() > time.Minute {
		t.Fatalf("a clock that is ahead takes the lease over: %v", err)
	}
	if _, err := late.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	if _, err := early.Acquire(t.Context(), stage, statestore.Claim{Run: "r2", TTL: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	// The lease of the early one is over when the server says so, however early it is for the late one.
	for deadline := time.Now().Add(2 * time.Minute); ; {
		next, err := late.Acquire(t.Context(), stage, statestore.Claim{Run: "r3"})
		if err == nil {
			if next.Epoch <= lease.Epoch {
				t.Errorf("epoch %d after %d", next.Epoch, lease.Epoch)
			}
			return
		}
		if !errors.Is(err, statestore.ErrHeld) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
