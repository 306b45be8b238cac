package workers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// TakenError says that another Worker, or nobody's, has what a Worker is to have.
type TakenError struct {
	// What is taken: "route shop.example/*" or "domain shop.example".
	What string
	// By is the Worker that has it, "" for a route that is kept from Workers.
	By string
}

func (e *TakenError) Error() string {
	if e.By == "" {
		return e.What + " is kept from Workers by somebody"
	}
	return e.What + " belongs to the Worker " + e.By
}

// taken is an error that only people can make go away.
func taken(what, by string) error {
	return cloudflare.Invalid(reconcile.WithHint(&TakenError{what, by}, "take it away there first; nothing is taken from another Worker"))
}

// readTriggers reads when and where under workers.dev the Worker is called.
func readTriggers(ctx context.Context, site workerSite, live *liveWorker) error {
	var crons struct{ Schedules []struct{ Cron string } }
	if err := cloudflare.Call(ctx, site.Cloud, live.request(http.MethodGet, "/schedules", nil), &crons); err != nil {
		return cloudflare.NotYet(err)
	}
	for _, s := range crons.Schedules {
		live.crons = append(live.crons, s.Cron)
	}
	var dev struct {
		Enabled  bool `json:"enabled"`
		Previews bool `json:"previews_enabled"`
	}
	if err := cloudflare.Call(ctx, site.Cloud, live.request(http.MethodGet, "/subdomain", nil), &dev); err != nil {
		return cloudflare.NotYet(err)
	}
	live.have.WorkersDev, live.have.Previews = dev.Enabled, dev.Previews
	if !dev.Enabled && !dev.Previews {
		return nil
	}
	var account struct{ Subdomain string }
	err := cloudflare.Send(ctx, site.Cloud, http.MethodGet, "/accounts/"+live.account+"/workers/subdomain", nil, &account)
	if cloudflare.IsAbsent(err) {
		return nil // it is served nowhere then
	}
	live.subdomain = account.Subdomain
	return err
}

// wireDomain is a host name as Cloudflare writes it.
type wireDomain struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	Service  string `json:"service"`
	ZoneID   string `json:"zone_id"`
	ZoneName string `json:"zone_name"`
}

// domainsBy are host names of the account by one of their fields.
func domainsBy(ctx context.Context, cloud kind.Cloud, account, field, value string) ([]wireDomain, error) {
	var list []wireDomain
	path := "/accounts/" + account + "/workers/domains?" + field + "=" + url.QueryEscape(value)
	err := cloudflare.Send(ctx, cloud, http.MethodGet, path, nil, &list)
	return list, err
}

func readDomains(ctx context.Context, site workerSite, live *liveWorker) error {
	list, err := domainsBy(ctx, site.Cloud, live.account, "service", live.name)
	live.domains = map[string]place{}
	for _, d := range list {
		live.domains[d.Hostname] = place{d.ID, cloudflare.Zone{ID: d.ZoneID, Name: d.ZoneName}}
	}
	return err
}

// wireRoute is a route as Cloudflare writes it.
type wireRoute struct {
	ID      string `json:"id,omitempty"`
	Pattern string `json:"pattern"`
	Script  string `json:"script"`
}

func routesOf(ctx context.Context, cloud kind.Cloud, zone string) ([]wireRoute, error) {
	var list []wireRoute
	err := cloudflare.Send(ctx, cloud, http.MethodGet, "/zones/"+zone+"/workers/routes", nil, &list)
	return list, err
}

// readRoutes looks into the zones that are declared, those that the patterns are about, and those that had routes: Cloudflare
// tells routes by zones alone.
func readRoutes(ctx context.Context, site workerSite, live *liveWorker) error {
	zones, err := routeZones(ctx, site)
	if err != nil {
		return err
	}
	live.routes = map[string]place{}
	for _, id := range sortedKeys(zones) {
		list, err := routesOf(ctx, site.Cloud, id)
		if err != nil {
			return err
		}
		for _, r := range list {
			if r.Script != live.name {
				continue
			}
			key := r.Pattern
			if _, twice := live.routes[key]; twice {
				key += " in " + zones[id] // nobody declares it so
			}
			live.routes[key] = place{r.ID, cloudflare.Zone{ID: id, Name: zones[id]}}
		}
	}
	return nil
}

// routeZones are the names of the zones that may have routes of the Worker, by their ids. One that is not there has none.
func routeZones(ctx context.Context, site workerSite) (map[string]string, error) {
	zones := map[string]string{}
	add := func(z cloudflare.Zone, err error) error {
		if err == nil {
			zones[z.ID] = z.Name
		}
		if errors.Is(err, reconcile.ErrAbsent) {
			return nil
		}
		return err
	}
	for _, pattern := range sortedKeys(site.Want.Routes) {
		named := site.Want.Routes[pattern].Zone
		if token.Has(pattern) || token.Has(named) {
			continue
		}
		if named != "" {
			if err := add(cloudflare.ZoneOf(ctx, site.Cloud, named)); err != nil {
				return nil, err
			}
		}
		if err := add(cloudflare.ZoneOfHost(ctx, site.Cloud, hostOf(pattern))); err != nil {
			return nil, err
		}
	}
	if site.Last == nil {
		return zones, nil
	}
	for _, id := range site.Last.RouteZones {
		if err := add(cloudflare.ZoneOf(ctx, site.Cloud, id)); err != nil {
			return nil, err
		}
	}
	return zones, nil
}

// zoneOf is the zone that the author names, or else the one that a host name is in.
func zoneOf(ctx context.Context, cloud kind.Cloud, named, host string) (cloudflare.Zone, error) {
	if named != "" {
		return cloudflare.ZoneOf(ctx, cloud, named)
	}
	return cloudflare.ZoneOfHost(ctx, cloud, host)
}

// hostOf is the host name that a pattern of a route is about.
func hostOf(pattern string) string {
	_, after, ok := strings.Cut(pattern, "://")
	if !ok {
		after = pattern
	}
	host, _, _ := strings.Cut(after, "/")
	return strings.TrimPrefix(strings.TrimPrefix(host, "*"), ".")
}

// uniqueWorker names the domains and routes, each of which leads to one Worker.
func uniqueWorker(want WorkerProps) []string {
	var all []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(want.Domains))) {
		all = append(all, cloudflare.UniqueDomain(name))
	}
	for _, pattern := range sortedKeys(want.Routes) {
		all = append(all, cloudflare.UniqueRoute(pattern))
	}
	return all
}

// compareTriggers states all that calls the Worker.
func compareTriggers(d *kind.Diff[liveWorker], want WorkerProps, live liveWorker) {
	reconcile.Set(d, "crons", want.Crons, live.crons, "PutScriptSchedule", func(ctx context.Context, on kind.Update[liveWorker], _, _ []string) error {
		all := make([]map[string]any, 0, len(want.Crons))
		for _, cron := range slices.Compact(slices.Sorted(slices.Values(want.Crons))) {
			all = append(all, map[string]any{"cron": cron})
		}
		return cloudflare.NotYet(cloudflare.Call(ctx, on.Cloud, on.Live.request(http.MethodPut, "/schedules", all), nil))
	})
	kind.CompareCall(d, workerTable, want, live.have, "CreateScriptSubdomain", kind.Set("CreateScriptSubdomain",
		func(ctx context.Context, u kind.Update[liveWorker]) error {
			to := workerTable.Merged(want, live.have, u.Changed)
			body := kind.Document{"enabled": to.WorkersDev, "previews_enabled": to.Previews}
			return cloudflare.NotYet(cloudflare.Call(ctx, u.Cloud, live.request(http.MethodPost, "/subdomain", body), nil))
		}))

	routes := map[string]Route{}
	for pattern, at := range live.routes {
		named := want.Routes[pattern].Zone
		if named != "" {
			named = at.zone.As(named)
		}
		routes[pattern] = Route{named}
	}
	reconcile.Set(d, "domains", want.Domains, sortedKeys(live.domains), "PutDomain", syncDomains)
	reconcile.Map(d, "routes", want.Routes, routes, "CreateRoute", syncRoutes)
}

// syncDomains attaches and detaches host names. One that another Worker has is left there.
func syncDomains(ctx context.Context, on kind.Update[liveWorker], add, drop []string) error {
	for _, name := range drop {
		if err := deleteDomain(ctx, on.Cloud, on.Live.account, on.Live.domains[name].id); err != nil {
			return err
		}
	}
	for _, name := range add {
		zone, err := cloudflare.ZoneOfHost(ctx, on.Cloud, name)
		if err != nil {
			return cloudflare.Invalid(fmt.Errorf("domain %s: %w", name, err))
		}
		have, err := domainsBy(ctx, on.Cloud, on.Live.account, "hostname", name)
		if err != nil {
			return err
		}
		for _, d := range have {
			if d.Service == on.Live.name {
				continue
			}
			if err := ours(ctx, on, "domain "+name, d.Service); err != nil {
				return err
			}
			if err := deleteDomain(ctx, on.Cloud, on.Live.account, d.ID); err != nil {
				return err
			}
		}
		body := map[string]any{"hostname": name, "service": on.Live.name, "zone_id": zone.ID}
		err = cloudflare.Send(ctx, on.Cloud, http.MethodPut, "/accounts/"+on.Live.account+"/workers/domains", body, nil)
		if err != nil {
			return cloudflare.NotYet(err)
		}
	}
	return nil
}

func deleteDomain(ctx context.Context, cloud kind.Cloud, account, id string) error {
	err := cloudflare.Send(ctx, cloud, http.MethodDelete, "/accounts/"+account+"/workers/domains/"+url.PathEscape(id), nil, nil)
	if cloudflare.IsAbsent(err) {
		return nil
	}
	return err
}

// syncRoutes adds and takes away routes. A pattern that another Worker has is left there.
func syncRoutes(ctx context.Context, on kind.Update[liveWorker], put map[string]Route, drop []string) error {
	for _, pattern := range drop {
		if err := deleteRoute(ctx, on.Cloud, on.Live.routes[pattern]); err != nil {
			return err
		}
	}
	for _, pattern := range sortedKeys(put) {
		zone, err := zoneOf(ctx, on.Cloud, put[pattern].Zone, hostOf(pattern))
		if err != nil {
			return cloudflare.Invalid(fmt.Errorf("route %s: %w", pattern, err))
		}
		if at, routed := on.Live.routes[pattern]; routed && at.zone.ID != zone.ID {
			if err := deleteRoute(ctx, on.Cloud, at); err != nil {
				return err
			}
		}
		route := wireRoute{Pattern: pattern, Script: on.Live.name}
		err = cloudflare.Send(ctx, on.Cloud, http.MethodPost, "/zones/"+zone.ID+"/workers/routes", route, nil)
		if on.Cloud.Classify(err) == reconcile.Exists {
			err = routeTaken(ctx, on, zone.ID, pattern, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// routeTaken tells who has a pattern that is there already. Where it is the Worker itself, the answer to an earlier call
// was lost.
func routeTaken(ctx context.Context, on kind.Update[liveWorker], zone, pattern string, err error) error {
	list, look := routesOf(ctx, on.Cloud, zone)
	if look != nil {
		return look
	}
	for _, r := range list {
		if r.Pattern != pattern {
			continue
		}
		if r.Script == on.Live.name {
			return nil
		}
		if err := ours(ctx, on, "route "+pattern, r.Script); err != nil {
			return err
		}
		path := "/zones/" + zone + "/workers/routes/" + url.PathEscape(r.ID)
		return cloudflare.Send(ctx, on.Cloud, http.MethodPut, path, wireRoute{Pattern: pattern, Script: on.Live.name}, nil)
	}
	return err
}

// ours is nil when what a Worker is to have belongs to an older generation of it, which is about to go.
func ours(ctx context.Context, on kind.Update[liveWorker], what, by string) error {
	if by == "" {
		return taken(what, by)
	}
	var settings struct{ Tags []string }
	if err := cloudflare.Call(ctx, on.Cloud, target{on.Live.account, by}.request(http.MethodGet, "/settings", nil), &settings); err != nil {
		return errors.Join(taken(what, by), err)
	}
	mark := adopt.MarkOf(ownerTags(settings.Tags))
	if mark.IsZero() || !mark.SameResource(on.Owner) || mark.Generation >= on.Owner.Generation {
		return taken(what, by)
	}
	return nil
}

func deleteRoute(ctx context.Context, cloud kind.Cloud, at place) error {
	err := cloudflare.Send(ctx, cloud, http.MethodDelete, "/zones/"+at.zone.ID+"/workers/routes/"+url.PathEscape(at.id), nil, nil)
	if cloudflare.IsAbsent(err) {
		return nil
	}
	return err
}
