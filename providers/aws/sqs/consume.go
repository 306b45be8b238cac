package sqs

import "github.com/athanor-dev/athanor/providers/aws"

// EventSource is the queue as a function of Lambda reads it, see lambda.Consume.
func (q Queue) EventSource() (source aws.ARN, start string, actions []string) {
	return q.ARN, "", []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
}
