package rulesets

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// TestPhases: the phases are those that Cloudflare describes.
func TestPhases(t *testing.T) {
	fields, err := rulesetKind.Erase().Spec().Props()
	if err != nil {
		t.Fatal(err)
	}
	offered := fields[slices.IndexFunc(fields, func(f props.Field) bool { return f.Path == "phase" })].Enum
	if described := cloudflaretest.Choices(t, http.MethodPost, "/zones/x/rulesets", "phase"); len(described) == 0 || !slices.Equal(offered, described) {
		t.Errorf("offered %v\nand described %v", offered, described)
	}
}

// TestActions: what each action takes is as Cloudflare describes it, and is no difference once it is there.
func TestActions(t *testing.T) {
	s := cloudflaretest.Start(t)
	s.AddZone(s.Account, "shop.example")
	kind := rulesetKind.Erase()
	for _, c := range []struct {
		phase, action string
		parameters    obj
	}{
		{"http_request_transform", "rewrite", obj{"uri": obj{"path": obj{"expression": `concat("/v2", http.request.uri.path)`}}}},
		{"http_request_late_transform", "rewrite", obj{"headers": obj{
			"x-from": obj{"operation": "set", "value": "edge"}, "x-ip": obj{"operation": "set", "expression": "ip.src"}, "x-gone": obj{"operation": "remove"},
		}}},
		{"http_response_headers_transform", "rewrite", obj{"headers": obj{"server": obj{"operation": "remove"}}}},
		{"http_request_cache_settings", "set_cache_settings", obj{
			"cache": true, "edge_ttl": obj{"mode": "override_origin", "default": int64(3600)}, "browser_ttl": obj{"mode": "respect_origin"},
			"cache_key": obj{"ignore_query_strings_order": true, "cache_deception_armor": false},
		}},
		{"http_config_settings", "set_config", obj{"ssl": "strict", "rocket_loader": false, "polish": "lossless"}},
		{"http_request_origin", "route", obj{"host_header": "origin.example", "origin": obj{"host": "origin.example", "port": int64(8443)}, "sni": obj{"value": "origin.example"}}},
		{"http_response_compression", "compress_response", obj{"algorithms": list{obj{"name": "zstd"}, obj{"name": "auto"}}}},
		{"http_custom_errors", "serve_error", obj{"content": "gone fishing", "content_type": "text/plain", "status_code": int64(503)}},
		{"http_log_custom_fields", "log_custom_field", obj{"request_fields": list{obj{"name": "x-id"}}, "cookie_fields": list{obj{"name": "session"}}}},
		{"http_request_firewall_managed", "execute", obj{"id": "efb7b8c949ac4650a09736fc376e9aee", "overrides": obj{
			"enabled": true, "categories": list{obj{"category": "wordpress", "action": "log", "enabled": false}},
		}}},
		{"http_request_firewall_custom", "block", obj{"response": obj{"status_code": int64(429), "content": "{}", "content_type": "application/json"}}},
		{"http_request_firewall_custom", "managed_challenge", nil},
		{"http_request_firewall_custom", "skip", obj{"ruleset": "current", "products": list{"waf", "bic"}}},
		{"http_request_redirect", "redirect", obj{"from_list": obj{"name": "moved", "key": "http.request.full_uri"}}},
	} {
		rule := obj{"ref": "it", "expression": "true", "action": c.action}
		if c.parameters != nil {
			rule["parameters"] = c.parameters
		}
		p := obj{"phase": c.phase, "name": strings.ReplaceAll(c.action, "_", ""), "rules": list{rule}}
		if c.phase != "http_request_redirect" { // lists are the account's
			p["zone"] = "shop.example"
		}
		s.Settled(t, kind, p, nil)
		s.Reset()
		s.Settled(t, kind, p, nil)
		if wrote := s.Wrote(); len(wrote) > 0 {
			t.Errorf("%s in %s: unchanged, and wrote %v", c.action, c.phase, wrote)
		}
	}
}
