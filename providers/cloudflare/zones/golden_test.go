package zones

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// zoneCalls are the operations that take the bodies below.
var zoneCalls = []cloudflaretest.At{
	{Method: "PATCH", Path: "/zones/Z"},
}

// TestGolden has what can be changed of a zone, as
// https://developers.cloudflare.com/api/resources/zones/methods/edit/
// names it.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, zoneTable, obj{
		"name": "shop.example", "type": "partial", "paused": true, "vanityNameServers": list{"ns1.shop.example", "ns2.shop.example"},
	}, kind.Document{
		"type": "partial", "paused": true, "vanity_name_servers": list{"ns1.shop.example", "ns2.shop.example"},
	}, zoneCalls...)
	cloudflaretest.GoldenDocument(t, zoneTable, obj{"name": "shop.example"}, kind.Document{"type": "full", "paused": false}, zoneCalls...)
}

// settingCalls are the operations that change a setting.
var settingCalls = []cloudflaretest.At{{Method: "PATCH", Path: "/zones/Z/settings/S"}}

// TestGoldenSetting has settings as
// https://developers.cloudflare.com/api/resources/zones/subresources/settings/methods/edit/
// writes them.
func TestGoldenSetting(t *testing.T) {
	cloudflaretest.Body(t, settingBody("always_use_https", "on"), obj{"value": "on"}, settingCalls...)
	cloudflaretest.Body(t, settingBody("browser_cache_ttl", int64(3600)), obj{"value": 3600}, settingCalls...)
	cloudflaretest.Body(t, settingBody("ssl_recommender", true), obj{"enabled": true}, settingCalls...)
}
