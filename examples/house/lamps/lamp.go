// Package lamps offers the lamps of a house that has a service of its own for them: a whole kind, as one writes it outside of
// athanor. See docs/own-kinds.md.
package lamps

import (
	"context"
	"embed"
	"net/http"
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

// live is an observed lamp.
type live struct {
	name string
	have LampProps
}

type site = kind.Site[LampProps, Lamp]

var lampTable = kind.TableOf[LampProps]()

var lampKind = &kind.Kind[LampProps, live, Lamp]{
	Type: "house.Lamp", Doc: "A lamp of the house.",
	Observe: func(ctx context.Context, s site) (live, error) {
		body, name := kind.Document{}, nameOf(s)
		if err := rest.Do(ctx, s.Cloud, rest.Request{Operation: "GetLamp", Method: http.MethodGet, Path: path(name), Answer: &body}); err != nil {
			return live{}, err
		}
		have, err := lampTable.Read(body)
		return live{name, have}, err
	},
	Create: func(ctx context.Context, s site) (Lamp, error) {
		body, name := kind.Document{}, nameOf(s)
		if err := lampTable.Created(s.Want, body); err != nil {
			return Lamp{}, err
		}
		return Lamp{name}, rest.Do(ctx, s.Cloud, rest.Request{Operation: "PutLamp", Method: http.MethodPut, Path: path(name), Send: body})
	},
	Compare: func(d *kind.Diff[live], want LampProps, have live) {
		kind.Compare(d, lampTable, want, have.have, kind.Set("PatchLamp", func(ctx context.Context, u kind.Update[live]) error {
			body := kind.Document{}
			if err := lampTable.Changed(want, u.Live.have, u.Changed, body); err != nil {
				return err
			}
			return rest.Do(ctx, u.Cloud, rest.Request{Operation: "PatchLamp", Method: http.MethodPatch, Path: path(u.Live.name), Send: body})
		}))
	},
	Attributes: func(l live) Lamp { return Lamp{l.name} },
	Delete: func(ctx context.Context, s site) error {
		return rest.Do(ctx, s.Cloud, rest.Request{Operation: "DeleteLamp", Method: http.MethodDelete, Path: path(s.Last.Name)})
	},
	Identity: func(l Lamp) string { return l.Name },

	Props: lampTable,
	Named: &kind.Named[LampProps, live]{
		Given: func(p LampProps) string { return p.Name },
		Rule:  func(LampProps) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-", Inner: true} },
		Live:  func(l live) string { return l.name },
	},
	API: kind.API{Source: source, Calls: []string{"house.GetLamp", "house.PutLamp", "house.PatchLamp", "house.DeleteLamp"}},
}

func path(name string) []string { return []string{"lamps", name} }

// nameOf is the name to look for: that in state, one that is asked about, or the one that is declared or generated.
func nameOf(s site) string {
	switch {
	case s.Last != nil:
		return s.Last.Name
	case s.ID != "":
		return s.ID
	}
	return s.Name
}

// Provider is what a program adds to the kinds that athanor has: cmd.Kinds(lamps.Provider("https://house.example")).
func Provider(url string) reconcile.Provider {
	return reconcile.Provider{
		Name: "house", Kinds: []reconcile.Any{lampKind.Erase()},
		Open: func(context.Context, any) (reconcile.Cloud, error) {
			return &rest.Service{Name: "house", URL: url}, nil
		},
	}
}
