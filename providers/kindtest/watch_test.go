package kindtest

import (
	"context"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestApart says before which calls a cut differs from one after the call before.
func TestApart(t *testing.T) {
	t.Parallel()
	w := &watch{}
	enter := func() (end func(error)) {
		end, err := w.Enter(context.Background(), reconcile.Call{Mutates: true})
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	enter()(nil) // 1
	enter()(nil) // 2: nothing between
	w.store()
	enter()(nil) // 3: stored before it
	enter()(nil) // 4
	fifth := enter()
	enter()(nil) // 6: while the fifth is under way
	fifth(nil)
	enter()(nil) // 7
	for call, want := range map[int]bool{1: true, 2: false, 3: true, 4: false, 5: false, 6: true, 7: false, 8: true} {
		if have := w.apart(call); have != want {
			t.Errorf("a cut before call %d counts as another one: %v, want %v", call, have, want)
		}
	}
}
