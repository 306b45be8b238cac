package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// TestStoreIsRememberedFirst: a run lets the machine remember its store before its first change, and a deploy with nothing
// to do does not.
func TestStoreIsRememberedFirst(t *testing.T) {
	b := newBench(t)
	var mutationsBefore []int
	var stores []string
	b.e.Remember = func(_ context.Context, store string) error {
		mutationsBefore, stores = append(mutationsBefore, len(b.world.log)), append(stores, store)
		return nil
	}
	g := graph(res("a", m{"color": "red"}))
	b.deploy(g)
	id, err := b.e.Store.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(stores) != 1 || stores[0] != id || mutationsBefore[0] != 0 || len(b.world.log) == 0 {
		t.Errorf("remembered %v after %v changes, store %s", stores, mutationsBefore, id)
	}
	if b.deploy(g); len(stores) != 1 {
		t.Error("a deploy with nothing to do remembers the store")
	}
}

// TestStoreThatIsNotRemembered: a machine that cannot remember stops nothing and is reported.
func TestStoreThatIsNotRemembered(t *testing.T) {
	b := newBench(t)
	b.e.Remember = func(context.Context, string) error { return errors.New("read-only") }
	var notes []string
	b.e.Events = func(e engine.Event) { notes = append(notes, e.Note) }
	b.deploy(graph(res("a", m{"color": "red"})))
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "could not remember the stack: read-only") {
		t.Errorf("notes %q", text)
	}
}
