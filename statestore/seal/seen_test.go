package seal

import (
	"errors"
	"testing"
)

// TestSeen notices a state that was put back: a lower serial or epoch of the same store, unless it is a new one or empty.
func TestSeen(t *testing.T) {
	dir, at := t.TempDir(), SeenAt{Project: t.TempDir(), Stack: "shop", Stage: "prod", Store: "bolt:a.db"}
	if none, err := at.Seen(dir); err != nil || none != (Seen{}) || none.Check("shop/prod", Seen{"s", 1, 1}) != nil {
		t.Errorf("nothing was seen: %+v, %v", none, err)
	}
	if err := at.Remember(dir, Seen{"s", 9, 4}); err != nil {
		t.Fatal(err)
	}
	seen, err := at.Seen(dir)
	if err != nil || seen != (Seen{"s", 9, 4}) {
		t.Fatalf("%+v, %v", seen, err)
	}
	for have, older := range map[Seen]bool{
		{"s", 9, 4}: false, {"s", 10, 5}: false, {"other", 1, 1}: false, {"", 0, 0}: false,
		{"s", 8, 4}: true, {"s", 9, 3}: true, {"s", 20, 3}: true, {"s", 0, 1}: true,
	} {
		if err := seen.Check("shop/prod", have); errors.Is(err, ErrOlder) != older {
			t.Errorf("%+v after %+v: %v", have, seen, err)
		}
	}
	stage, store := at, at
	stage.Stage, store.Store = "test", "bolt:b.db"
	for _, other := range []SeenAt{stage, store} {
		if seen, err := other.Seen(dir); err != nil || seen != (Seen{}) {
			t.Errorf("%+v: %+v, %v", other, seen, err)
		}
	}
}
