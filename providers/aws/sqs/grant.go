package sqs

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a queue: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. A queue that is encrypted with a key of KMS also needs leave to use the key.
const (
	// Send messages, one or many at a time.
	Send Access = "sqs:SendMessage"
	// Receive messages, keep them hidden, and delete them when they are done with: what a consumer does.
	Receive Access = "sqs:ReceiveMessage sqs:DeleteMessage sqs:ChangeMessageVisibility sqs:GetQueueAttributes"
	// Purge deletes all messages.
	Purge Access = "sqs:PurgeQueue"
)

// Grant allows a role, or what runs as one, to use the queue.
//
//	orders.Grant(fn, sqs.Send)
func (q Queue) Grant(to aws.Grantee, access ...Access) { aws.Grant(to, aws.Actions(access...), q.ARN) }

// Feed allows what it takes to be called with the queue's messages; see lambda.Consume. A queue has no position to begin at.
func (q Queue) Feed(to aws.Grantee) (source aws.ARN, start string) {
	aws.Grant(to, []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}, q.ARN)
	return q.ARN, ""
}
