// Package generic offers every type of object of Cloudflare's API that has no kind of its own, by the names of the API's
// own description: kind cloudflare.turnstile.Widget, with the properties that the API has.
//
// One kind is made of each type's schema (package schema) when somebody asks for it. It knows how a declaration is
// compared with an object, how a difference becomes a PATCH, a PUT or a replacement, how an owner tag is written where the
// object has a text for it, and how an object is found without state. It knows nothing of any single type: what neither
// the description nor the overlay says, it does not do. Types that have a kind of their own are refused with its name.
package generic

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
)

// Props are properties by the API's names. Values are plain ones, references, and lists and maps of these.
type Props = map[string]any

// NewResource declares a resource of a type of Cloudflare's API.
//
//	widget := generic.NewResource(s, "login", "cloudflare.turnstile.Widget", generic.Props{
//		"mode": "managed", "domains": []any{"example.com"},
//	})
//	s.Output("sitekey", widget.Attr("sitekey"))
func NewResource(s *athanor.Stack, name, typ string, p Props, opts ...athanor.Option) athanor.Resource {
	return s.Resource(typ, name, p, opts...)
}

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Family: &reconcile.Family{
		Prefix: schema.Prefix,
		Doc:    "Every other type of Cloudflare's API, by the API's names of properties.",
		Types:  schema.Names,
		Kind:   Kind,
	}}
}

// Kind is the kind of a type of the API.
func Kind(name string) (reconcile.Any, error) {
	t, err := schema.Lookup(name)
	switch {
	case errors.Is(err, schema.ErrUnknown):
		return nil, fmt.Errorf("%w: %w", reconcile.ErrNoKind, err)
	case err != nil:
		return nil, err
	}
	return newKind(t).whole().Erase(), nil
}
