package sns

import (
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// TopicProps declare a topic. Defaults and limits are those of
// https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
type TopicProps struct {
	// Name of the topic: up to 256 letters, digits, - and _. That of a FIFO topic ends in .fifo. Default: none, a
	// name is generated. Changing it replaces the topic.
	Name string
	// FIFO makes a first-in-first-out topic. Default: false. Changing it replaces the topic.
	FIFO bool
	// ContentBasedDeduplication tells messages of a FIFO topic apart by a hash of their body. Default: false.
	ContentBasedDeduplication bool
	// FIFOThroughputScope says within what messages of a FIFO topic are told apart, and so how many of them it
	// takes. Default: Topic.
	FIFOThroughputScope *string `prop:"enum=Topic|MessageGroup"`
	// DisplayName is the sender's name in mails and text messages: up to 100 characters. Default: none.
	DisplayName string
	// Policy says who may use the topic: a document (see aws.Policy), or JSON text. Default: the one that SNS gives
	// a new topic, which lets the account of the topic alone use it.
	Policy any
	// DeliveryPolicy says how deliveries over HTTP are repeated: a document, or JSON text. Default: none, SNS's own.
	DeliveryPolicy any
	// KMSMasterKeyID is the key of KMS that encrypts messages at rest: its id, ARN or alias. Default: none,
	// messages are not encrypted at rest with a key of yours.
	KMSMasterKeyID string
	// SignatureVersion is how what SNS sends is signed: 1 by SHA-1, 2 by SHA-256. Default: 1.
	SignatureVersion *int `prop:"min=1,max=2"`
	// TracingConfig is the mode of tracing by X-Ray. Standard topics alone can be Active. Default: PassThrough.
	TracingConfig *string `prop:"enum=PassThrough|Active"`
	// MaximumMessageSize of a message, from 1 KiB to 1 MiB. Default: 256KiB.
	MaximumMessageSize *props.Size `prop:"min=1KiB,max=1MiB"`
	// ArchivePolicy keeps the messages of a FIFO topic for being replayed: a document such as
	// {"MessageRetentionPeriod": "30"}, in days, or JSON text. A topic with an archive holds data. Default: none.
	ArchivePolicy any
	// DataProtectionPolicy says what is looked for in messages, and what is done about it: a document, or JSON text.
	// AWS lets only those use it who did so before May 2026, on standard topics; so nobody else is asked about it, and
	// one that was set by hand is not seen while none is declared. Default: none.
	DataProtectionPolicy any
	// HTTPLogging logs deliveries to HTTP and HTTPS. Default: none.
	HTTPLogging *DeliveryLogging
	// SQSLogging logs deliveries to queues. Default: none.
	SQSLogging *DeliveryLogging
	// LambdaLogging logs deliveries to functions. Default: none.
	LambdaLogging *DeliveryLogging
	// FirehoseLogging logs deliveries to streams of Firehose. Default: none.
	FirehoseLogging *DeliveryLogging
	// ApplicationLogging logs deliveries to endpoints of mobile applications. Default: none.
	ApplicationLogging *DeliveryLogging
	// Tags of the topic, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// DeliveryLogging says with which roles SNS writes what became of deliveries into CloudWatch Logs.
type DeliveryLogging struct {
	// SuccessRoleARN is the role for deliveries that succeeded. Default: none, they are not logged.
	SuccessRoleARN aws.ARN
	// FailureRoleARN is the role for deliveries that failed; all of those are logged. Default: none, they are not
	// logged.
	FailureRoleARN aws.ARN
	// SuccessSampleRate is how much of what succeeded is logged, in percent. It counts with successRoleArn alone.
	// Default: 100.
	SuccessSampleRate *int `prop:"min=0,max=100"`
}

// Topic is what others may refer to of a topic.
type Topic struct {
	// ARN of the topic, for policies and subscriptions.
	ARN aws.ARN
	// Name of the topic.
	Name string
	// DataProtection is "declared" for a topic that was last seen to have a data protection policy, else empty.
	DataProtection string
}
