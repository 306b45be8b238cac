// Package routes offers what leads requests of a zone to Workers of Cloudflare: routes, which are patterns of addresses,
// and domains, which are names of which nothing else answers.
//
// It knows who else has a pattern or a name. It does not know Workers, beyond their names; how calls are made and judged is
// the business of package cloudflare.
package routes

import (
	"context"
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed route.go route_props.go domain.go domain_props.go
var source embed.FS

const (
	routeType  = "cloudflare.WorkerRoute"
	domainType = "cloudflare.WorkerDomain"
)

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{reconcile.Erase(routeKind), reconcile.Erase(domainKind)}}
}

// NewRoute declares a route of a zone.
func NewRoute(s *athanor.Stack, name string, p RouteProps, opts ...athanor.Option) Route {
	return athanor.Declare(s, routeKind, name, p, opts...)
}

// NewDomain declares a domain of a Worker.
func NewDomain(s *athanor.Stack, name string, p DomainProps, opts ...athanor.Option) Domain {
	return athanor.Declare(s, domainKind, name, p, opts...)
}

func call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{Method: method, Path: path, Body: body}, into)
}
