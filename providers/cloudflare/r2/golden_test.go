package r2

import (
	"reflect"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the part of a creation that is the table's, as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/methods/create/
// names it.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, bucketTable, obj{"storageClass": "InfrequentAccess"}, kind.Document{}, kind.Document{"storageClass": "InfrequentAccess"})
	kindtest.Golden(t, bucketTable, obj{}, kind.Document{}, kind.Document{"storageClass": "Standard"})
}

// TestGoldenCORS has rules for browsers as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/subresources/cors/methods/update/
// names and measures them: ages in seconds.
func TestGoldenCORS(t *testing.T) {
	rules := []CORSRule{{
		ID: "shop", Origins: []string{"https://shop.example"}, Methods: []string{"GET", "PUT"}, Headers: []string{"x-shop"},
		ExposeHeaders: []string{"etag"}, MaxAge: time.Hour,
	}}
	cloudflaretest.Body(t, writeCORS(rules), obj{"rules": list{obj{
		"id":            "shop",
		"allowed":       obj{"origins": list{"https://shop.example"}, "methods": list{"GET", "PUT"}, "headers": list{"x-shop"}},
		"exposeHeaders": list{"etag"}, "maxAgeSeconds": 3600,
	}}})
	if have := readCORS(writeCORS(rules)); !reflect.DeepEqual(have, rules) {
		t.Errorf("read back as %+v", have)
	}
}

// TestGoldenLifecycle has rules for old objects as
// https://developers.cloudflare.com/api/resources/r2/subresources/buckets/subresources/lifecycle/methods/update/
// names and measures them: ages in seconds.
func TestGoldenLifecycle(t *testing.T) {
	rules := []LifecycleRule{
		{ID: "logs", Prefix: "logs/", DeleteAfter: new(48 * time.Hour), InfrequentAccessAfter: new(24 * time.Hour)},
		{ID: "uploads", Disabled: true, AbortUploadsAfter: new(time.Minute)},
	}
	after := func(seconds int) obj { return obj{"type": "Age", "maxAge": seconds} }
	cloudflaretest.Body(t, writeLifecycle(rules), obj{"rules": list{
		obj{
			"id": "logs", "enabled": true, "conditions": obj{"prefix": "logs/"}, "deleteObjectsTransition": obj{"condition": after(172800)},
			"storageClassTransitions": list{obj{"condition": after(86400), "storageClass": "InfrequentAccess"}},
		},
		obj{
			"id": "uploads", "enabled": false, "conditions": obj{"prefix": ""},
			"abortMultipartUploadsTransition": obj{"condition": after(60)},
		},
	}})
	if have := readLifecycle(writeLifecycle(rules)); !reflect.DeepEqual(have, rules) {
		t.Errorf("read back as %+v", have)
	}
}
