package sqs

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// URL is the address of a queue, by which messages are sent and received.
type URL string

// QueueProps declare a queue. Defaults and limits are those of
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
type QueueProps struct {
	// Name of the queue: up to 80 letters, digits, - and _. That of a FIFO queue ends in .fifo. Default: none, a
	// name is generated. Changing it replaces the queue; SQS frees the name of a deleted queue after a minute.
	Name string
	// FIFO makes a first-in-first-out queue. Default: false. Changing it replaces the queue.
	FIFO bool
	// ContentBasedDeduplication tells messages of a FIFO queue apart by a hash of their body. Default: false.
	ContentBasedDeduplication bool
	// DeduplicationScope says within what messages of a FIFO queue are told apart. Default: queue.
	DeduplicationScope *string `prop:"enum=queue|messageGroup"`
	// FIFOThroughputLimit says what the throughput quota of a FIFO queue is counted for; perMessageGroupId needs
	// the deduplication scope messageGroup. Default: perQueue.
	FIFOThroughputLimit *string `prop:"enum=perQueue|perMessageGroupId"`
	// VisibilityTimeout is how long a received message stays hidden from other receivers, in whole seconds up to
	// 12 hours. Default: 30s.
	VisibilityTimeout *time.Duration `prop:"min=0s,max=12h"`
	// Delay is how long each new message is kept back, in whole seconds up to 15 minutes. Default: 0s.
	Delay time.Duration `prop:"min=0s,max=15m"`
	// MessageRetention is how long a message is kept, in whole seconds from a minute to 14 days. A change can take 15
	// minutes to have its effect, and a shorter time deletes messages. Default: 4d.
	MessageRetention *time.Duration `prop:"min=1m,max=14d"`
	// ReceiveWait is how long a receiver waits for a message (long polling), in whole seconds up to 20. Default: 0s.
	ReceiveWait time.Duration `prop:"min=0s,max=20s"`
	// MaximumMessageSize of a message with its attributes, from 1 KiB to 1 MiB. Default: 1MiB.
	MaximumMessageSize *props.Size `prop:"min=1KiB,max=1MiB"`
	// DeadLetter is the queue, of the same type and in the same account and region, that gets the messages which
	// were received too often. Default: none.
	DeadLetter aws.ARN
	// MaxReceives is how often a message is received before it goes to the dead-letter queue, from 1 to 1000. It
	// counts with deadLetter alone. Default: 10.
	MaxReceives *int `prop:"min=1,max=1000"`
	// RedriveAllow says which queues may name this one as their dead-letter queue. Default: all of the account
	// and region.
	RedriveAllow *RedriveAllow
	// Policy says who may use the queue: a document (see aws.Policy), or JSON text. Default: none, the account alone.
	Policy any
	// SQSManagedSSE encrypts messages at rest with keys of SQS. Not together with kmsMasterKeyId. Default: true
	// without kmsMasterKeyId, false with it.
	SQSManagedSSE *bool
	// KMSMasterKeyID is the key of KMS that encrypts messages at rest: its id, ARN or alias. Default: none.
	KMSMasterKeyID string
	// KMSDataKeyReusePeriod is how long a data key is used before KMS is asked for another, in whole seconds from a
	// minute to a day. It counts with kmsMasterKeyId alone. Default: 5m.
	KMSDataKeyReusePeriod *time.Duration `prop:"min=1m,max=24h"`
	// Tags of the queue, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// RedriveAllow says which queues may name another as their dead-letter queue.
type RedriveAllow struct {
	// Permission is whom it is given to.
	Permission string `prop:"required,enum=allowAll|denyAll|byQueue"`
	// Sources are the queues that may, for byQueue: up to 10. Default: none.
	Sources []aws.ARN
}

// Queue is what others may refer to of a queue.
type Queue struct {
	// ARN of the queue, for policies, subscriptions and dead letters.
	ARN aws.ARN
	// URL by which messages are sent and received.
	URL URL
	// Name of the queue.
	Name string
}
