package sns

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
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
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(topicTable, kindtest.Suite{
		Kind:  topicKind.Erase(),
		World: ws.Make(with(), (*world).topics),
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
		Hands: topicHands(ws),
		Others: map[tree.Path][]any{
			"deliveryPolicy":       {obj{"http": obj{"defaultHealthyRetryPolicy": obj{"numRetries": int64(9)}}}},
			"archivePolicy":        {obj{"MessageRetentionPeriod": "7"}},
			"dataProtectionPolicy": {protection("by hand")},
		},
		Open:   map[tree.Path]string{"dataProtectionPolicy": "who declares none may not ask for it, and so does not see one"},
		Steady: map[tree.Path]string{"name": "a topic keeps its name for life"},
	})
}

func TestTopic(t *testing.T) { kindtest.Run(t, topicSuite()) }

// TestFIFO is about props that only FIFO topics can have: each is changed alone, there and back, and cut.
func TestFIFO(t *testing.T) {
	s := topicSuite()
	s.Base, s.Silent = obj{"fifo": true}, nil
	s.Variants = []kindtest.Variant{{Name: "tuned", Props: obj{
		"fifo": true, "contentBasedDeduplication": true, "fifoThroughputScope": "MessageGroup", "archivePolicy": obj{"MessageRetentionPeriod": "30"},
	}}}
	kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset, kindtest.Crashes, kindtest.DeletedTwice, kindtest.Unknown)
}
