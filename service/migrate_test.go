package service_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

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
