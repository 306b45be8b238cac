package workflows

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the body of a Workflow as
// https://developers.cloudflare.com/api/resources/workflows/methods/update/
// names it.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, workflowTable, obj{"script": "orders", "class": "Refund", "maxSteps": int64(100), "schedules": list{"0 3 * * *"}},
		kind.Document{}, kind.Document{
			"script_name": "orders", "class_name": "Refund", "limits": obj{"steps": 100}, "schedules": list{obj{"cron": "0 3 * * *"}},
		})
}
