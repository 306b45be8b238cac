package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveRoute is a route as Cloudflare writes it.
type liveRoute struct {
	zone cloudflare.Zone

	ID      string                `json:"id,omitempty"`
	Pattern string                `json:"pattern"`
	Script  cloudflare.WorkerName `json:"script,omitempty"`
}

type (
	routeSite = reconcile.Site[RouteProps, Route]
	routeDiff = reconcile.Diff[liveRoute]
)

var routeKind = &reconcile.Kind[RouteProps, liveRoute, Route]{
	Type: routeType,
	Doc: "A route of a zone: requests to addresses of a pattern go to a Worker, or to none. A zone has each pattern once; one that " +
		"leads to the Worker of somebody else is not taken from it.",

	Observe:  observeRoute,
	Create:   createRoute,
	Compare:  compareRoute,
	Attrs:    func(live liveRoute) Route { return Route{ID: live.ID, ZoneID: live.zone.ID} },
	Delete:   deleteRoute,
	Identity: func(r Route) string { return r.ZoneID + "/" + r.ID },

	Check:       checkRoute,
	AtBirth:     []string{"id", "zoneId"},
	ByParent:    true,
	DeleteFirst: true,
	List:        listRoutes,

	Source: source,
	Calls: []string{
		"Workers.ListRoutes", "Workers.GetRoute", "Workers.CreateRoute", "Workers.UpdateRoute", "Workers.DeleteRoute",
		"Zones.ListZones", "Zones.GetZone",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Zone Read", "Workers Routes Read"},
		List:    []string{"Zone Read", "Workers Routes Read"},
		Create:  []string{"Workers Routes Write", "Workers Scripts Read"},
		Update:  []string{"Workers Routes Write", "Workers Scripts Read"},
		Delete:  []string{"Workers Routes Write"},
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
func compareRoute(d *routeDiff, want RouteProps, live liveRoute) {
	have := live.zone.Name
	if want.Zone == live.zone.ID {
		have = live.zone.ID
	}
	reconcile.Fixed(d, "zone", strings.ToLower(want.Zone), have)
	set := &reconcile.Operation[liveRoute]{Name: "UpdateRoute", Do: func(ctx context.Context, on reconcile.On[liveRoute]) error {
		b := liveRoute{Pattern: on.Live.Pattern, Script: on.Live.Script}
		if slices.Contains(on.Changed, "pattern") {
			b.Pattern = want.Pattern
		}
		if slices.Contains(on.Changed, "script") {
			b.Script = want.Script
		}
		return cloudflare.Taken(cloudflare.NotYet(call(ctx, on.Cloud, http.MethodPut, routePath(on.Live.zone, on.Live.ID), b, nil)))
	}}
	reconcile.Value(d, "pattern", want.Pattern, live.Pattern, set)
	reconcile.Value(d, "script", want.Script, live.Script, set)
}

func routePath(zone cloudflare.Zone, id string) string {
	path := "/zones/" + zone.ID + "/workers/routes"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

var (
	errNoRoute    = errors.New("a route is found by its id or its pattern, and there is neither")
	errOtherRoute = errors.New("the pattern leads elsewhere")
)

// observeRoute reads a route by its id, or finds it in its zone by pattern and Worker.
func observeRoute(ctx context.Context, site routeSite) (liveRoute, error) {
	zone, id := site.Want.Zone, ""
	switch {
	case site.Last != nil:
		zone, id = site.Last.ZoneID, site.Last.ID
	case site.ID != "":
		zone, id, _ = strings.Cut(site.ID, "/")
		if id == "" || strings.Contains(id, "/") {
			return liveRoute{}, reconcile.WithHint(fmt.Errorf("%q is no route", site.ID), "write zone/route, the zone and the id of the route")
		}
	case site.Want.Pattern == "":
		return liveRoute{}, errNoRoute
	}
	z, err := cloudflare.ZoneOf(ctx, site.Cloud, zone)
	if err != nil {
		return liveRoute{}, err
	}
	if id != "" {
		live := liveRoute{zone: z}
		err := call(ctx, site.Cloud, http.MethodGet, routePath(z, id), nil, &live)
		return live, cloudflare.Absent(err)
	}
	live, err := routeOf(ctx, site.Cloud, z, site.Want.Pattern)
	if err == nil && live.Script != site.Want.Script {
		err = fmt.Errorf("%w: no route of this pattern and Worker", reconcile.ErrAbsent)
	}
	return live, err
}

// routes are all of a zone, which are told on one page.
func routes(ctx context.Context, cloud reconcile.Cloud, z cloudflare.Zone) ([]liveRoute, error) {
	var all []liveRoute
	err := call(ctx, cloud, http.MethodGet, routePath(z, ""), nil, &all)
	for i := range all {
		all[i].zone = z
	}
	return all, err
}

func routeOf(ctx context.Context, cloud reconcile.Cloud, z cloudflare.Zone, pattern string) (liveRoute, error) {
	all, err := routes(ctx, cloud, z)
	if err != nil {
		return liveRoute{}, err
	}
	if i := slices.IndexFunc(all, func(r liveRoute) bool { return r.Pattern == pattern }); i >= 0 {
		return all[i], nil
	}
	return liveRoute{}, fmt.Errorf("%w: zone %s has no route %s", reconcile.ErrAbsent, z.Name, pattern)
}

// createRoute makes a route. A pattern that leads elsewhere keeps doing so: looking again would not show ours.
func createRoute(ctx context.Context, site routeSite) (Route, error) {
	z, err := cloudflare.ZoneOf(ctx, site.Cloud, site.Want.Zone)
	if err != nil {
		return Route{}, err
	}
	made := liveRoute{zone: z}
	b := liveRoute{Pattern: site.Want.Pattern, Script: site.Want.Script}
	err = call(ctx, site.Cloud, http.MethodPost, routePath(z, ""), b, &made)
	if err != nil && site.Cloud.Classify(err) == reconcile.Exists {
		other, look := routeOf(ctx, site.Cloud, z, site.Want.Pattern)
		if look == nil && other.Script != site.Want.Script {
			return Route{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errOtherRoute, other.whither(), err),
				"`athanor adopt ADDRESS %s/%s` takes it over", z.ID, other.ID))
		}
	}
	return Route{ID: made.ID, ZoneID: z.ID}, err
}

func (r liveRoute) whither() string {
	if r.Script == "" {
		return "to no Worker"
	}
	return "to Worker " + string(r.Script)
}

func deleteRoute(ctx context.Context, site routeSite) error {
	return call(ctx, site.Cloud, http.MethodDelete, routePath(cloudflare.Zone{ID: site.Last.ZoneID}, site.Last.ID), nil, nil)
}

// listRoutes are all of the account's zones. None has a name of a stage's making.
func listRoutes(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	if in.Prefix != "" {
		return nil, nil
	}
	var all []reconcile.Found
	for z, err := range cloudflare.Zones(ctx, in.Cloud) {
		if err != nil {
			return nil, err
		}
		found, err := routes(ctx, in.Cloud, z)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			all = append(all, reconcile.Found{Kind: routeType, Place: in.Place, Identity: z.ID + "/" + r.ID, Name: r.Pattern})
		}
	}
	return all, nil
}
