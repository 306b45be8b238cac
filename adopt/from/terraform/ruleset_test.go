package terraform

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// TestRulesets maps rulesets of versions 4 and 5 of the provider of Cloudflare: each rule names the one that becomes it. No provider wrote the
// states: the attributes of version 4 are those of its schema in internal/framework/service/rulesets, those of version 5 of its documentation.
func TestRulesets(t *testing.T) {
	state := `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` + strings.Join([]string{
		managed("cloudflare_zone", "shop", `{"id": "0123456789abcdef0123456789abcd01", "zone": "shop.example"}`),
		managed("cloudflare_ruleset", "redirects", `{"id": "0123456789abcdef0123456789abcdef", "zone_id": "0123456789abcdef0123456789abcd01", "account_id": null, "name": "default", "description": "",
			"kind": "zone", "phase": "http_request_dynamic_redirect", "version": "3", "last_updated": "2026-01-01T00:00:00Z", "rules": [
			{"id": "0123456789abcdef0123456789abcd11", "ref": "0123456789abcdef0123456789abcd11", "version": "1", "action": "redirect", "description": "Old site", "enabled": true,
			 "expression": "http.host eq \"old.shop.example\"", "logging": null, "ratelimit": null, "exposed_credential_check": null,
			 "action_parameters": {"from_value": {"status_code": 301, "preserve_query_string": true, "target_url": {"value": "https://shop.example", "expression": null}}, "headers": null, "rules": null}},
			{"id": "0123456789abcdef0123456789abcd12", "ref": "My-Rule 2", "action": "redirect", "description": "Old site", "enabled": false, "expression": "true",
			 "action_parameters": {"from_value": {"target_url": {"expression": "concat(\"https://\", http.host)"}}}}]}`),
		managed("cloudflare_ruleset", "firewall", `{"id": "0123456789abcdef0123456789abcdee", "zone_id": "0123456789abcdef0123456789abcd01", "account_id": "", "name": "default", "kind": "zone",
			"phase": "http_request_firewall_custom", "rules": [
			{"id": "0123456789abcdef0123456789abcd21", "ref": "0123456789abcdef0123456789abcd21", "action": "skip", "expression": "ip.src eq 192.0.2.1", "description": "", "enabled": true,
			 "logging": [{"enabled": false}], "action_parameters": [{"ruleset": "current", "phases": ["http_ratelimit"], "rules": {"0123456789abcdef0123456789abcd31": "a1,b2"}}], "ratelimit": []},
			{"id": "0123456789abcdef0123456789abcd22", "ref": "0123456789abcdef0123456789abcd22", "action": "block", "expression": "true", "description": "", "enabled": true,
			 "exposed_credential_check": [{"username_expression": "u", "password_expression": "p"}]}]}`),
		managed("cloudflare_ruleset", "headers", `{"id": "0123456789abcdef0123456789abcdec", "zone_id": null, "account_id": "0123456789abcdef0123456789abcde1", "name": "default", "kind": "root",
			"phase": "http_request_late_transform", "rules": [{"id": "0123456789abcdef0123456789abcd41", "ref": "x_1", "action": "rewrite", "expression": "true", "enabled": true,
			 "action_parameters": [{"headers": [{"name": "x-shop", "operation": "set", "value": "yes", "expression": null}], "uri": [{"path": [{"value": "/a"}], "query": []}]}]},
			 {"id": "0123456789abcdef0123456789abcd42", "ref": "x_2", "action": "log_custom_field", "expression": "true", "enabled": true, "action_parameters": [{"cookie_fields": ["a", "b"], "request_fields": [{"name": "c"}]}]}]}`),
		managed("cloudflare_ruleset", "limits", `{"id": "0123456789abcdef0123456789abcded", "zone_id": "0123456789abcdef0123456789abcd01", "name": "default", "kind": "zone", "phase": "http_ratelimit", "rules": [
			{"id": "0123456789abcdef0123456789abcd51", "ref": "0123456789abcdef0123456789abcd51", "action": "block", "expression": "true", "enabled": true, "ratelimit": {"characteristics": ["ip.src", "cf.colo.id"],
			 "period": 60, "requests_per_period": 10, "mitigation_timeout": 600, "counting_expression": "", "requests_to_origin": true, "score_per_period": null}}]}`),
		managed("cloudflare_ruleset", "custom", `{"id": "0123456789abcdef0123456789abcdea", "account_id": "0123456789abcdef0123456789abcde1", "name": "mine", "kind": "custom", "phase": "http_request_firewall_custom", "rules": [{"id": "r"}]}`),
		managed("cloudflare_ruleset", "empty", `{"id": "0123456789abcdef0123456789abcdeb", "zone_id": "0123456789abcdef0123456789abcd01", "name": "default", "kind": "zone", "phase": "http_request_origin", "rules": []}`),
		managed("cloudflare_zero_trust_access_service_token", "ci", `{"id": "0123456789abcdef0123456789abcdf1", "account_id": "0123456789abcdef0123456789abcde1", "zone_id": null, "name": "ci", "duration": "8760h",
			"client_id": "0123456789abcdef.access", "client_secret": "token-very-secret-7", "expires_at": "2027-01-01T00:00:00Z"}`),
		managed("cloudflare_access_service_token", "imported", `{"id": "0123456789abcdef0123456789abcdf2", "account_id": "0123456789abcdef0123456789abcde1", "name": "other", "client_id": "x", "client_secret": null}`),
		managed("cloudflare_zero_trust_access_short_lived_certificate", "ssh", `{"id": "0123456789abcdef0123456789abcdf3", "app_id": "0123456789abcdef0123456789abcdf4", "account_id": "0123456789abcdef0123456789abcde1",
			"aud": "a", "public_key": "ecdsa-sha2-nistp256 AAAA"}`),
		managed("cloudflare_access_ca_certificate", "old", `{"id": "0123456789abcdef0123456789abcdf5", "application_id": "0123456789abcdef0123456789abcdf6", "zone_id": "0123456789abcdef0123456789abcd01"}`),
		managed("cloudflare_api_token", "deploy", `{"id": "0123456789abcdef0123456789abcdf7", "name": "deploy", "value": "api-very-secret-8", "status": "active", "condition": null, "expires_on": null,
			"policies": [{"id": "p", "effect": "allow", "permission_groups": [{"id": "00000000000000000000000000000001", "meta": null}], "resources": "{\"com.cloudflare.api.account.a\":\"*\"}"}]}`),
		managed("cloudflare_api_token", "old", `{"id": "0123456789abcdef0123456789abcdf8", "name": "old", "value": "api-very-secret-9", "status": "disabled", "not_before": "2026-01-01T00:00:00Z",
			"policy": [{"effect": "deny", "permission_groups": ["00000000000000000000000000000003"], "resources": {"com.cloudflare.api.account.zone.z": "*"}}],
			"condition": [{"request_ip": [{"in": ["192.0.2.0/24"], "not_in": ["192.0.2.7"]}]}]}`),
		managed("cloudflare_account_token", "ci", `{"id": "0123456789abcdef0123456789abcdf9", "account_id": "0123456789abcdef0123456789abcde1", "name": "ci", "value": "api-very-secret-10",
			"policies": [{"effect": "allow", "permission_groups": [{"id": "00000000000000000000000000000001"}], "resources": "{\"com.cloudflare.api.account.a\":\"*\"}"}]}`),
		managed("cloudflare_api_token", "imported", `{"id": "0123456789abcdef0123456789abcdfa", "name": "imported", "value": null}`),
	}, ",") + `]}`
	s, text := stackOf(t, "shop.tfstate", []byte(state), from.Options{Name: "shop"})
	for _, want := range []string{
		"adopt: 0123456789abcdef0123456789abcd01/http_request_dynamic_redirect/redirects", "name: redirects", "zone: ${shop.id}", "adopt: 0123456789abcdef0123456789abcd11", "ref: old_site\n", "ref: my_rule_2\n",
		"preserve_query_string: true", "value: https://shop.example", "enabled: false", "logging: false", "- a1\n", "- http_ratelimit", "password: p", "ref: skip\n", "ref: block\n",
		"adopt: account/http_request_late_transform/headers", "x-shop:\n", "operation: set", "path:\n", "- name: a\n", "- name: c\n",
		"period: 1m", "requests: 10", "mitigation: 10m", "originOnly: true", "- cf.colo.id", "client_secret: ${secret.", "kind: cloudflare.zerotrust.AccessServiceToken",
		"adopt: 0123456789abcdef0123456789abcdf4", "app_id: 0123456789abcdef0123456789abcdf6", "kind: cloudflare.zerotrust.AccessApplicationCA",
		"kind: cloudflare.UserToken", "kind: cloudflare.APIToken", "value: ${secret.", "com.cloudflare.api.account.a: '*'", "effect: deny", "disabled: true", "- 192.0.2.7", "notBefore: \"2026-01-01T00:00:00Z\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, not := range []string{"null", "very-secret", "version:", "headers: []", "query:"} {
		if strings.Contains(text, not) {
			t.Errorf("there is %q", not)
		}
	}
	unmapped := map[string]string{"cloudflare_ruleset.custom": "is run by rules of a phase", "cloudflare_ruleset.empty": "it has no rules", "cloudflare_access_service_token.imported": "is shown once", "cloudflare_api_token.imported": "is shown once"}
	for _, e := range s.Entries {
		if why := unmapped[e.Source]; (e.Outcome == from.Unmapped) != (why != "") || !strings.Contains(e.Text, why) {
			t.Errorf("%s: %s: %s", e.Source, e.Outcome, e.Text)
		}
	}
	if len(s.Entries) != 15 {
		t.Errorf("%d entries", len(s.Entries))
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestReferencesOfRules makes a reference of each rule that the kind takes, and none twice.
func TestReferencesOfRules(t *testing.T) {
	var taken []string
	for n, r := range []values{
		{"id": "1", "ref": "1", "description": "Block bad bots!"},
		{"id": "2", "ref": "2", "description": "Block bad bots"},
		{"id": "3", "ref": "Given", "description": "x"},
		{"id": "4", "ref": "4", "action": "block"},
		{"id": "5", "ref": "5", "action": "block"},
		{"id": "6", "ref": "6", "description": "ööö"},
		{"id": "7", "ref": "7", "description": strings.Repeat("long words ", 9)},
		{"id": "8", "ref": "8", "description": strings.Repeat("long words ", 9)},
	} {
		taken = append(taken, ruleRef(r, n+1, taken))
	}
	want := "block_bad_bots block_bad_bots_2 given block block_5 6 long_words_long_words_long_words long_words_long_words_long_8"
	if have := strings.Join(taken, " "); have != want {
		t.Errorf("references are %s", have)
	}
}
