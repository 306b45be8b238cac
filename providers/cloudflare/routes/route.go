package routes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// RouteProps declare a route. Patterns are those of https://developers.cloudflare.com/workers/configuration/routing/routes/
type RouteProps struct {
	// Zone that the pattern is of: its name or its id.
	Zone string `prop:"required,immutable" wire:"-"`
	// Pattern of the addresses, such as "shop.example/api/*" or "*.shop.example/*".
	Pattern string `prop:"required" wire:"pattern"`
	// Script is the name of the Worker that gets the requests. Default: none, no Worker gets them, whatever wider patterns
	// say.
	Script cloudflare.WorkerName `wire:"script"`
}

// Route is what others may refer to of a route.
type Route struct {
	// ID of the route in its zone.
	ID string `attr:"early"`
	// ZoneID is the id of the zone.
	ZoneID string `attr:"early"`
}

// liveRoute is an observed route.
type liveRoute struct {
	zone cloudflare.Zone
	id   string
	have RouteProps
}

type routeSite = kind.Site[RouteProps, Route]

var routeTable = kind.TableOf[RouteProps]()

var routeKind = &kind.Kind[RouteProps, liveRoute, Route]{
	Type: routeType,
	Doc: "A route of a zone: requests to addresses of a pattern go to a Worker, or to none. A zone has each pattern once; one that " +
		"leads to the Worker of somebody else is not taken from it.",

	Observe:    observeRoute,
	Create:     createRoute,
	Compare:    compareRoute,
	Attributes: func(live liveRoute) Route { return Route{ID: live.id, ZoneID: live.zone.ID} },
	Delete: func(ctx context.Context, s routeSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, routePath(s.Last.ZoneID, s.Last.ID), nil, nil)
	},
	Identity: func(r Route) string { return r.ZoneID + "/" + r.ID },

	Props:       routeTable,
	Check:       checkRoute,
	Owner:       kind.OwnedByParent[RouteProps, liveRoute]{},
	DeleteFirst: true,
	List:        listRoutes,
	Unique:      func(want RouteProps) []string { return []string{cloudflare.UniqueRoute(want.Pattern)} },
	PartOf:      []kind.Part{{Prop: "script", Kind: cloudflare.WorkerType, States: "routes"}},

	API: kind.API{
		Source: source,
		Calls: []string{
			"Workers.ListRoutes", "Workers.GetRoute", "Workers.CreateRoute", "Workers.UpdateRoute", "Workers.DeleteRoute",
			"Zones.ListZones", "Zones.GetZone",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Zone Read", "Workers Routes Read"},
			List:    []string{"Zone Read", "Workers Routes Read"},
			Create:  []string{"Workers Routes Write", "Workers Scripts Read"},
			Update:  []string{"Workers Routes Write", "Workers Scripts Read"},
			Delete:  []string{"Workers Routes Write"},
		},
	},
}

func checkRoute(want RouteProps) error {
	var problems props.Errors
	if p := want.Pattern; !token.Has(p) && (!strings.Contains(p, ".") || strings.ContainsAny(p, "? #")) {
		problems.Wrong("pattern", "want a name and a path, such as shop.example/api/*, without a query")
	}
	return problems.OrNil()
}

// compareRoute states every aspect. One call sets both pattern and Worker.
func compareRoute(d *kind.Diff[liveRoute], want RouteProps, live liveRoute) {
	have := live.have
	have.Zone = live.zone.As(want.Zone)
	kind.Compare(d, routeTable, want, have, kind.Set("UpdateRoute", func(ctx context.Context, u kind.Update[liveRoute]) error {
		doc := kind.Document{}
		if err := routeTable.Created(routeTable.Merged(want, have, u.Changed), doc); err != nil {
			return err
		}
		err := cloudflare.Send(ctx, u.Cloud, http.MethodPut, routePath(live.zone.ID, live.id), doc, nil)
		return cloudflare.Taken(cloudflare.NotYet(err))
	}))
}

func routePath(zone, id string) string { return below("/zones/"+zone+"/workers/routes", id) }

var errNoRoute = errors.New("a route is found by its id or its pattern, and there is neither")

func observedRoute(zone cloudflare.Zone, shown kind.Document) (live liveRoute, err error) {
	live.zone = zone
	live.id, _ = shown["id"].(string)
	live.have, err = routeTable.Read(shown)
	return live, err
}

// observeRoute reads a route by its id, or finds it in its zone by pattern and Worker.
func observeRoute(ctx context.Context, s routeSite) (live liveRoute, err error) {
	zone, id := s.Want.Zone, ""
	switch {
	case s.Last != nil:
		zone, id = s.Last.ZoneID, s.Last.ID
	case s.ID != "":
		zone, id, _ = strings.Cut(s.ID, "/")
		if id == "" || strings.Contains(id, "/") {
			return live, reconcile.WithHint(fmt.Errorf("%q is no route", s.ID), "write zone/route, the zone and the id of the route")
		}
	case s.Want.Pattern == "":
		return live, errNoRoute
	}
	z, err := cloudflare.ZoneOf(ctx, s.Cloud, zone)
	if err != nil {
		return live, err
	}
	if id == "" {
		live, err = routeOf(ctx, s.Cloud, z, s.Want.Pattern)
		if err == nil && live.have.Script != s.Want.Script {
			err = fmt.Errorf("%w: no route of this pattern and Worker", reconcile.ErrAbsent)
		}
		return live, err
	}
	var shown kind.Document
	if err := cloudflare.Send(ctx, s.Cloud, http.MethodGet, routePath(z.ID, id), nil, &shown); err != nil {
		return live, cloudflare.Absent(err)
	}
	return observedRoute(z, shown)
}

// routes are all of a zone, which are on one page.
func routes(ctx context.Context, cloud kind.Cloud, z cloudflare.Zone) iter.Seq2[liveRoute, error] {
	return cloudflare.CallList(ctx, cloud, routePath(z.ID, ""), func(shown kind.Document) (liveRoute, error) { return observedRoute(z, shown) })
}

func routeOf(ctx context.Context, cloud kind.Cloud, z cloudflare.Zone, pattern string) (liveRoute, error) {
	return cloudflare.Called(routes(ctx, cloud, z), func(r liveRoute) string { return r.have.Pattern }, "route of zone "+z.Name, pattern)
}

// createRoute makes a route. A pattern that leads elsewhere keeps doing so.
func createRoute(ctx context.Context, s routeSite) (Route, error) {
	z, err := cloudflare.ZoneOf(ctx, s.Cloud, s.Want.Zone)
	if err != nil {
		return Route{}, err
	}
	doc := kind.Document{}
	if err := routeTable.Created(s.Want, doc); err != nil {
		return Route{}, err
	}
	var made struct{ ID string }
	err = cloudflare.Send(ctx, s.Cloud, http.MethodPost, routePath(z.ID, ""), doc, &made)
	return Route{ID: made.ID, ZoneID: z.ID}, elsewhere(s.Facts, s.Want.Script, err, func() (string, cloudflare.WorkerName, error) {
		other, err := routeOf(ctx, s.Cloud, z, s.Want.Pattern)
		return z.ID + "/" + other.id, other.have.Script, err
	})
}

// listRoutes are all of the account's zones. None has a name of a stage's making.
func listRoutes(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	var all []kind.Found
	if scope.Prefix != "" {
		return nil, nil
	}
	for z, err := range cloudflare.Zones(ctx, scope.Cloud) {
		if err != nil {
			return nil, err
		}
		found, err := cloudflare.FoundIn(scope, routes(ctx, scope.Cloud, z), func(r liveRoute) kind.Found {
			return kind.Found{Kind: routeType, Identity: z.ID + "/" + r.id, Name: r.have.Pattern}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
