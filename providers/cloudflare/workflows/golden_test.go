package workflows

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// workflowCalls are the operations that take the bodies below.
var workflowCalls = []cloudflaretest.At{
	{Method: "PUT", Path: "/accounts/A/workflows/W"},
}

// TestGolden has the body of a Workflow as
// https://developers.cloudflare.com/api/resources/workflows/methods/update/
// names it.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, workflowTable, obj{"script": "orders", "class": "Refund", "maxSteps": int64(100), "schedules": list{"0 3 * * *"}},
		kind.Document{
			"script_name": "orders", "class_name": "Refund", "limits": obj{"steps": 100}, "schedules": list{obj{"cron": "0 3 * * *"}},
		}, workflowCalls...)
}
