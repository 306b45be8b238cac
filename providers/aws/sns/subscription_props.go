package sns

import "github.com/athanor-dev/athanor/providers/aws"

// SubscriptionProps declare a subscription. Defaults and limits are those of
// https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
type SubscriptionProps struct {
	// Topic whose messages are delivered. Changing it replaces the subscription.
	Topic aws.ARN `prop:"required"`
	// Protocol by which messages are delivered. Changing it replaces the subscription.
	Protocol string `prop:"required,enum=sqs|lambda|firehose|http|https|email|email-json|sms|application"`
	// Endpoint that gets the messages: the ARN of a queue, function, stream or application endpoint, a URL, a mail
	// address, or a phone number. SNS does not tell the password of a URL: a change of that alone is not seen. Changing
	// it replaces the subscription.
	Endpoint string `prop:"required"`
	// RawMessageDelivery delivers messages as they were published, without the JSON around them, to queues, streams
	// and URLs. Default: false.
	RawMessageDelivery bool
	// FilterPolicy says which messages are delivered: a document, or JSON text. A change can take 15 minutes to have
	// its effect. Default: none, all are.
	FilterPolicy any
	// FilterPolicyScope is what the filter is applied to. It counts with filterPolicy alone. Default:
	// MessageAttributes.
	FilterPolicyScope *string `prop:"enum=MessageAttributes|MessageBody"`
	// DeadLetter is the queue that gets the messages which could not be delivered. Default: none.
	DeadLetter aws.ARN
	// DeliveryPolicy says how deliveries over HTTP are repeated: a document, or JSON text. Default: none, that of the
	// topic.
	DeliveryPolicy any
	// SubscriptionRoleARN is the role with which SNS writes to a stream of Firehose; that protocol needs it, and no
	// other takes it. Default: none.
	SubscriptionRoleARN aws.ARN
	// ReplayPolicy delivers messages from the archive of a FIFO topic again: a document, or JSON text. Default: none.
	ReplayPolicy any
}

// Subscription is what others may refer to of a subscription.
type Subscription struct {
	// ARN of the subscription. It is empty for one that was found while it waited for its endpoint's confirmation: SNS
	// tells it only to who made it.
	ARN aws.ARN
	// Topic whose messages are delivered.
	Topic aws.ARN
	// Protocol by which messages are delivered.
	Protocol string
	// Endpoint that gets the messages, as SNS shows it: a password in a URL is masked.
	Endpoint string
}
