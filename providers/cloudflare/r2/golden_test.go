package r2

import (
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// bucketCalls are the operations that take the bodies below.
var bucketCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/accounts/A/r2/buckets"},
}

// TestGolden has the part of a creation that is the table's, as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/methods/create/
// names it.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, bucketTable, obj{"storageClass": "InfrequentAccess"}, kind.Document{"storageClass": "InfrequentAccess"}, bucketCalls...)
	cloudflaretest.GoldenDocument(t, bucketTable, obj{}, kind.Document{"storageClass": "Standard"}, bucketCalls...)
}

// corsCalls are the operations that take the bodies below.
var corsCalls = []cloudflaretest.At{
	{Method: "PUT", Path: "/accounts/A/r2/buckets/B/cors", In: "rules[]"},
}

// TestGoldenCORS has rules for browsers as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/subresources/cors/methods/update/
// names and measures them: ages in seconds.
func TestGoldenCORS(t *testing.T) {
	cloudflaretest.GoldenDocument(t, corsTable, obj{
		"id": "shop", "origins": list{"https://shop.example"}, "methods": list{"GET", "PUT"}, "headers": list{"x-shop"},
		"exposeHeaders": list{"etag"}, "maxAge": "1h",
	}, kind.Document{
		"id":            "shop",
		"allowed":       obj{"origins": list{"https://shop.example"}, "methods": list{"GET", "PUT"}, "headers": list{"x-shop"}},
		"exposeHeaders": list{"etag"}, "maxAgeSeconds": 3600,
	}, corsCalls...)
}

// lifecycleCalls are the operations that take the bodies below.
var lifecycleCalls = []cloudflaretest.At{
	{Method: "PUT", Path: "/accounts/A/r2/buckets/B/lifecycle", In: "rules[]"},
}

// TestGoldenLifecycle has rules for old objects as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/subresources/lifecycle/methods/update/
// names and measures them: ages in seconds.
func TestGoldenLifecycle(t *testing.T) {
	after := func(seconds int64) obj { return obj{"type": "Age", "maxAge": seconds} }
	cloudflaretest.GoldenDocument(t, lifecycleTable, obj{"id": "logs", "prefix": "logs/", "deleteAfter": "48h", "infrequentAccessAfter": "24h"},
		kind.Document{
			"id": "logs", "enabled": true, "conditions": obj{"prefix": "logs/"}, "deleteObjectsTransition": obj{"condition": after(172800)},
			"storageClassTransitions": list{obj{"condition": after(86400), "storageClass": "InfrequentAccess"}},
		}, lifecycleCalls...)
	rules, err := writeLifecycle([]LifecycleRule{{ID: "uploads", Disabled: true, AbortUploadsAfter: new(time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	cloudflaretest.Body(t, rules, list{obj{
		"id": "uploads", "enabled": false, "conditions": obj{"prefix": ""}, "abortMultipartUploadsTransition": obj{"condition": after(60)},
	}}, cloudflaretest.At{Method: "PUT", Path: "/accounts/A/r2/buckets/B/lifecycle", In: "rules"})
}
