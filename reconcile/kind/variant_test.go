package kind_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	jarProps struct {
		// Size of it.
		Size *int `prop:"default=8,immutable" wire:"Size"`
		// Labels on it.
		Labels map[string]string `prop:"deferrable,masklive" wire:"Labels,call=SetLabels"`
		// Owner of it.
		Owner string `prop:"needsready" wire:"Owner"`
	}
	jar struct {
		// ID of it.
		ID string `attr:"early"`
		// Secret of it.
		Secret string `attr:"createOnly"`
		// Weight of it.
		Weight string `attr:"mutable=size"`
	}
)

// TestLocalVariants: of the tags of a kind only what holds on this machine too counts for its local variant, for which code
// has the defaults, the checks and the comparison.
func TestLocalVariants(t *testing.T) {
	k := kind.StateKind[jarProps, jar]{
		Type: "here.Jar", Doc: "A jar here.", LocalVariantOf: "test.Jar", Props: kind.TableOf[jarProps](),
		Default: func(p jarProps) jarProps {
			p.Size = cmp.Or(p.Size, new(7))
			return p
		},
		Create: func(_ context.Context, s kind.Site[jarProps, jar]) (jar, error) { return jar{ID: "here"}, nil },
		Compare: func(d *kind.Diff[kind.Kept[jarProps, jar]], want jarProps, live kind.Kept[jarProps, jar]) {
			reconcile.Value(d, "size", want.Size, live.Props.Size, kind.Set[kind.Kept[jarProps, jar]]("Keep", nil))
		},
	}
	spec := k.Erase().Spec()
	if !slices.Equal(spec.Late, []tree.Path{"labels.*"}) || !slices.Equal(spec.Moves, []string{"weight"}) ||
		len(spec.MovedBy)+len(spec.AtBirth)+len(spec.Once)+len(spec.NeedsSettled) > 0 {
		t.Errorf("%+v", spec)
	}
	look, err := k.Erase().Look(t.Context(), &reconcile.Job{
		Props: map[string]any{"size": int64(9), "owner": "me"}, Had: map[string]any{"owner": "you"}, Last: map[string]any{"id": "here"},
	})
	if err != nil || len(look.Steps) != 1 || look.Steps[0].String() != "size: have 7, want 9" || look.Steps[0].Replaces {
		t.Errorf("%v, %v", look.Steps, err)
	}
	if k.Compare = nil; k.Validate() == nil {
		t.Error("a local variant needs no Compare")
	}
}

// TestReadOfStateKinds: Read sets attributes that change by themselves, and answers that an object ended.
func TestReadOfStateKinds(t *testing.T) {
	k := idKind(new([]string))
	k.Read = func(_ context.Context, s kind.Site[IDProps, ID], live *kind.Kept[IDProps, ID]) error {
		if s.Last.Text == "ended" {
			return reconcile.ErrAbsent
		}
		live.Attributes.Text, live.Read = "moved", 3
		return nil
	}
	k.Compare = func(d *kind.Diff[kind.Kept[IDProps, ID]], _ IDProps, live kind.Kept[IDProps, ID]) {
		reconcile.Value(d, "prefix", any(4), live.Read, kind.Set[kind.Kept[IDProps, ID]]("Turn", nil))
	}
	for text, absent := range map[string]bool{"ended": true, "runs": false} {
		look, err := k.Erase().Look(t.Context(), &reconcile.Job{Last: map[string]any{"text": text}, Props: map[string]any{}})
		if err != nil || look.Absent != absent || !absent && (look.Attrs["text"] != "moved" || look.Steps[0].String() != "prefix: have 3, want 4") {
			t.Errorf("%s: %+v, %v", text, look, err)
		}
	}
}

// TestCleansUp: what was only begun is undone where a kind says so, and knows which run it was.
func TestCleansUp(t *testing.T) {
	for _, cleansUp := range []bool{true, false} {
		var undone []string
		k := idKind(new([]string))
		k.CleansUp = cleansUp
		k.Delete = func(_ context.Context, s kind.Site[IDProps, ID]) error {
			undone = append(undone, s.Nonce)
			return nil
		}
		if err := k.Erase().Delete(t.Context(), &reconcile.Job{Nonce: "n"}); err != nil || slices.Equal(undone, []string{"n"}) != cleansUp {
			t.Errorf("%v, %v", undone, err)
		}
	}
}
