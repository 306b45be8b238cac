// Package lamps offers the lamps of a house that has a service of its own for them: a whole kind, as one writes it outside of
// athanor. See docs/own-kinds.md.
package lamps

import (
	"embed"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/rest"
)

//go:embed lamp.go
var source embed.FS // documentation is read from it

// LampProps declare a lamp.
type LampProps struct {
	// Name of the lamp: up to 40 letters, digits and -. Default: none, a name is generated. Changing it replaces the lamp.
	Name string
	// Color it shines in.
	Color *string `prop:"enum=white|red|blue,default=white" wire:"color"`
	// Glow is how long it shines after the last movement, in whole seconds.
	Glow *time.Duration `prop:"min=1s,max=1h,default=30s" wire:"glow_seconds"`
	// Socket that it is screwed into.
	Socket string `prop:"required,immutable" wire:"socket"`
}

// Lamp is what others may refer to of a lamp.
type Lamp struct {
	// Name of the lamp.
	Name string `attr:"early"`
}

// NewLamp declares a lamp.
func NewLamp(s *athanor.Stack, name string, p LampProps, opts ...athanor.Option) Lamp {
	return athanor.Declare(s, lampKind, name, p, opts...)
}

// live is an observed lamp: the document at /lamps/NAME.
type live = rest.Object[LampProps]

var lampKind = rest.Kind(rest.Documents{Path: []string{"lamps"}}, kind.Kind[LampProps, live, Lamp]{
	Type: "house.Lamp", Doc: "A lamp of the house.",
	Attributes: func(l live) Lamp { return Lamp{l.Name} },
	Identity:   func(l Lamp) string { return l.Name },
	Named: &kind.Named[LampProps, live]{
		Given: func(p LampProps) string { return p.Name },
		Rule:  func(LampProps) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-", Inner: true} },
		Live:  func(l live) string { return l.Name },
	},
	API: kind.API{Source: source},
})

// Provider is what a program adds to the kinds that athanor has: cmd.Kinds(lamps.Provider("https://house.example")).
func Provider(url string) reconcile.Provider {
	return (&rest.Service{Name: "house", URL: url}).Provider(lampKind.Erase())
}
