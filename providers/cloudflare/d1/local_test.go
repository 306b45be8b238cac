package d1

import (
	"flag"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here/heretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

var localWhole = flag.Bool("here.whole", false, "check all rules for what runs in Cloudflare's runtime on this machine (minutes)")

// The variant of this machine obeys the rules that every kind does, with migrations that the runtime does.
func TestLocalDatabase(t *testing.T) {
	t.Parallel()
	heretest.Run(t, kindtest.Suite{
		Kind: Local()[0],
		World: heretest.Worlds(map[string]string{
			"migrations/0001_orders.sql": shop["0001_orders.sql"], "migrations/0002_first.sql": shop["0002_first.sql"],
		}),
		Own:  []string{"id", "name"},
		Base: obj{"name": "orders"},
		Variants: []kindtest.Variant{
			{Name: "all", Props: obj{"name": "users", "jurisdiction": "eu", "locationHint": "weur", "readReplication": "auto"}},
			{Name: "migrated", Props: obj{"name": "orders", "migrations": "migrations"}},
			{Name: "bare", Props: obj{}},
		},
	}, *localWhole)
}
