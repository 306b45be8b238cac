package sns

import (
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func toQueue(more obj) obj {
	props := obj{"topic": arn("events"), "protocol": "sqs", "endpoint": queue("orders")}
	maps.Copy(props, more)
	return props
}

func subscriptionSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(subscriptionTable, kindtest.Suite{
		Kind:  subscriptionKind.Erase(),
		World: ws.Make(with("events", "more"), (*world).subscriptions),
		Base:  toQueue(nil),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: toQueue(obj{
				"rawMessageDelivery": true, "filterPolicy": obj{"type": list{"order", "refund"}}, "deadLetter": queue("dead"),
				"replayPolicy": obj{"PointType": "Timestamp", "StartingPoint": "2026-01-01T00:00:00.000Z"},
			})},
			{Name: "body", Props: toQueue(obj{"filterPolicy": `{"order":["new"]}`, "filterPolicyScope": "MessageBody"})},
			{Name: "another topic", Props: obj{"topic": arn("more"), "protocol": "sqs", "endpoint": queue("orders")}},
			{Name: "another queue", Props: obj{"topic": arn("events"), "protocol": "sqs", "endpoint": queue("others")}},
			{Name: "a page", Props: obj{
				"topic": arn("events"), "protocol": "https", "endpoint": "https://shop.example/hook",
				"deliveryPolicy": obj{"healthyRetryPolicy": obj{"numRetries": int64(7)}},
			}},
			{Name: "a stream", Props: obj{
				"topic": arn("events"), "protocol": "firehose", "endpoint": "arn:aws:firehose:us-east-1:" + account + ":deliverystream/events",
				"subscriptionRoleArn": role("streams"),
			}},
		},
		Hands: subscriptionHands(ws),
		Others: map[tree.Path][]any{
			"deliveryPolicy": {obj{"healthyRetryPolicy": obj{"numRetries": int64(8)}}},
			"replayPolicy":   {obj{"PointType": "Timestamp", "StartingPoint": "2026-02-01T00:00:00.000Z"}},
		},
		Silent: map[tree.Path]string{
			"deliveryPolicy":      "web endpoints alone take it; TestFilters changes it",
			"subscriptionRoleArn": "streams alone take it, and need it",
			"protocol":            "an endpoint is one of its protocol; TestFilters changes it",
		},
	})
}

func TestSubscription(t *testing.T) { kindtest.Run(t, subscriptionSuite()) }

// TestFilters is about props that need others: each is changed there and back, and cut.
func TestFilters(t *testing.T) {
	page := obj{"topic": arn("events"), "protocol": "https", "endpoint": "https://shop.example/hook"}
	for name, base := range map[string]struct {
		base     obj
		variants []kindtest.Variant
	}{
		"scope": {
			toQueue(obj{"filterPolicy": obj{"order": list{"new"}}}),
			[]kindtest.Variant{
				{Name: "body", Props: toQueue(obj{"filterPolicy": obj{"order": list{"new"}}, "filterPolicyScope": "MessageBody"})},
				{Name: "nested", Props: toQueue(obj{"filterPolicy": obj{"order": obj{"state": list{"new"}}}, "filterPolicyScope": "MessageBody"})},
			},
		},
		"page": {page, []kindtest.Variant{
			{Name: "patient", Props: obj{"topic": arn("events"), "protocol": "https", "endpoint": "https://shop.example/hook", "deliveryPolicy": `{"healthyRetryPolicy":{"numRetries":7}}`}},
			{Name: "mail", Props: obj{"topic": arn("events"), "protocol": "email", "endpoint": "https://shop.example/hook"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subscriptionSuite()
			s.Base, s.Variants, s.Silent = base.base, base.variants, nil
			kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset, kindtest.Crashes, kindtest.Unknown)
		})
	}
}
