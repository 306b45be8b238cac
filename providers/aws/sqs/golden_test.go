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
	awstest.GoldenText(t, queueTable, tuned(), kind.Text{
		"FifoQueue":         "false",
		"VisibilityTimeout": "120", "DelaySeconds": "5", "MessageRetentionPeriod": "1209600", "ReceiveMessageWaitTimeSeconds": "20",
		"MaximumMessageSize": "65536",
		"KmsMasterKeyId":     "alias/queues", "KmsDataKeyReusePeriodSeconds": "3600",
		"RedrivePolicy":      `{"deadLetterTargetArn":"` + arn("dead-one") + `","maxReceiveCount":3}`,
		"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["` + arn("b") + `","` + arn("a") + `"]}`,
		"Policy":             document(sendPolicy("sqs:SendMessage")),
	}, "sqs", "CreateQueue")

	fifo := kind.Text{
		"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue",
		"VisibilityTimeout": "30", "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0",
		"MaximumMessageSize": "1048576", "SqsManagedSseEnabled": "true",
	}
	awstest.GoldenText(t, queueTable, obj{"fifo": true, "contentBasedDeduplication": true}, fifo, "sqs", "CreateQueue")

	// What counts with another prop alone has its default there.
	delete(fifo, "SqsManagedSseEnabled")
	maps.Copy(fifo, kind.Text{
		"FifoThroughputLimit": "perMessageGroupId", "KmsMasterKeyId": "alias/queues", "KmsDataKeyReusePeriodSeconds": "300",
		"RedrivePolicy": `{"deadLetterTargetArn":"` + arn("dead.fifo") + `","maxReceiveCount":10}`,
	})
	awstest.GoldenText(t, queueTable, obj{
		"fifo": true, "contentBasedDeduplication": true, "fifoThroughputLimit": "perMessageGroupId",
		"deadLetter": arn("dead.fifo"), "kmsMasterKeyId": "alias/queues",
	}, fifo, "sqs", "CreateQueue")
}
