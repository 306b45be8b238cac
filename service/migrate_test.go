package service_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/migrate"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestMigrate moves a stage from a file into a service, over HTTP, by its rights and rules.
func TestMigrate(t *testing.T) {
	t.Parallel()
	s := serve(t)
	from, err := bolt.Open(filepath.Join(t.TempDir(), "old.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() })
	lease, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "r1", Command: "deploy"})
	if err == nil {
		_, err = from.Commit(t.Context(), lease, statestore.Batch{Seq: 1, KeyID: "k", Put: []statestore.Row{row("queue", 0)}, Finish: statestore.Succeeded})
	}
	if err != nil {
		t.Fatal(err)
	}
	move := func(token string) (migrate.Moved, error) {
		m := migrate.Move{From: from, To: s.with(token), Where: s.url, User: "ada", NewRun: rand.Text}
		return m.Stage(t.Context(), prod)
	}
	boss := newToken(t, s.store)
	if _, err := move(newToken(t, s.store, wire.Grant{Role: "reader", On: "*/*"})); err == nil {
		t.Error("a reader moved a stage")
	}
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":true}`, nil)
	if _, err := move(boss); err == nil {
		t.Error("a stage that takes approved plans alone was written")
	}
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":false}`, nil)
	if old, err := from.Load(t.Context(), prod); err != nil || old.Holder != nil {
		t.Errorf("what was refused holds the stage at the old store: %+v, %v", old.Holder, err)
	}
	if moved, err := move(boss); err != nil || moved.Rows != 1 {
		t.Fatalf("%+v, %v", moved, err)
	}
	if moved, err := move(boss); err != nil || !moved.Already {
		t.Errorf("again: %+v, %v", moved, err)
	}
	if _, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "r2", Command: "deploy"}); !errors.Is(err, statestore.ErrHeld) {
		t.Errorf("at the old store: %v", err)
	}
	there, err := s.store.Load(t.Context(), prod)
	old, loading := from.Load(t.Context(), prod)
	if err != nil || loading != nil || !migrate.Same(old, there) {
		t.Errorf("%+v, %v, %v", there, err, loading)
	}
}

// TestMigrateFrom moves a stage out of a service: it takes an admin, lasts longer than the process that moves, and an unlock
// takes it back.
func TestMigrateFrom(t *testing.T) {
	t.Parallel()
	s := serve(t)
	boss := newToken(t, s.store)
	from := s.with(boss)
	lease, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "r1", Command: "deploy"})
	if err == nil {
		_, err = from.Commit(t.Context(), lease, statestore.Batch{Seq: 1, KeyID: "k", Put: []statestore.Row{row("queue", 0)}, Finish: statestore.Succeeded})
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := bolt.Open(filepath.Join(t.TempDir(), "new.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close() })
	move := func(token string) (migrate.Moved, error) {
		m := migrate.Move{From: s.with(token), To: to, Where: "bolt:new.db", User: "ada", NewRun: rand.Text}
		return m.Stage(t.Context(), prod)
	}
	if _, err := move(newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"})); err == nil || !strings.Contains(err.Error(), "role admin") {
		t.Errorf("a deployer moved a stage for good: %v", err)
	}
	if moved, err := move(boss); err != nil || moved.Rows != 1 || moved.Already {
		t.Fatalf("%+v, %v", moved, err)
	}
	if moved, err := move(boss); err != nil || !moved.Already {
		t.Errorf("again: %+v, %v", moved, err)
	}
	// The same process that moved, and a collector, leave the stage held.
	if n, err := s.service.Collect(t.Context()); n != 0 || err != nil {
		t.Errorf("%d collected, %v", n, err)
	}
	_, err = from.Acquire(t.Context(), prod, statestore.Claim{Run: "r2", Command: "deploy"})
	held, ok := errors.AsType[*statestore.HeldError](err)
	if !ok || held.Holder.Command != "moved to bolt:new.db" || held.Holder.Proof != "" {
		t.Fatalf("at the service: %v", err)
	}
	if left := held.Holder.Expires.Sub(held.Holder.Since); left < 5*365*24*time.Hour {
		t.Errorf("it is held for %s", left)
	}
	here, err := from.Load(t.Context(), prod)
	there, loading := to.Load(t.Context(), prod)
	if err != nil || loading != nil || !migrate.Same(here, there) {
		t.Errorf("%+v, %v, %v", there, err, loading)
	}
	if done, err := from.Interrupt(t.Context(), prod, statestore.Order{Unlock: true, Run: held.Holder.Run, Who: "ada", Why: "back"}); !done || err != nil {
		t.Errorf("unlock: %v, %v", done, err)
	}
	if _, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "r3", Command: "deploy"}); err != nil {
		t.Errorf("after an unlock: %v", err)
	}
}
