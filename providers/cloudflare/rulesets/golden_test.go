package rulesets

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ruleCalls are the operations that take the bodies below.
var ruleCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/zones/Z/rulesets/S/rules"},
	{Method: "PUT", Path: "/zones/Z/rulesets/S", In: "rules[]"},
}

// TestGolden has the part of a rule that is the table's, as
// https://developers.cloudflare.com/api/resources/rulesets/subresources/rules/methods/create/
// names and measures it: periods in seconds.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, ruleTable, obj{
		"ref": "login", "expression": `http.request.uri.path eq "/login"`, "action": "block", "description": "slowly", "enabled": false,
		"logging": true, "rateLimit": obj{
			"characteristics": list{"ip.src", "cf.colo.id"}, "period": "1m", "requests": int64(10), "mitigation": "10m",
			"counting": "http.response.code eq 403", "originOnly": true,
		},
	}, kind.Document{
		"expression": `http.request.uri.path eq "/login"`, "action": "block", "description": "slowly", "enabled": false,
		"logging": obj{"enabled": true}, "ratelimit": obj{
			"characteristics": list{"ip.src", "cf.colo.id"}, "period": 60, "requests_per_period": 10, "mitigation_timeout": 600,
			"counting_expression": "http.response.code eq 403", "requests_to_origin": true,
		},
	}, ruleCalls...)
	cloudflaretest.GoldenDocument(t, ruleTable, obj{
		"ref": "score", "expression": "true", "action": "block", "rateLimit": obj{
			"characteristics": list{"ip.src"}, "period": "1m", "score": int64(100), "scoreHeader": "x-score",
		},
		"exposedCredentialCheck": obj{"username": "u", "password": "p"},
	}, kind.Document{
		"expression": "true", "action": "block", "enabled": true, "ratelimit": obj{
			"characteristics": list{"ip.src"}, "period": 60, "score_per_period": 100, "score_response_header_name": "x-score",
			"mitigation_timeout": 0, "requests_to_origin": false,
		},
		"exposed_credential_check": obj{"username_expression": "u", "password_expression": "p"},
	}, ruleCalls...)
	cloudflaretest.GoldenDocument(t, ruleTable, redirect("www", "www.shop.example", "https://shop.example"), kind.Document{
		"expression": `http.host eq "www.shop.example"`, "action": "redirect", "enabled": true,
		"action_parameters": obj{"from_value": obj{"target_url": obj{"value": "https://shop.example"}}},
	}, ruleCalls...)
}
