package queues

import (
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// ConsumerProps declare a consumer of a queue. A queue has at most one of each type. Defaults and limits are those of
// https://developers.cloudflare.com/queues/configuration/configure-queues/
type ConsumerProps struct {
	// Queue that is consumed. Changing it replaces the consumer.
	Queue ID `prop:"required"`
	// Type is who gets the messages: a Worker, or whoever asks over HTTP. Default: worker. Changing it replaces the
	// consumer.
	Type *string `prop:"enum=worker|http_pull"`
	// Script is the name of the Worker that gets the messages. Default: none, for http_pull. Changing it replaces the
	// consumer.
	Script cloudflare.WorkerName
	// DeadLetter is the name of the queue for messages that were tried too often. Default: none, they are deleted.
	DeadLetter Name
	// BatchSize is the greatest number of messages that are handed out at once. Default: 10.
	BatchSize *int `prop:"min=1,max=100"`
	// MaxRetries is how often a message is tried again. Default: 3.
	MaxRetries *int `prop:"min=0,max=100"`
	// RetryDelay is how long a message that is to be tried again is kept back, in whole seconds. Default: 0s.
	RetryDelay time.Duration `prop:"min=0s,max=24h"`
	// MaxConcurrency is the greatest number of Workers at work at once. Default: none, as many as it takes.
	MaxConcurrency *int `prop:"min=1,max=250"`
	// MaxWait is how long a batch waits to be full, in whole milliseconds; for Workers. Default: 5s.
	MaxWait *time.Duration `prop:"min=0s,max=60s"`
	// VisibilityTimeout is how long a message that was handed out is kept from others, in whole milliseconds; for
	// http_pull. Default: 30s.
	VisibilityTimeout *time.Duration `prop:"min=0s,max=12h"`
}

// Consumer is what others may refer to of a consumer.
type Consumer struct {
	// ID of the consumer in its queue.
	ID string
	// Queue that is consumed.
	Queue ID
}
