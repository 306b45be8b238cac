package sqs

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a queue: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Send messages, one or many at a time.
	Send Access = "sqs:SendMessage"
	// Receive messages, keep them hidden, and delete them when they are done with: what a consumer does.
	Receive Access = "sqs:ReceiveMessage sqs:DeleteMessage sqs:ChangeMessageVisibility sqs:GetQueueAttributes"
	// Purge deletes all messages.
	Purge Access = "sqs:PurgeQueue"
)

// keyUse is what the actions take of the key of an encrypted queue:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
func keyUse() aws.KeyUse {
	return aws.KeyUse{"sqs:SendMessage": "kms:Decrypt kms:GenerateDataKey", "sqs:ReceiveMessage": "kms:Decrypt"}
}

// Grant allows a role, or what runs as one, to use the queue, and the key that its declaration names.
//
//	orders.Grant(fn, sqs.Send)
func (q Queue) Grant(to aws.Grantee, access ...Access) {
	q.allow(to, aws.Actions(access...))
}

func (q Queue) allow(to aws.Grantee, actions []string) {
	aws.Grant(to, actions, q.ARN)
	keyUse().Grant(to, q.key, actions)
}

// Feed allows what it takes to be called with the queue's messages; see lambda.Consume. A queue has no position to begin at.
func (q Queue) Feed(to aws.Grantee) (source aws.ARN, start string) {
	q.allow(to, []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"})
	return q.ARN, ""
}
