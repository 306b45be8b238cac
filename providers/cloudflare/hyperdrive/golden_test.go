package hyperdrive

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// configCalls are the operations that take the bodies below.
var configCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/accounts/A/hyperdrive/configs"},
	{Method: "PUT", Path: "/accounts/A/hyperdrive/configs/C"},
}

// TestGolden has the part of a body that is the table's, as
// https://developers.cloudflare.com/api/resources/hyperdrive/subresources/configs/methods/create/
// names and measures it: ages in seconds.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, configTable, obj{
		"origin":  origin(obj{"scheme": "mysql", "port": int64(3307)}),
		"caching": obj{"maxAge": "2m"}, "mtls": obj{"caCertificateId": "ca", "certificateId": "cert", "sslMode": "verify-full"},
	}, kind.Document{
		"origin": obj{
			"scheme": "mysql", "host": "db.example", "port": 3307, "database": "shop", "user": "app", "password": "hunter2",
		},
		"caching": obj{"disabled": false, "max_age": 120, "stale_while_revalidate": 15},
		"mtls":    obj{"ca_certificate_id": "ca", "mtls_certificate_id": "cert", "sslmode": "verify-full"},
	}, configCalls...)
	cloudflaretest.GoldenDocument(t, configTable, obj{
		"origin": origin(obj{"accessClientId": "id", "accessClientSecret": "sesame"}),
	}, kind.Document{
		"origin": obj{
			"scheme": "postgres", "host": "db.example", "database": "shop", "user": "app", "password": "hunter2",
			"access_client_id": "id", "access_client_secret": "sesame",
		},
		"caching": obj{"disabled": false, "max_age": 60, "stale_while_revalidate": 15},
	}, configCalls...)
	service := origin(obj{"service": "0190a2f0"})
	delete(service, "host")
	cloudflaretest.GoldenDocument(t, configTable, obj{"origin": service, "caching": obj{"disabled": true}}, kind.Document{
		"origin":  obj{"scheme": "postgres", "database": "shop", "user": "app", "password": "hunter2", "service_id": "0190a2f0"},
		"caching": obj{"disabled": true},
	}, configCalls...)
}
