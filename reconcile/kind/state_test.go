package kind_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

type timeTime = time.Time

// IDProps declare a value in state.
type IDProps struct {
	// Bytes of it.
	Bytes *int `prop:"min=1,default=8,immutable" wire:"-"`
	// Prefix of it.
	Prefix string `wire:"-"`
}

// ID is the value.
type ID struct {
	// Text of it.
	Text string `attr:"early,mutable=prefix"`
}

func idKind(made *[]string) kind.StateKind[IDProps, ID] {
	return kind.StateKind[IDProps, ID]{
		Type: "test.ID", Doc: "A value.", Props: kind.TableOf[IDProps](),
		Create: func(_ context.Context, s kind.Site[IDProps, ID]) (ID, error) {
			*made = append(*made, s.Want.Prefix)
			return ID{Text: s.Want.Prefix + strings.Repeat("x", *s.Want.Bytes)}, nil
		},
	}
}

func TestStateKinds(t *testing.T) {
	var made []string
	k := idKind(&made).Erase()
	if err := k.Validate(); err != nil {
		t.Fatal(err)
	}
	settle := func(declared map[string]any, last, had map[string]any) reconcile.Outcome {
		t.Helper()
		out, err := k.Settle(t.Context(), &reconcile.Job{Address: "id", Props: declared, Last: last, Had: had}, reconcile.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := settle(map[string]any{"prefix": "a"}, nil, nil)
	if !out.Created || out.Attrs["text"] != "axxxxxxxx" || out.Identity != "id" {
		t.Fatalf("%+v", out)
	}
	had := map[string]any{"prefix": "a"}
	if again := settle(had, out.Attrs, had); again.Created || len(made) != 1 {
		t.Errorf("unchanged, and computed again: %v", made)
	}
	if next := settle(map[string]any{"prefix": "b"}, out.Attrs, had); next.Attrs["text"] != "bxxxxxxxx" || len(next.Changed) != 1 {
		t.Errorf("changed: %+v", next)
	}
	look, err := k.Look(t.Context(), &reconcile.Job{Props: map[string]any{"prefix": "a", "bytes": int64(9)}, Last: out.Attrs, Had: had})
	if err != nil || len(look.Steps) != 1 || !look.Steps[0].Replaces {
		t.Errorf("immutable: %+v, %v", look.Steps, err)
	}
	if spec := k.Spec(); !spec.Recorded || spec.Rerun || spec.InDev || spec.Named || len(spec.MovedBy["text"]) != 1 {
		t.Errorf("%+v", spec)
	}
}

func TestLifetimes(t *testing.T) {
	for _, c := range []struct {
		lifetime     kind.StateLifetime
		rerun, inDev bool
	}{{kind.InState, false, false}, {kind.Rerun, true, false}, {kind.InDev, true, true}} {
		k := idKind(new([]string))
		k.Lifetime = c.lifetime
		if spec := k.Erase().Spec(); spec.Rerun != c.rerun || spec.InDev != c.inDev || !spec.Recorded {
			t.Errorf("%d: %+v", c.lifetime, spec)
		}
	}
	for want, change := range map[string]func(*kind.StateKind[IDProps, ID]){
		"no Lifetime has the number 3":  func(k *kind.StateKind[IDProps, ID]) { k.Lifetime = 3 },
		"Create is missing":             func(k *kind.StateKind[IDProps, ID]) { k.Create = nil },
		"Props, or Compare, is missing": func(k *kind.StateKind[IDProps, ID]) { k.Props = nil },
	} {
		k := idKind(new([]string))
		change(&k)
		if err := k.Erase().Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestStateKindsThatEndAndAreUndone(t *testing.T) {
	var undone []string
	k := idKind(new([]string))
	k.Observe = func(_ context.Context, s kind.Site[IDProps, ID]) error {
		if s.Last.Text == "ended" {
			return reconcile.ErrAbsent
		}
		return nil
	}
	k.Delete = func(_ context.Context, s kind.Site[IDProps, ID]) error {
		undone = append(undone, s.Last.Text)
		return nil
	}
	erased := k.Erase()
	for text, absent := range map[string]bool{"ended": true, "runs": false} {
		look, err := erased.Look(t.Context(), &reconcile.Job{Last: map[string]any{"text": text}})
		if err != nil || look.Absent != absent {
			t.Errorf("%s: %+v, %v", text, look, err)
		}
	}
	if err := erased.Delete(t.Context(), &reconcile.Job{Last: map[string]any{"text": "runs"}}); err != nil || len(undone) != 1 {
		t.Errorf("%v, %v", undone, err)
	}
	if err := erased.Delete(t.Context(), &reconcile.Job{}); err != nil || len(undone) != 1 {
		t.Errorf("what was never there is undone: %v, %v", undone, err)
	}
}
