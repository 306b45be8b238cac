package routes

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has a route as
// https://developers.cloudflare.com/api/resources/workers/subresources/routes/methods/create/
// names it, with a Worker and without.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, routeTable, obj{"zone": "shop.example", "pattern": "shop.example/api/*", "script": "shop"}, kind.Document{},
		kind.Document{"pattern": "shop.example/api/*", "script": "shop"})
	kindtest.Golden(t, routeTable, obj{"zone": "shop.example", "pattern": "shop.example/*"}, kind.Document{}, kind.Document{"pattern": "shop.example/*"})
}

// TestGoldenDomain has the part of a domain that is the table's, as
// https://developers.cloudflare.com/api/resources/workers/subresources/domains/methods/update/
// names it.
func TestGoldenDomain(t *testing.T) {
	kindtest.Golden(t, domainTable, obj{"hostname": "www.shop.example", "script": "shop", "zone": "shop.example"}, kind.Document{},
		kind.Document{"hostname": "www.shop.example", "service": "shop"})
}
