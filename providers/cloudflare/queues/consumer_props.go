package queues

import (
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// ConsumerProps declare a consumer of a queue. A queue has at most one of each type. Defaults and limits are those of
// https://developers.cloudflare.com/queues/configuration/configure-queues/
type ConsumerProps struct {
	// Queue that is consumed.
	Queue ID `prop:"required,immutable" wire:"-"`
	// Type is who gets the messages: a Worker, or a client that asks over HTTP.
	Type *string `prop:"enum=worker|http_pull,default=worker,immutable" wire:"type"`
	// Script is the name of the Worker that gets the messages. Default: none, for http_pull.
	Script cloudflare.WorkerName `prop:"immutable" wire:"script_name"`
	// DeadLetter is the name of the queue for messages that were tried too often. Default: none, they are deleted.
	DeadLetter Name `wire:"dead_letter_queue"`
	// BatchSize is the greatest number of messages that are handed out at once.
	BatchSize *int `prop:"min=1,max=100,default=10" wire:"settings.batch_size"`
	// MaxRetries is how often a message is tried again.
	MaxRetries *int `prop:"min=0,max=100,default=3" wire:"settings.max_retries"`
	// RetryDelay is how long a message that is to be tried again is kept back, in whole seconds.
	RetryDelay time.Duration `prop:"min=0s,max=24h,default=0s" wire:"settings.retry_delay"`
	// MaxConcurrency is the greatest number of Workers at work at once. Default: none, as many as it takes.
	MaxConcurrency *int `prop:"min=1,max=250" wire:"settings.max_concurrency"`
	// MaxWait is how long a batch waits to be full, in whole milliseconds; for Workers. Default: 5s.
	MaxWait *time.Duration `prop:"min=0s,max=60s,unit=1ms" wire:"settings.max_wait_time_ms"`
	// VisibilityTimeout is how long a message that was handed out is kept from others, in whole milliseconds; for
	// http_pull. Default: 30s.
	VisibilityTimeout *time.Duration `prop:"min=0s,max=12h,unit=1ms" wire:"settings.visibility_timeout_ms"`
}

// Consumer is what others may refer to of a consumer.
type Consumer struct {
	// ID of the consumer in its queue.
	ID string `attr:"early"`
	// Queue that is consumed.
	Queue ID `attr:"early"`
}
