package d1

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the part of a body that is the table's, as
// https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/create/
// names it.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, databaseTable, obj{"jurisdiction": "eu", "readReplication": "auto"}, kind.Document{},
		kind.Document{"jurisdiction": "eu", "read_replication": map[string]any{"mode": "auto"}})
	kindtest.Golden(t, databaseTable, obj{}, kind.Document{}, kind.Document{"read_replication": map[string]any{"mode": "disabled"}})
}
