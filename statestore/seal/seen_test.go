package seal

import (
	"errors"
	"testing"
)

// TestSeen notices a state that was put back: a lower serial or epoch of the same store, unless it is a new one or empty.
func TestSeen(t *testing.T) {
	dir, project := t.TempDir(), t.TempDir()
	if none, err := SeenStage(dir, project, "shop", "prod"); err != nil || none != (Seen{}) || none.Check("shop/prod", Seen{"s", 1, 1}) != nil {
		t.Errorf("nothing was seen: %+v, %v", none, err)
	}
	if err := (Seen{"s", 9, 4}).Remember(dir, project, "shop", "prod"); err != nil {
		t.Fatal(err)
	}
	seen, err := SeenStage(dir, project, "shop", "prod")
	if err != nil || seen != (Seen{"s", 9, 4}) {
		t.Fatalf("%+v, %v", seen, err)
	}
	for have, older := range map[Seen]bool{
		{"s", 9, 4}: false, {"s", 10, 5}: false, {"other", 1, 1}: false, {"", 0, 0}: false,
		{"s", 8, 4}: true, {"s", 9, 3}: false, {"s", 20, 3}: false, {"s", 0, 1}: true, // epochs go by the clocks of machines
	} {
		if err := seen.Check("shop/prod", have); errors.Is(err, ErrOlder) != older {
			t.Errorf("%+v after %+v: %v", have, seen, err)
		}
	}
	if other, err := SeenStage(dir, project, "shop", "test"); err != nil || other != (Seen{}) {
		t.Errorf("another stage: %+v, %v", other, err)
	}
}
