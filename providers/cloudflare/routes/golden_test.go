package routes

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// routeCalls are the operations that take the bodies below.
var routeCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/zones/Z/workers/routes"},
	{Method: "PUT", Path: "/zones/Z/workers/routes/R"},
}

// TestGolden has a route as
// https://developers.cloudflare.com/api/resources/workers/subresources/routes/methods/create/
// names it, with a Worker and without.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, routeTable, obj{"zone": "shop.example", "pattern": "shop.example/api/*", "script": "shop"}, kind.Document{"pattern": "shop.example/api/*", "script": "shop"}, routeCalls...)
	cloudflaretest.GoldenDocument(t, routeTable, obj{"zone": "shop.example", "pattern": "shop.example/*"}, kind.Document{"pattern": "shop.example/*"}, routeCalls...)
}

// domainCalls are the operations that take the bodies below.
var domainCalls = []cloudflaretest.At{
	{Method: "PUT", Path: "/accounts/A/workers/domains"},
}

// TestGoldenDomain has the part of a domain that is the table's, as
// https://developers.cloudflare.com/api/resources/workers/subresources/domains/methods/update/
// names it.
func TestGoldenDomain(t *testing.T) {
	cloudflaretest.GoldenDocument(t, domainTable, obj{"hostname": "www.shop.example", "script": "shop", "zone": "shop.example"}, kind.Document{"hostname": "www.shop.example", "service": "shop"}, domainCalls...)
}
