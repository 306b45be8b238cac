package local

import (
	"context"

	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ValueProps declare one value.
type ValueProps struct {
	// Input is any value; output is the same. Default: null.
	Input any `wire:"-"`
	// Triggers is any value; when it changes, the value is made anew, and so is what refers to it where its
	// props replace. Default: null.
	Triggers any `prop:"immutable" wire:"-"`
}

// Value is what others may refer to.
type Value struct {
	// Output is the input.
	Output any `attr:"early,mutable"`
}

var valueKind = &kind.StateKind[ValueProps, Value]{
	Type: "local.Value",
	Doc:  "A value that is kept in state alone: for wiring, and for measuring the engine. It touches nothing.",
	Create: func(_ context.Context, s kind.Site[ValueProps, Value]) (Value, error) {
		return Value{Output: s.Want.Input}, nil
	},
	Props: kind.TableOf[ValueProps](),
	API:   kind.API{Source: source},
}
