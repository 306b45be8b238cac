package queues

import "time"

type (
	// ID is the identity of a queue, by which it has consumers.
	ID string
	// Name is that of a queue, by which Workers are bound to it and dead letters reach it.
	Name string
)

// QueueProps declare a queue. Limits are those of
// https://developers.cloudflare.com/queues/platform/limits/
type QueueProps struct {
	// Name of the queue: up to 63 lower-case letters, digits and -, with neither end a -. Default: none, a name is
	// generated. Changing it replaces the queue.
	Name string
	// DeliveryDelay is how long each new message is kept back, in whole seconds up to a day. Default: 0s.
	DeliveryDelay time.Duration `prop:"min=0s,max=24h"`
	// DeliveryPaused keeps messages from consumers. Default: false.
	DeliveryPaused bool
	// MessageRetention is how long a message is kept, in whole seconds from a minute to 14 days. A shorter time
	// deletes messages. Default: 4d.
	MessageRetention *time.Duration `prop:"min=1m,max=14d"`
}

// Queue is what others may refer to of a queue.
type Queue struct {
	// ID of the queue, for consumers.
	ID ID
	// Name of the queue, for Workers that send to it and for dead letters.
	Name Name
}
