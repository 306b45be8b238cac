package d1

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// databaseCalls are the operations that take the bodies below.
var databaseCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/accounts/A/d1/database"},
}

// TestGolden has the part of a body that is the table's, as
// https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/create/
// names it.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, databaseTable, obj{"jurisdiction": "eu", "readReplication": "auto"},
		kind.Document{"jurisdiction": "eu", "read_replication": map[string]any{"mode": "auto"}}, databaseCalls...)
	cloudflaretest.GoldenDocument(t, databaseTable, obj{},
		kind.Document{"read_replication": map[string]any{"mode": "disabled"}}, databaseCalls...)
}
