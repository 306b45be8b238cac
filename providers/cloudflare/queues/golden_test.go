package queues

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the settings of a queue as
// https://developers.cloudflare.com/api/resources/queues/methods/create/
// names and measures them: times in seconds.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, queueTable, obj{"deliveryDelay": "90s", "deliveryPaused": true, "messageRetention": "14d"}, kind.Document{},
		kind.Document{"delivery_delay": 90, "delivery_paused": true, "message_retention_period": 1209600})
	kindtest.Golden(t, queueTable, obj{}, kind.Document{},
		kind.Document{"delivery_delay": 0, "delivery_paused": false, "message_retention_period": 345600})
}
