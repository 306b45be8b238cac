package local

import (
	"context"

	"github.com/athanor-dev/athanor/reconcile"
)

// ValueProps declare one value.
type ValueProps struct {
	// Input is any value; output is the same. Default: null.
	Input any
	// Triggers is any value; when it changes, the value is made anew, and so is what refers to it where its
	// props replace. Changing it replaces the value. Default: null.
	Triggers any
}

// Value is what others may refer to.
type Value struct {
	// Output is the input.
	Output any
}

// liveValue is a value as it is on record.
type liveValue struct {
	props ValueProps
	attrs Value
}

var valueKind = &reconcile.Kind[ValueProps, liveValue, Value]{
	Type:    "local.Value",
	Doc:     "A value that is kept in the record alone: for wiring, and for measuring the engine. It touches nothing.",
	Observe: observeValue,
	Create: func(_ context.Context, site reconcile.Site[ValueProps, Value]) (Value, error) {
		return Value{Output: site.Want.Input}, nil
	},
	Compare: func(d *reconcile.Diff[liveValue], want ValueProps, live liveValue) {
		reconcile.Fixed(d, "triggers", want.Triggers, live.props.Triggers)
		reconcile.Value(d, "input", want.Input, live.attrs.Output, &reconcile.Operation[liveValue]{
			Name: "Remember",
			Do: func(_ context.Context, on reconcile.On[liveValue]) error {
				on.Remember(Value{Output: want.Input})
				return nil
			},
		})
	},
	Attrs:    func(l liveValue) Value { return l.attrs },
	Delete:   func(context.Context, reconcile.Site[ValueProps, Value]) error { return nil },
	Identity: func(Value) string { return "" },
	Moves:    []string{"output"},
	AtBirth:  []string{"output"},
	Recorded: true,
	Source:   source,
}

func observeValue(_ context.Context, site reconcile.Site[ValueProps, Value]) (liveValue, error) {
	if site.Last == nil {
		return liveValue{}, reconcile.ErrAbsent
	}
	live := liveValue{attrs: *site.Last}
	if site.Had != nil {
		live.props = *site.Had
	}
	return live, nil
}
