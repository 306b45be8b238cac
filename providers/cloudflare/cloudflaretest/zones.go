package cloudflaretest

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

func noZone() *failure {
	return &failure{service: "zones", status: 404, code: 1001, message: "Invalid zone identifier"}
}

func onZone(do func(*world, request, *zone) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		if z := w.zone(r.path["zone_id"]); z != nil {
			return do(w, r, z)
		}
		return nil, noZone()
	}
}

func (w *world) addZone(account, name, kind string) *zone {
	z := &zone{account: account, id: hexID(16), name: name, plan: "free", kind: kind, vanity: []any{}, settings: map[string]any{}}
	w.zones = append(w.zones, z)
	return z
}

func createZone(w *world, r request) (any, *failure) {
	account, _ := r.body["account"].(object)
	id, _ := account["id"].(string)
	if _, reached := w.accounts[id]; !reached {
		return nil, &failure{status: 403, code: 10000, message: "Authentication error"}
	}
	name, kind := r.text("name"), r.text("type")
	for _, z := range w.zones {
		if z.name == name {
			return nil, &failure{status: 400, code: 1061, message: name + " already exists"}
		}
	}
	if strings.Count(name, ".") > 1 {
		return nil, &failure{status: 400, code: 1116, message: "Please ensure you are providing the root domain and not any subdomains"}
	}
	if kind == "" {
		kind = "full"
	}
	return w.shown(w.addZone(id, name, kind)), nil
}

// patchZone takes one change at a time.
func patchZone(w *world, r request, z *zone) (any, *failure) {
	if len(r.body) != 1 {
		w.wrong("zones.PatchZone with %d fields: https://developers.cloudflare.com/api/ has one for each call", len(r.body))
	}
	if kind := r.text("type"); kind != "" {
		z.kind = kind
	}
	if paused, ok := r.body["paused"].(bool); ok {
		z.paused = paused
	}
	if names, ok := r.body["vanity_name_servers"].([]any); ok {
		z.vanity = names
	}
	return w.shown(z), nil
}

// deleteZone takes all that is in it too.
func deleteZone(w *world, _ request, z *zone) (any, *failure) {
	w.zones = slices.DeleteFunc(w.zones, func(o *zone) bool { return o == z })
	w.records = slices.DeleteFunc(w.records, func(r *record) bool { return r.zone == z })
	w.rulesets = slices.DeleteFunc(w.rulesets, func(s *ruleset) bool { return s.of == z.id })
	return object{"id": z.id}, nil
}

// atFirst are the values of settings in a new zone, where they are not "off".
var atFirst = map[string]any{
	"browser_cache_ttl": 14400.0, "challenge_ttl": 1800.0, "edge_cache_ttl": 7200.0, "max_upload": 100.0, "proxy_read_timeout": 100.0,
	"origin_h2_max_streams": 200.0, "ciphers": []any{}, "cache_level": "aggressive", "min_tls_version": "1.0", "security_level": "medium",
	"ssl": "flexible", "tls_1_3": "on", "cname_flattening": "flatten_at_root", "origin_max_http_version": "2",
	"transformations_allowed_origins": "", "nel": object{"enabled": false}, "aegis": object{"enabled": false, "pool_id": ""},
	"security_header": object{"strict_transport_security": object{
		"enabled": false, "include_subdomains": false, "max_age": 0.0, "nosniff": false, "preload": false,
	}},
	"automatic_platform_optimization": object{
		"cache_by_device_type": false, "cf": false, "enabled": false, "hostnames": []any{}, "wordpress": false, "wp_plugin": false,
	},
	recommender: false,
}

// recommender is the setting that has no value, but a truth beside its id.
const recommender = "ssl_recommender"

func (z *zone) setting(id string) any {
	if v, changed := z.settings[id]; changed {
		return v
	}
	if v, ok := atFirst[id]; ok {
		return v
	}
	return "off"
}

func (z *zone) shownSetting(id string) object {
	if id == recommender {
		return object{"id": id, "enabled": z.setting(id)}
	}
	shown := object{"id": id, "value": z.setting(id), "modified_on": "2024-01-01T00:00:00Z"}
	if !slices.Contains([]string{"aegis", "origin_h2_max_streams", "origin_max_http_version"}, id) { // these do not tell
		shown["editable"] = z.offers(id)
	}
	return shown
}

// plans are those of zones, the smallest first.
var plans = []string{"free", "pro", "business", "enterprise"}

// offered are the smallest plans that offer a setting, where that is not the free one:
// https://developers.cloudflare.com/images/polish/, https://developers.cloudflare.com/speed/optimization/images/mirage/,
// https://developers.cloudflare.com/speed/optimization/content/prefetch-urls/, https://developers.cloudflare.com/network/true-client-ip-header/,
// https://developers.cloudflare.com/network/response-buffering/, https://developers.cloudflare.com/cache/advanced-configuration/query-string-sort/,
// https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/.
var offered = map[string]string{
	"mirage": "pro", "polish": "pro", "webp": "pro", "waf": "pro",
	"prefetch_preload": "enterprise", "true_client_ip_header": "enterprise", "response_buffering": "enterprise",
	"sort_query_string_for_cache": "enterprise", "origin_error_page_pass_thru": "enterprise",
}

// offers reports whether the plan of the zone offers a setting.
func (z *zone) offers(id string) bool {
	return slices.Index(plans, z.plan) >= slices.Index(plans, cmp.Or(offered[id], plans[0]))
}

// SetPlan gives a zone another plan than the free one: pro, business or enterprise.
func (s *Server) SetPlan(zoneID, plan string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.zone(zoneID).plan = plan
}

func getSetting(_ *world, r request, z *zone) (any, *failure) {
	return z.shownSetting(r.path["settingId"]), nil
}

// patchSetting sets a value whole, of the type that it has.
func patchSetting(w *world, r request, z *zone) (any, *failure) {
	id, field := r.path["settingId"], "value"
	if id == recommender {
		field = "enabled"
	}
	if !z.offers(id) {
		return nil, &failure{status: 400, code: 1015, message: "Not allowed to edit setting for " + id}
	}
	value, ok := r.body[field]
	if !ok || len(r.body) != 1 || reflect.TypeOf(value) != reflect.TypeOf(z.setting(id)) {
		w.wrong("setting %s is not %v", id, r.body)
		return nil, &failure{status: 400, code: 1002, message: "Invalid value for zone setting " + id}
	}
	if fields, ok := value.(object); ok {
		value = maps.Clone(fields)
	}
	z.settings[id] = value
	return z.shownSetting(id), nil
}
