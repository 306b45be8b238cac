package cloudflaretest

import (
	"slices"
	"strings"
)

// hostname is a custom domain of a Worker.
type hostname struct {
	account, id, name, worker string
	zone                      *zone
}

// route is a pattern of a zone whose requests go to a Worker, or to none.
type route struct {
	zone        *zone
	id, pattern string
	script      any // a name, or nil
}

var triggerHandlers = map[string]handler{
	"workers.GetScriptSchedule":     onWorker(func(_ *world, _ request, k *worker) (any, *failure) { return object{"schedules": k.schedules}, nil }),
	"workers.PutScriptSchedule":     onWorker(putSchedules),
	"workers.GetSubdomain":          getSubdomain,
	"workers.PutSubdomain":          putSubdomain,
	"workers.GetScriptSubdomain":    onWorker(func(_ *world, _ request, k *worker) (any, *failure) { return k.subdomain(), nil }),
	"workers.CreateScriptSubdomain": onWorker(setSubdomain),
	"workers.DeleteScriptSubdomain": onWorker(deleteSubdomain),
	"workers.ListDomains":           listHostnames,
	"workers.PutDomain":             putHostname,
	"workers.GetDomain":             onHostname(func(_ *world, h *hostname) (any, *failure) { return h.shown(), nil }),
	"workers.DeleteDomain":          onHostname(deleteHostname),
	"workers.PutDomainRecords":      onWorker(putHostnames),
	"workers.ListRoutes":            inZone(listRoutes),
	"workers.CreateRoute":           inZone(createRoute),
	"workers.GetRoute":              onRoute(func(_ *world, _ request, t *route) (any, *failure) { return t.shown(), nil }),
	"workers.UpdateRoute":           onRoute(updateRoute),
	"workers.DeleteRoute":           onRoute(deleteRoute),
	"workers.PutScriptRoutes":       onWorker(putRoutes),
}

func putSchedules(w *world, r request, k *worker) (any, *failure) {
	made := w.now()
	list, _ := r.body["body"].([]any)
	k.schedules = []any{}
	for _, one := range list {
		cron, _ := one.(object)["cron"].(string)
		if n := len(strings.Fields(cron)); n != 5 {
			w.wrong("a schedule of %d fields: %q", n, cron)
		}
		k.schedules = append(k.schedules, object{"cron": cron, "created_on": made, "modified_on": made})
	}
	return object{"schedules": k.schedules}, nil
}

func getSubdomain(w *world, r request) (any, *failure) {
	if name := w.subdomains[r.account]; name != "" {
		return object{"subdomain": name}, nil
	}
	return nil, &failure{status: 404, code: 10007, message: "There is no workers.dev subdomain on your account."}
}

func putSubdomain(w *world, r request) (any, *failure) {
	if w.subdomains[r.account] != "" {
		return nil, &failure{status: 409, code: 10036, message: "Account already has an associated subdomain."}
	}
	w.subdomains[r.account] = r.text("subdomain")
	return object{"subdomain": r.text("subdomain")}, nil
}

func (k *worker) subdomain() object {
	return object{"enabled": k.enabled, "previews_enabled": k.previews}
}

// setSubdomain sets both; previews follow what is enabled where they are not sent.
func setSubdomain(_ *world, r request, k *worker) (any, *failure) {
	k.enabled, _ = r.body["enabled"].(bool)
	var sent bool
	if k.previews, sent = r.body["previews_enabled"].(bool); !sent {
		k.previews = k.enabled
	}
	return k.subdomain(), nil
}

func deleteSubdomain(_ *world, _ request, k *worker) (any, *failure) {
	k.enabled, k.previews = false, false
	return k.subdomain(), nil
}

func (h *hostname) shown() object {
	return object{
		"id": h.id, "cert_id": uuid(), "environment": "production", "hostname": h.name, "service": h.worker,
		"zone_id": h.zone.id, "zone_name": h.zone.name,
	}
}

func listHostnames(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, h := range w.hostnames {
		if h.account == r.account && asked(r, map[string]string{"hostname": h.name, "service": h.worker, "zone_id": h.zone.id, "zone_name": h.zone.name}) {
			all[h.name] = h.shown()
		}
	}
	return sorted(all), nil
}

// asked reports what fits a query: each of its fields that is set.
func asked(r request, have map[string]string) bool {
	for name, value := range have {
		if want := r.query.Get(name); want != "" && want != value {
			return false
		}
	}
	return true
}

func putHostname(w *world, r request) (any, *failure) {
	k := w.worker(r.account, r.text("service"))
	if k == nil {
		return nil, noWorker()
	}
	h, f := w.attach(k, r.text("hostname"), r.text("zone_id"), r.text("zone_name"), false)
	if f != nil {
		return nil, f
	}
	return h.shown(), nil
}

// attach makes a name lead to a Worker. Nothing else answers there: a domain of another Worker, or a
// DNS record, is in the way, unless it may be taken over.
func (w *world) attach(k *worker, name, zoneID, zoneName string, over bool) (*hostname, *failure) {
	z := w.zoneAbove(k.account, name)
	if z == nil || zoneID != "" && z.id != zoneID || zoneName != "" && z.name != zoneName {
		return nil, notFound("/workers/domains of " + name)
	}
	for _, h := range w.hostnames {
		if h.name != name {
			continue
		}
		if h.worker != k.name && !over {
			return nil, &failure{status: 409, code: 100116, message: "Hostname '" + name + "' is already in use by Worker '" + h.worker + "'"}
		}
		h.worker = k.name
		return h, nil
	}
	for _, record := range w.records {
		addresses := slices.Contains([]string{"A", "AAAA", "CNAME"}, record.text("type"))
		if record.zone == z && record.text("name") == name && addresses && !over {
			return nil, &failure{status: 409, code: 100117, message: "Hostname '" + name + "' already has externally managed DNS records (A, CNAME, etc). Delete them first or try a different hostname."}
		}
	}
	h := &hostname{account: k.account, id: hexID(16), name: name, worker: k.name, zone: z}
	w.hostnames = append(w.hostnames, h)
	return h, nil
}

// zoneAbove is the zone of an account that a name is in.
func (w *world) zoneAbove(account, name string) *zone {
	for _, z := range w.zones {
		if z.account == account && (name == z.name || strings.HasSuffix(name, "."+z.name)) {
			return z
		}
	}
	return nil
}

func onHostname(do func(*world, *hostname) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, h := range w.hostnames {
			if h.account == r.account && h.id == r.path["domainId"] {
				return do(w, h)
			}
		}
		return nil, &failure{status: 404, code: 100114, message: "The domain does not exist."}
	}
}

func deleteHostname(w *world, h *hostname) (any, *failure) {
	w.hostnames = slices.DeleteFunc(w.hostnames, func(o *hostname) bool { return o == h })
	return whole{"success": true, "errors": []any{}, "messages": []any{}}, nil
}

// putHostnames attaches several, as wrangler does.
func putHostnames(w *world, r request, k *worker) (any, *failure) {
	over, _ := r.body["override_existing_origin"].(bool)
	list, _ := r.body["origins"].([]any)
	for _, one := range list {
		text := func(name string) string { s, _ := one.(object)[name].(string); return s }
		if _, f := w.attach(k, text("hostname"), text("zone_id"), text("zone_name"), over); f != nil {
			return nil, f
		}
	}
	return nil, nil
}

func (t *route) shown() object {
	o := object{"id": t.id, "pattern": t.pattern}
	if t.script != nil {
		o["script"] = t.script
	}
	return o
}

func listRoutes(w *world, _ request, z *zone) (any, *failure) {
	all := map[string]any{}
	for _, t := range w.routes {
		if t.zone == z {
			all[t.pattern] = t.shown()
		}
	}
	return sorted(all), nil
}

// routed checks a route before it is written: mine is nil for a new one.
func (w *world) routed(z *zone, mine *route, pattern string, script any) *failure {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pattern, "https://"), "http://"), "/")
	host = strings.TrimPrefix(strings.TrimPrefix(host, "*."), "*")
	if host != z.name && !strings.HasSuffix(host, "."+z.name) {
		return &failure{status: 400, code: 10022, message: "Invalid route pattern: " + pattern + " is not of the zone " + z.name}
	}
	for _, t := range w.routes {
		if t != mine && t.zone == z && t.pattern == pattern {
			return &failure{status: 409, code: 10020, message: "A route with the same pattern already exists."}
		}
	}
	if name, named := script.(string); named && name != "" && w.worker(z.account, name) == nil {
		return &failure{status: 400, code: 10019, message: "workers.api.error.script_not_found"}
	}
	return nil
}

// scriptOf is the Worker of a route, nil for none.
func scriptOf(r request) any {
	if name := r.text("script"); name != "" {
		return name
	}
	return nil
}

func createRoute(w *world, r request, z *zone) (any, *failure) {
	if f := w.routed(z, nil, r.text("pattern"), scriptOf(r)); f != nil {
		return nil, f
	}
	t := &route{zone: z, id: hexID(16), pattern: r.text("pattern"), script: scriptOf(r)}
	w.routes = append(w.routes, t)
	return t.shown(), nil
}

func onRoute(do func(*world, request, *route) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, t := range w.routes {
			if t.zone.id == r.path["zone_id"] && t.id == r.path["routeId"] {
				return do(w, r, t)
			}
		}
		return nil, &failure{status: 404, code: 10009, message: "The route does not exist."}
	}
}

func updateRoute(w *world, r request, t *route) (any, *failure) {
	if f := w.routed(t.zone, t, r.text("pattern"), scriptOf(r)); f != nil {
		return nil, f
	}
	t.pattern, t.script = r.text("pattern"), scriptOf(r)
	return t.shown(), nil
}

func deleteRoute(w *world, _ request, t *route) (any, *failure) {
	w.routes = slices.DeleteFunc(w.routes, func(o *route) bool { return o == t })
	return object{"id": t.id}, nil
}

// putRoutes sets all routes of a Worker, as wrangler does.
func putRoutes(w *world, r request, k *worker) (any, *failure) {
	list, _ := r.body["body"].([]any)
	var wanted []*route
	for _, one := range list {
		pattern, _ := one.(object)["pattern"].(string)
		host, _, _ := strings.Cut(strings.TrimPrefix(pattern, "*."), "/")
		z := w.zoneAbove(k.account, host)
		if z == nil {
			return nil, &failure{status: 400, code: 10022, message: "Invalid route pattern: " + pattern}
		}
		wanted = append(wanted, &route{zone: z, id: hexID(16), pattern: pattern, script: k.name})
	}
	w.routes = slices.DeleteFunc(w.routes, func(t *route) bool { return t.script == k.name && t.zone.account == k.account })
	for _, t := range wanted {
		if f := w.routed(t.zone, nil, t.pattern, k.name); f != nil {
			return nil, f
		}
		w.routes = append(w.routes, t)
	}
	return list, nil
}
