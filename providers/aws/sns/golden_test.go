package sns

import (
	"encoding/json"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the attributes of two topics as https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html and
// https://docs.aws.amazon.com/sns/latest/api/API_SetTopicAttributes.html name them.
func TestGolden(t *testing.T) {
	awstest.GoldenText(t, topicTable, tuned(), kind.Text{
		"FifoTopic": "false", "DisplayName": "Events & more", "Policy": document(publishPolicy("SNS:Publish")),
		"DeliveryPolicy": `{"http":{"defaultHealthyRetryPolicy":{"numRetries":5}}}`, "KmsMasterKeyId": "alias/topics",
		"SignatureVersion": "2", "TracingConfig": "Active", "MaximumMessageSize": "65536",
		"HTTPSuccessFeedbackRoleArn": role("web"), "HTTPFailureFeedbackRoleArn": role("failed"), "HTTPSuccessFeedbackSampleRate": "5",
		"SQSSuccessFeedbackRoleArn": role("queues"), "SQSFailureFeedbackRoleArn": role("failed"), "SQSSuccessFeedbackSampleRate": "5",
		"LambdaSuccessFeedbackRoleArn": role("functions"), "LambdaFailureFeedbackRoleArn": role("failed"), "LambdaSuccessFeedbackSampleRate": "5",
		"FirehoseSuccessFeedbackRoleArn": role("streams"), "FirehoseFailureFeedbackRoleArn": role("failed"),
		"FirehoseSuccessFeedbackSampleRate": "5", "ApplicationSuccessFeedbackRoleArn": role("apps"),
		"ApplicationFailureFeedbackRoleArn": role("failed"), "ApplicationSuccessFeedbackSampleRate": "5",
	}, "sns", "CreateTopic", "GetTopicAttributes")
	awstest.GoldenText(t, topicTable, obj{
		"fifo": true, "contentBasedDeduplication": true, "fifoThroughputScope": "MessageGroup", "archivePolicy": obj{"MessageRetentionPeriod": "30"},
	}, kind.Text{
		"FifoTopic": "true", "ContentBasedDeduplication": "true", "FifoThroughputScope": "MessageGroup",
		"ArchivePolicy": `{"MessageRetentionPeriod":"30"}`, "SignatureVersion": "1", "TracingConfig": "PassThrough",
		"MaximumMessageSize": "262144",
	}, "sns", "CreateTopic", "GetTopicAttributes")
}

// TestGoldenSubscription has the attributes of https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
func TestGoldenSubscription(t *testing.T) {
	awstest.GoldenText(t, subscriptionTable, obj{
		"topic": arn("events"), "protocol": "firehose", "endpoint": "arn:aws:firehose:us-east-1:" + account + ":deliverystream/events",
		"rawMessageDelivery": true, "filterPolicy": obj{"type": list{"order"}}, "filterPolicyScope": "MessageBody", "deadLetter": queue("dead"),
		"deliveryPolicy": obj{"healthyRetryPolicy": obj{"numRetries": int64(7)}}, "subscriptionRoleArn": role("streams"),
		"replayPolicy": obj{"PointType": "Timestamp", "StartingPoint": "2026-01-01T00:00:00.000Z"},
	}, kind.Text{
		"RawMessageDelivery": "true", "FilterPolicy": `{"type":["order"]}`, "FilterPolicyScope": "MessageBody",
		"RedrivePolicy":       `{"deadLetterTargetArn":"` + queue("dead") + `"}`,
		"DeliveryPolicy":      `{"healthyRetryPolicy":{"numRetries":7}}`,
		"SubscriptionRoleArn": role("streams"),
		"ReplayPolicy":        `{"PointType":"Timestamp","StartingPoint":"2026-01-01T00:00:00.000Z"}`,
	}, "sns", "Subscribe")
}

func document(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
