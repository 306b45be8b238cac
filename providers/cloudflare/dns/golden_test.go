package dns

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// recordCalls are the operations that take the bodies below.
var recordCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/zones/Z/dns_records"},
	{Method: "PUT", Path: "/zones/Z/dns_records/R"},
}

// TestGolden has the part of a record that is the table's, as
// https://developers.cloudflare.com/api/resources/dns/subresources/records/methods/create/
// names and measures it: the TTL in seconds.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, recordTable, obj{
		"zone": "shop.example", "name": "go", "type": "CNAME", "content": "target.example", "ttl": "2m", "proxied": true, "flattenCname": true,
		"ipv4Only": true, "tags": list{"team:web", "cost:42"},
	}, kind.Document{
		"type": "CNAME", "content": "target.example", "ttl": 120, "proxied": true, "tags": list{"team:web", "cost:42"},
		"settings": obj{"flatten_cname": true, "ipv4_only": true, "ipv6_only": false}, "private_routing": false,
	}, recordCalls...)
	cloudflaretest.GoldenDocument(t, recordTable, obj{
		"zone": "shop.example", "name": "_sip._tcp", "type": "SRV", "privateRouting": true, "priority": int64(10),
		"data": obj{"priority": int64(10), "weight": int64(5), "port": int64(5060), "target": "sip.shop.example"},
	}, kind.Document{
		"type": "SRV", "proxied": false, "priority": 10, "private_routing": true,
		"settings": obj{"flatten_cname": false, "ipv4_only": false, "ipv6_only": false},
		"data":     obj{"priority": 10, "weight": 5, "port": 5060, "target": "sip.shop.example"},
	}, recordCalls...)
}

// TestGoldenBody has whole records as the same page shows them: 1 is a TTL that Cloudflare chooses.
func TestGoldenBody(t *testing.T) {
	owner := kind.OwnerTag(reconcile.Mark{Stack: "shop", Stage: "test", Address: "www", Generation: 1, Store: "s"})
	for name, c := range map[string]struct{ declared, body obj }{
		"an address": {
			obj{"name": "www", "type": "A", "content": "192.0.2.1", "comment": "web", "privateRouting": true},
			obj{
				"name": "www.shop.example", "type": "A", "content": "192.0.2.1", "ttl": 1, "proxied": false, "tags": list{},
				"comment":  "web athanor:shop|test|www|1|s|false",
				"settings": obj{"ipv4_only": false, "ipv6_only": false}, "private_routing": true,
			},
		},
		"an exchange of mail": {
			obj{"name": "@", "type": "MX", "content": "mx.example", "priority": int64(10), "ttl": "1h"},
			obj{
				"name": "www.shop.example", "type": "MX", "content": "mx.example", "ttl": 3600, "proxied": false, "tags": list{}, "priority": 10,
				"comment": "athanor:shop|test|www|1|s|false",
			},
		},
	} {
		c.declared["zone"] = "shop.example"
		var p RecordProps
		if err := props.Decode(c.declared, &p); err != nil {
			t.Fatal(err)
		}
		sent, err := body(recordKind.WithDefaults(p), "www.shop.example", owner)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cloudflaretest.Body(t, sent, c.body, recordCalls...)
	}
}
