package zones

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has what can be changed of a zone, as
// https://developers.cloudflare.com/api/resources/zones/methods/edit/
// names it.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, zoneTable, obj{
		"name": "shop.example", "type": "partial", "paused": true, "vanityNameServers": list{"ns1.shop.example", "ns2.shop.example"},
	}, kind.Document{}, kind.Document{
		"type": "partial", "paused": true, "vanity_name_servers": list{"ns1.shop.example", "ns2.shop.example"},
	})
	kindtest.Golden(t, zoneTable, obj{"name": "shop.example"}, kind.Document{}, kind.Document{"type": "full", "paused": false})
}

// TestGoldenSetting has settings as
// https://developers.cloudflare.com/api/resources/zones/subresources/settings/methods/edit/
// writes them.
func TestGoldenSetting(t *testing.T) {
	cloudflaretest.Body(t, settingBody("always_use_https", "on"), obj{"value": "on"})
	cloudflaretest.Body(t, settingBody("browser_cache_ttl", int64(3600)), obj{"value": 3600})
	cloudflaretest.Body(t, settingBody("ssl_recommender", true), obj{"enabled": true})
}
