package sns

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func publishPolicy(action string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "bucket", "Effect": "Allow", "Principal": obj{"Service": "s3.amazonaws.com"}, "Action": action,
		"Resource": arn("events"), "Condition": obj{"StringEquals": obj{"AWS:SourceAccount": account}},
	}}}
}

func protection(name string) obj {
	return obj{"Name": name, "Version": "2021-06-01", "Statement": list{obj{
		"Sid": "cards", "DataDirection": "Inbound", "Principal": list{"*"}, "Operation": obj{"Deny": obj{}},
		"DataIdentifier": list{"arn:aws:dataprotection::aws:data-identifier/CreditCardNumber"},
	}}}
}

func logging(name string) obj {
	return obj{"successRoleArn": role(name), "failureRoleArn": role("failed"), "successSampleRate": int64(5)}
}

// tuned has everything that a standard topic can have.
func tuned() obj {
	return obj{
		"name": "events", "displayName": "Events & more", "policy": publishPolicy("SNS:Publish"),
		"deliveryPolicy": obj{"http": obj{"defaultHealthyRetryPolicy": obj{"numRetries": int64(5)}}},
		"kmsMasterKeyId": "alias/topics", "signatureVersion": int64(2), "tracingConfig": "Active", "maximumMessageSize": "64KiB",
		"dataProtectionPolicy": protection("cards"), "httpLogging": logging("web"), "sqsLogging": logging("queues"),
		"lambdaLogging": logging("functions"), "firehoseLogging": logging("streams"), "applicationLogging": logging("apps"),
		"tags": obj{"team": "web", "cost center": "42"},
	}
}

func topicSuite() kindtest.Suite {
	ws := worlds{}
	return kindtest.Suite{
		Kind:  reconcile.Erase(topicKind),
		World: ws.make((*world).topics),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "half", Props: obj{
				"sqsLogging": obj{"successRoleArn": role("queues")}, "lambdaLogging": obj{"failureRoleArn": role("failed")},
				"policy": `{"Statement":{"Effect":"Deny","Principal":"*","Action":"SNS:*","Resource":"*"}}`,
			}},
			{Name: "first in first out", Props: obj{
				"fifo": true, "contentBasedDeduplication": true, "fifoThroughputScope": "MessageGroup",
				"archivePolicy": obj{"MessageRetentionPeriod": "30"},
			}},
		},
		Edits: append([]kindtest.Edit{
			ws.topicEdit("displayName", "", "DisplayName", "another"),
			ws.topicEdit("policy", "", "Policy", `{"Version":"2012-10-17","Statement":[]}`),
			ws.topicEdit("policy", "tuned", "Policy", `{"Version":"2012-10-17","Statement":[]}`),
			ws.topicEdit("deliveryPolicy", "", "DeliveryPolicy", `{"http":{"defaultHealthyRetryPolicy":{"numRetries":9}}}`),
			ws.topicEdit("deliveryPolicy", "tuned", "DeliveryPolicy", ""),
			ws.topicEdit("kmsMasterKeyId", "", "KmsMasterKeyId", "alias/other"),
			ws.topicEdit("kmsMasterKeyId", "tuned", "KmsMasterKeyId", ""),
			ws.topicEdit("signatureVersion", "", "SignatureVersion", "2"),
			ws.topicEdit("tracingConfig", "", "TracingConfig", "Active"),
			ws.topicEdit("maximumMessageSize", "", "MaximumMessageSize", "1024"),
			ws.topicEdit("contentBasedDeduplication", "first in first out", "ContentBasedDeduplication", "false"),
			ws.topicEdit("fifoThroughputScope", "first in first out", "FifoThroughputScope", "Topic"),
			ws.topicEdit("archivePolicy", "first in first out", "ArchivePolicy", `{"MessageRetentionPeriod":"7"}`),
			ws.edit("dataProtectionPolicy", "tuned", protect("")),
			ws.edit("dataProtectionPolicy", "tuned", protect(`{"Name":"by hand","Version":"2021-06-01","Statement":[]}`)),
			ws.edit(tree.Path("tags").Key("team"), "", tagged("team", "another")),
			ws.edit(tree.Path("tags").Key("by hand"), "", tagged("by hand", "1")),
		}, loggingEdits(ws)...),
		Silent: map[tree.Path]string{
			"contentBasedDeduplication": "FIFO topics alone take it; TestFIFO changes it",
			"fifoThroughputScope":       "FIFO topics alone take it; TestFIFO changes it",
			"archivePolicy":             "FIFO topics alone take it; TestFIFO changes it",
		},
	}
}

func loggingEdits(ws worlds) []kindtest.Edit {
	var edits []kindtest.Edit
	for path, prefix := range map[tree.Path]string{
		"httpLogging": "HTTP", "sqsLogging": "SQS", "lambdaLogging": "Lambda", "firehoseLogging": "Firehose", "applicationLogging": "Application",
	} {
		edits = append(edits,
			ws.topicEdit(path+".successRoleArn", "tuned", prefix+"SuccessFeedbackRoleArn", role("another")),
			ws.topicEdit(path+".failureRoleArn", "", prefix+"FailureFeedbackRoleArn", role("another")),
			ws.topicEdit(path+".successSampleRate", "tuned", prefix+"SuccessFeedbackSampleRate", "50"),
		)
	}
	return edits
}

func protect(policy string) func(*sdk.Client, *string) error {
	return func(c *sdk.Client, arn *string) error {
		_, err := c.PutDataProtectionPolicy(context.Background(), &sdk.PutDataProtectionPolicyInput{ResourceArn: arn, DataProtectionPolicy: &policy})
		return err
	}
}

func tagged(key, value string) func(*sdk.Client, *string) error {
	return func(c *sdk.Client, arn *string) error {
		_, err := c.TagResource(context.Background(), &sdk.TagResourceInput{ResourceArn: arn, Tags: []types.Tag{{Key: &key, Value: &value}}})
		return err
	}
}

func TestTopic(t *testing.T) { kindtest.Run(t, topicSuite()) }

// TestFIFO is about props that only FIFO topics can have: each is changed alone, there and back, and cut.
func TestFIFO(t *testing.T) {
	s := topicSuite()
	s.Base, s.Edits, s.Silent = obj{"fifo": true}, nil, nil
	s.Variants = []kindtest.Variant{{Name: "tuned", Props: obj{
		"fifo": true, "contentBasedDeduplication": true, "fifoThroughputScope": "MessageGroup", "archivePolicy": obj{"MessageRetentionPeriod": "30"},
	}}}
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case "a prop alone is a difference, and replaces as documented", "there and back, and twice writes nothing",
			"a crash at any call heals", "unset means the default", "unknown props", "deleting twice":
			t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
		}
	}
}
