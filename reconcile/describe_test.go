package reconcile_test

import (
	"context"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// TestDescribeWhatMayNotBeDeclared is about a kind that wants something to be said which looking does not tell: what is
// read back is not whole, and says so.
func TestDescribeWhatMayNotBeDeclared(t *testing.T) {
	type site = reconciletest.Site[LampProps, Lamp]
	kind := reconciletest.Erase(&reconciletest.Kind[LampProps, lamp, Lamp]{
		Type:    "test.Lamp",
		Observe: func(context.Context, site) (lamp, error) { return lamp{color: "red"}, nil },
		Create:  func(context.Context, site) (Lamp, error) { return Lamp{}, nil },
		Compare: func(d *reconcile.Diff[lamp], want LampProps, live lamp) {
			reconcile.Fixed(d, "color", want.Color, live.color)
		},
		Attrs:    func(lamp) Lamp { return Lamp{ID: "1"} },
		Delete:   func(context.Context, site) error { return nil },
		Identity: func(l Lamp) string { return l.ID },
		Check: func(want LampProps) error {
			if want.Key == "" {
				return props.Errors{{Path: "key", Problem: "want one"}}
			}
			return nil
		},
	})
	job := &reconcile.Job{Address: "lamp", Cloud: &room{}}
	seen, err := kind.Look(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	declared, rest := reconcile.Describe(kind, job, seen)
	if declared["color"] != "red" || len(rest) != 1 || rest[0].Path != "key" {
		t.Errorf("%v, and left are %v", declared, rest)
	}
}
