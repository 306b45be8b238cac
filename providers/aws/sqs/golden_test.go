package sqs

import (
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the attributes of two queues as
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
// names and measures them: times in seconds, sizes in bytes, policies as JSON in text.
func TestGolden(t *testing.T) {
	timed := kind.Text{
		"VisibilityTimeout": "120", "DelaySeconds": "5", "MessageRetentionPeriod": "1209600", "ReceiveMessageWaitTimeSeconds": "20",
		"MaximumMessageSize": "65536",
	}
	standard := kind.Text{
		"FifoQueue":      "false",
		"KmsMasterKeyId": "alias/queues", "KmsDataKeyReusePeriodSeconds": "3600",
		"RedrivePolicy":      `{"deadLetterTargetArn":"` + arn("dead-one") + `","maxReceiveCount":3}`,
		"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["` + arn("b") + `","` + arn("a") + `"]}`,
		"Policy":             document(sendPolicy("sqs:SendMessage")),
	}
	maps.Copy(standard, timed)
	awstest.GoldenText(t, queueTable, tuned(), standard, "sqs", "CreateQueue")

	awstest.GoldenText(t, queueTable, obj{"fifo": true, "contentBasedDeduplication": true, "fifoThroughputLimit": "perMessageGroupId"},
		kind.Text{
			"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "queue", "FifoThroughputLimit": "perMessageGroupId",
			"VisibilityTimeout": "30", "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0",
			"MaximumMessageSize": "1048576", "SqsManagedSseEnabled": "true",
		}, "sqs", "CreateQueue")

	// What counts with another prop alone has its default there.
	awstest.GoldenText(t, queueTable, obj{"fifo": true, "contentBasedDeduplication": true, "deadLetter": arn("dead.fifo"), "kmsMasterKeyId": "alias/queues"},
		kind.Text{
			"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue",
			"VisibilityTimeout": "30", "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0",
			"MaximumMessageSize": "1048576", "KmsMasterKeyId": "alias/queues", "KmsDataKeyReusePeriodSeconds": "300",
			"RedrivePolicy": `{"deadLetterTargetArn":"` + arn("dead.fifo") + `","maxReceiveCount":10}`,
		}, "sqs", "CreateQueue")
}
