package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

func change(n int) statestore.Change { return statestore.Change{Put: []statestore.Row{plainRow(n, 0)}} }

// TestAServerThatRestarts: a run in its middle does not notice that the server was restarted, as long as it is back
// within the store's patience.
func TestAServerThatRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Launch(t)
	s := opened(t, server.URL("postgres"), WithPatience(time.Minute))
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for n := range 20 {
		if n == 5 || n == 12 {
			server.Stop(t)
			done := make(chan error, 1)
			go func() { done <- j.Commit(t.Context(), change(n)) }()
			server.Resume(t)
			if err := <-done; err != nil {
				t.Fatalf("change %d: %v", n, err)
			}
			continue
		}
		if err := j.Commit(t.Context(), change(n)); err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
	}
	if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Load(t.Context(), stage)
	if err != nil || len(snap.Rows) != 20 || snap.Serial != 20 || snap.LastRun.State != statestore.Succeeded {
		t.Fatalf("%+v, %v", snap, err)
	}
	sound(t, server.URL("postgres"))
}

// TestAServerThatStaysAway: a change is then not known to be written; it is sent again before anything else, and there
// once.
func TestAServerThatStaysAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Launch(t)
	s := opened(t, server.URL("postgres"), WithPatience(time.Minute))
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Commit(t.Context(), change(0)); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	s.patience = 200 * time.Millisecond
	for range 2 {
		err := j.Commit(t.Context(), change(1))
		if unavailable, ok := errors.AsType[*statestore.UnavailableError](err); !ok || unavailable.Path != s.place {
			t.Errorf("while it is away: %v", err)
		}
	}
	if err := j.Held(); err != nil {
		t.Errorf("the lease lasts: %v", err)
	}
	s.patience = time.Minute
	server.Resume(t)
	if err := j.Commit(t.Context(), change(2)); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Load(t.Context(), stage)
	if err != nil || len(snap.Rows) != 3 || snap.Rows[plainRow(1, 0).Address].Version != 1 {
		t.Fatalf("%+v, %v", snap, err)
	}
}

// TestNoRoom: what the server says when its disk is full, said by a trigger. The write is not known to have happened;
// with room again the same run goes on.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s := opened(t, url)
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	pgtest.Exec(t, url,
		`create function full_disk() returns trigger language plpgsql as $$ begin
			raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`,
		`create trigger full_disk before insert on records for each row when (new.kind = 'rows') execute function full_disk()`)
	err = j.Commit(t.Context(), change(0))
	if !errors.Is(err, statestore.ErrUnavailable) || statestore.Refused(err) {
		t.Errorf("an intent on a full disk: %v", err)
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 0 || snap.Serial != 0 {
		t.Errorf("something was written: %+v, %v", snap, err)
	}
	pgtest.Exec(t, url, "drop trigger full_disk on records")
	if err := j.Commit(t.Context(), change(1)); err != nil {
		t.Fatal(err)
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 2 {
		t.Errorf("with room again: %+v, %v", snap, err)
	}
}

// TestASilentServer: a connection that froze without a word is given up within the store's patience.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.Start(t).Schema(t), WithPatience(time.Minute))
	l := through(t, s)
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	l.stop(0, nil)
	s.patience = 300 * time.Millisecond
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{plainRow(0, 0)}}); !errors.Is(err, statestore.ErrUnavailable) || !errors.Is(err, errSilent) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Load(t.Context(), stage); !errors.Is(err, statestore.ErrUnavailable) {
		t.Errorf("load: %v", err)
	}
	s.patience = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := s.Load(ctx, stage); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	l.stop(-1, nil)
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{plainRow(0, 0)}}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestAClientThatStopsHalfWay: one that sent half of its change and stopped, as SIGSTOP or a broken cable would have
// it, holds nobody up: the server has begun nothing.
func TestAClientThatStopsHalfWay(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Schema(t)
	s := opened(t, url, WithPatience(time.Hour))
	l := through(t, s)
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var many []statestore.Row
	for n := range 500 {
		many = append(many, plainRow(n, 0))
	}
	if lease, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Renew: true}); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{}, 8)
	l.stop(300<<10, func([]byte) { stopped <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Commit(ctx, lease, statestore.Batch{Seq: 2, Put: many})
		done <- err
	}()
	<-stopped
	other := opened(t, url)
	if asked, err := other.Interrupt(t.Context(), stage, statestore.Order{Who: "eve"}); !asked || err != nil {
		t.Errorf("cancel: %v, %v", asked, err)
	}
	if asked, err := other.Interrupt(t.Context(), stage, statestore.Order{Unlock: true, Who: "eve"}); !asked || err != nil {
		t.Errorf("unlock: %v, %v", asked, err)
	}
	next, err := other.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Commit(t.Context(), next, statestore.Batch{Seq: 1, Put: []statestore.Row{plainRow(0, 0)}}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that stopped: %v", err)
	}
	if snap, err := other.Load(t.Context(), stage); err != nil || len(snap.Rows) != 1 {
		t.Errorf("%d rows, %v", len(snap.Rows), err)
	}
}
