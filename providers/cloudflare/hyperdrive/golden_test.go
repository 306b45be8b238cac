package hyperdrive

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the part of a body that is the table's, as
// https://developers.cloudflare.com/api/resources/hyperdrive/subresources/configs/methods/create/
// names and measures it: ages in seconds.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, configTable, obj{
		"origin":  origin(obj{"scheme": "mysql", "port": int64(3307), "accessClientId": "id", "accessClientSecret": "sesame"}),
		"caching": obj{"maxAge": "2m"}, "mtls": obj{"caCertificateId": "ca", "certificateId": "cert", "sslMode": "verify-full"},
	}, kind.Document{}, kind.Document{
		"origin": obj{
			"scheme": "mysql", "host": "db.example", "port": 3307, "database": "shop", "user": "app", "password": "hunter2",
			"access_client_id": "id", "access_client_secret": "sesame",
		},
		"caching": obj{"disabled": false, "max_age": 120, "stale_while_revalidate": 15},
		"mtls":    obj{"ca_certificate_id": "ca", "mtls_certificate_id": "cert", "sslmode": "verify-full"},
	})
}
