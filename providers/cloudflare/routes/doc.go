// Package routes offers what leads requests of a zone to Workers of Cloudflare: routes, which are patterns of addresses,
// and domains, which are names of which nothing else answers.
//
// It knows who else has a pattern or a name. It does not know Workers, beyond their names; how calls are made and judged is
// the business of package cloudflare.
package routes

import (
	"embed"
	"errors"
	"fmt"
	"net/url"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

//go:embed route.go domain.go
var source embed.FS

const (
	routeType  = "cloudflare.WorkerRoute"
	domainType = "cloudflare.WorkerDomain"
)

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{routeKind.Erase(), domainKind.Erase()}}
}

// NewRoute declares a route of a zone.
func NewRoute(s *athanor.Stack, name string, p RouteProps, opts ...athanor.Option) Route {
	return athanor.Declare(s, routeKind, name, p, opts...)
}

// NewDomain declares a domain of a Worker.
func NewDomain(s *athanor.Stack, name string, p DomainProps, opts ...athanor.Option) Domain {
	return athanor.Declare(s, domainKind, name, p, opts...)
}

// below is a path below another, or that one without an id.
func below(path, id string) string {
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

var errElsewhere = errors.New("it leads elsewhere")

// elsewhere is the error of a creation. Where it was refused since what exists leads to another Worker, searching again
// would not show ours: find returns the identity and the Worker of what exists.
func elsewhere(s kind.Facts, want cloudflare.WorkerName, err error, find func() (id string, leadsTo cloudflare.WorkerName, err error)) error {
	if err == nil || s.Cloud.Classify(err) != reconcile.Exists {
		return err
	}
	id, other, missing := find()
	if missing != nil || other == want {
		return err
	}
	to := "to Worker " + string(other)
	if other == "" {
		to = "to no Worker"
	}
	return cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errElsewhere, to, err),
		"take it from there first, or `athanor adopt ADDRESS %s`", id))
}
