package sqs

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func sendPolicy(action string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "topic", "Effect": "Allow", "Principal": obj{"Service": "sns.amazonaws.com"}, "Action": action,
		"Resource": arn("orders"), "Condition": obj{"ArnEquals": obj{"aws:SourceArn": "arn:aws:sns:us-east-1:" + account + ":events"}},
	}}}
}

// tuned has everything that a standard queue can have.
func tuned() obj {
	return obj{
		"name": "orders", "visibilityTimeout": "2m", "delay": "5s", "messageRetention": "14d", "receiveWait": "20s",
		"maximumMessageSize": "64KiB", "deadLetter": arn("dead-one"), "maxReceives": int64(3),
		"redriveAllow": obj{"permission": "byQueue", "sources": list{arn("b"), arn("a")}},
		"policy":       sendPolicy("sqs:SendMessage"), "kmsMasterKeyId": "alias/queues", "kmsDataKeyReusePeriod": "1h",
		"tags": obj{"team": "web", "cost center": "42"},
	}
}

func queueSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(queueTable, kindtest.Suite{
		Kind:  queueKind.Erase(),
		World: ws.Make(newWorld, (*world).queues),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "plain", Props: obj{
				"sqsManagedSse": false, "redriveAllow": obj{"permission": "denyAll"}, "deadLetter": arn("dead-two"),
				"policy": `{"Statement":{"Effect":"Deny","Principal":"*","Action":"SQS:*","Resource":"*"}}`,
			}},
			{Name: "first in first out", Props: obj{
				"fifo": true, "contentBasedDeduplication": true, "deduplicationScope": "messageGroup",
				"fifoThroughputLimit": "perMessageGroupId", "deadLetter": arn("dead.fifo"),
			}},
			{Name: "told apart by group", Props: obj{"fifo": true, "deduplicationScope": "messageGroup"}},
		},
		Hands:  hands(ws),
		Steady: map[tree.Path]string{"name": "a queue keeps its name for life"},
	})
}

func TestQueue(t *testing.T) { kindtest.Run(t, queueSuite()) }

// TestOtherBases is about props that only some queues can have: each is changed alone, there and back, and cut.
func TestOtherBases(t *testing.T) {
	for name, base := range map[string]struct {
		base     obj
		variants []kindtest.Variant
	}{
		"fifo": {
			obj{"fifo": true, "deduplicationScope": "messageGroup"},
			[]kindtest.Variant{
				{Name: "hashed", Props: obj{"fifo": true, "deduplicationScope": "messageGroup", "contentBasedDeduplication": true, "fifoThroughputLimit": "perMessageGroupId"}},
				{Name: "queue", Props: obj{"fifo": true}},
			},
		},
		"encrypted": {
			obj{"kmsMasterKeyId": "alias/queues"},
			[]kindtest.Variant{
				{Name: "longer", Props: obj{"kmsMasterKeyId": "alias/queues", "kmsDataKeyReusePeriod": "1h"}},
				{Name: "clear", Props: obj{"sqsManagedSse": false}},
			},
		},
		"dead letters": {
			obj{"deadLetter": arn("dead-one")},
			[]kindtest.Variant{{Name: "patient", Props: obj{"deadLetter": arn("dead-one"), "maxReceives": int64(100)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := queueSuite()
			s.Base, s.Variants, s.Silent = base.base, base.variants, nil
			kindtest.RunOnly(t, kindtest.Derive(queueTable, s), kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset,
				kindtest.Crashes, kindtest.Unknown)
		})
	}
}
