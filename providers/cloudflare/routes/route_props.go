package routes

import "github.com/athanor-dev/athanor/providers/cloudflare"

// RouteProps declare a route. Patterns are those of https://developers.cloudflare.com/workers/configuration/routing/routes/
type RouteProps struct {
	// Zone that the pattern is of: its name or its id. Changing it replaces the route.
	Zone string `prop:"required"`
	// Pattern of the addresses, such as "shop.example/api/*" or "*.shop.example/*".
	Pattern string `prop:"required"`
	// Script is the name of the Worker that gets the requests. Default: none, no Worker gets them, whatever wider patterns
	// say.
	Script cloudflare.WorkerName
}

// Route is what others may refer to of a route.
type Route struct {
	// ID of the route in its zone.
	ID string
	// ZoneID is the id of the zone.
	ZoneID string
}
