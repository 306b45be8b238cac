package tokens

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// tokenCalls are the operations that take the bodies below.
var tokenCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/accounts/A/tokens"},
	{Method: "PUT", Path: "/accounts/A/tokens/T"},
	{Method: "POST", Path: "/user/tokens"},
	{Method: "PUT", Path: "/user/tokens/T"},
}

// TestGolden has the part of a token that is the table's, as
// https://developers.cloudflare.com/api/resources/accounts/subresources/tokens/methods/create/
// names it.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, tokenTable, declared(obj{
		"allowFrom": list{"192.0.2.0/24"}, "denyFrom": list{"192.0.2.7"},
		"notBefore": "2026-01-01T00:00:00Z", "expiresOn": "2027-01-01T00:00:00Z",
	}), kind.Document{
		"condition":  obj{"request_ip": obj{"in": list{"192.0.2.0/24"}, "not_in": list{"192.0.2.7"}}},
		"not_before": "2026-01-01T00:00:00Z", "expires_on": "2027-01-01T00:00:00Z",
	}, tokenCalls...)
}

// TestGoldenPolicies has the policies of a token as the same page shows them, for the account and for a zone.
func TestGoldenPolicies(t *testing.T) {
	w := words{account: "a1", zones: map[string]string{"shop.example": "z1"}, groups: []group{
		{ID: "11111111111111111111111111111111", Name: "Workers Scripts Write", Scopes: []string{"com.cloudflare.api.account"}},
		{ID: "22222222222222222222222222222222", Name: "DNS Write", Scopes: []string{"com.cloudflare.api.account.zone"}},
	}}
	sent, err := body("deploy", TokenProps{Policies: []Policy{
		{Permissions: []string{"Workers Scripts Write"}},
		{Permissions: []string{"DNS Write"}, Zones: []string{"shop.example"}, Effect: new("deny")},
	}}, w)
	if err != nil {
		t.Fatal(err)
	}
	cloudflaretest.Body(t, sent, obj{"name": "deploy", "policies": list{
		obj{
			"effect": "allow", "permission_groups": list{obj{"id": "11111111111111111111111111111111"}},
			"resources": obj{"com.cloudflare.api.account.a1": "*"},
		},
		obj{
			"effect": "deny", "permission_groups": list{obj{"id": "22222222222222222222222222222222"}},
			"resources": obj{"com.cloudflare.api.account.zone.z1": "*"},
		},
	}}, tokenCalls...)
}
