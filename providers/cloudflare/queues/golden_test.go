package queues

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// queueCalls are the operations that take the bodies below.
var queueCalls = []cloudflaretest.At{
	{Method: "PATCH", Path: "/accounts/A/queues/Q", In: "settings"},
}

// TestGolden has the settings of a queue as
// https://developers.cloudflare.com/api/resources/queues/methods/create/
// names and measures them: times in seconds.
func TestGolden(t *testing.T) {
	cloudflaretest.GoldenDocument(t, queueTable, obj{"deliveryDelay": "90s", "deliveryPaused": true, "messageRetention": "14d"},
		kind.Document{"delivery_delay": 90, "delivery_paused": true, "message_retention_period": 1209600}, queueCalls...)
	cloudflaretest.GoldenDocument(t, queueTable, obj{},
		kind.Document{"delivery_delay": 0, "delivery_paused": false, "message_retention_period": 345600}, queueCalls...)
}

// consumerCalls are the operations that take the bodies below.
var consumerCalls = []cloudflaretest.At{
	{Method: "POST", Path: "/accounts/A/queues/Q/consumers"},
	{Method: "PUT", Path: "/accounts/A/queues/Q/consumers/C"},
}

// TestGoldenConsumer has consumers as
// https://developers.cloudflare.com/api/resources/queues/subresources/consumers/methods/create/
// names and measures them: delays in seconds, waits in milliseconds.
func TestGoldenConsumer(t *testing.T) {
	cloudflaretest.GoldenDocument(t, consumerTable, obj{
		"queue": jobs, "script": "worker", "deadLetter": "mails", "batchSize": int64(100), "maxRetries": int64(0), "retryDelay": "30s",
		"maxConcurrency": int64(2), "maxWait": "1500ms",
	}, kind.Document{
		"type": "worker", "script_name": "worker", "dead_letter_queue": "mails",
		"settings": obj{"batch_size": 100, "max_retries": 0, "retry_delay": 30, "max_concurrency": 2, "max_wait_time_ms": 1500},
	}, consumerCalls...)
	cloudflaretest.GoldenDocument(t, consumerTable, obj{"queue": jobs, "type": "http_pull", "visibilityTimeout": "1m"}, kind.Document{
		"type": "http_pull", "settings": obj{"batch_size": 10, "max_retries": 3, "retry_delay": 0, "visibility_timeout_ms": 60000},
	}, consumerCalls...)
}
