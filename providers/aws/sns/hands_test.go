package sns

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand is somebody else's call about the thing with an ARN.
func (ws worlds) hand(do func(c *sdk.Client, arn *string, to kindtest.Edited) error) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		arn, _ := to.Attrs["arn"].(string)
		if err := do(ws[w.Dir].others, &arn, to); err != nil {
			t.Fatalf("by hand: %v", err)
		}
	}
}

// topicHands change each aspect of a topic as somebody else would.
func (ws worlds) topicHands() map[tree.Path]kindtest.Hand {
	set := func(name string, value func(kindtest.Edited) string) kindtest.Hand {
		return ws.hand(func(c *sdk.Client, arn *string, to kindtest.Edited) error { return setTopicTo(c, arn, name, value(to)) })
	}
	hands := map[tree.Path]kindtest.Hand{
		"displayName":               set("DisplayName", kindtest.Edited.Text),
		"policy":                    set("Policy", document(`{"Version":"2012-10-17","Statement":[]}`)),
		"deliveryPolicy":            set("DeliveryPolicy", document("")),
		"kmsMasterKeyId":            set("KmsMasterKeyId", kindtest.Edited.Text),
		"signatureVersion":          set("SignatureVersion", document("1")),
		"tracingConfig":             set("TracingConfig", document("PassThrough")),
		"contentBasedDeduplication": set("ContentBasedDeduplication", document("false")),
		"fifoThroughputScope":       set("FifoThroughputScope", document("Topic")),
		"archivePolicy":             set("ArchivePolicy", document("{}")),
		"maximumMessageSize": set("MaximumMessageSize", func(to kindtest.Edited) string {
			if size, err := props.ParseSize(to.Text()); err == nil {
				return strconv.FormatInt(int64(size), 10)
			}
			return "262144"
		}),
		"dataProtectionPolicy": ws.hand(func(c *sdk.Client, arn *string, to kindtest.Edited) error {
			_, err := c.PutDataProtectionPolicy(context.Background(), &sdk.PutDataProtectionPolicyInput{
				ResourceArn: arn, DataProtectionPolicy: new(document("")(to)),
			})
			return err
		}),
		"tags": ws.hand(retag),
		"": ws.hand(func(c *sdk.Client, arn *string, _ kindtest.Edited) error {
			_, err := c.DeleteTopic(context.Background(), &sdk.DeleteTopicInput{TopicArn: arn})
			return err
		}),
	}
	for path, prefix := range map[tree.Path]string{
		"httpLogging": "HTTP", "sqsLogging": "SQS", "lambdaLogging": "Lambda", "firehoseLogging": "Firehose", "applicationLogging": "Application",
	} {
		hands[path] = ws.hand(func(c *sdk.Client, arn *string, to kindtest.Edited) error {
			logs, _ := to.Value.(map[string]any)
			for prop, name := range map[string]string{"successRoleArn": "SuccessFeedbackRoleArn", "failureRoleArn": "FailureFeedbackRoleArn"} {
				role, _ := logs[prop].(string)
				if err := setTopicTo(c, arn, prefix+name, role); err != nil {
					return err
				}
			}
			rate, ok := logs["successSampleRate"].(int64)
			if !ok {
				rate = 100
			}
			return setTopicTo(c, arn, prefix+"SuccessFeedbackSampleRate", strconv.FormatInt(rate, 10))
		})
	}
	return hands
}

func setTopicTo(c *sdk.Client, arn *string, name, value string) error {
	_, err := c.SetTopicAttributes(context.Background(), &sdk.SetTopicAttributesInput{TopicArn: arn, AttributeName: &name, AttributeValue: &value})
	return err
}

// document is a value as the service writes it, otherwise for none.
func document(otherwise string) func(kindtest.Edited) string {
	return func(to kindtest.Edited) string {
		if to.Value == nil {
			return otherwise
		}
		if text := to.Text(); text != "" {
			return text
		}
		text, err := json.Marshal(to.Value)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func retag(c *sdk.Client, arn *string, to kindtest.Edited) error {
	ctx := context.Background()
	have, err := c.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: arn})
	if err != nil {
		return err
	}
	want, _ := to.Value.(map[string]any)
	var put []types.Tag
	for k, v := range want {
		text, _ := v.(string)
		put = append(put, types.Tag{Key: &k, Value: &text})
	}
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(tagMap(have.Tags))), func(k string) bool { return want[k] != nil || adopt.IsMark(k) })
	if len(drop) > 0 {
		if _, err := c.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(put) == 0 {
		return nil
	}
	_, err = c.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: arn, Tags: put})
	return err
}

// subscriptionHands change each aspect of a subscription as somebody else would.
func (ws worlds) subscriptionHands() map[tree.Path]kindtest.Hand {
	set := func(name string, value func(kindtest.Edited) string) kindtest.Hand {
		return ws.hand(func(c *sdk.Client, arn *string, to kindtest.Edited) error {
			_, err := c.SetSubscriptionAttributes(context.Background(), &sdk.SetSubscriptionAttributesInput{
				SubscriptionArn: arn, AttributeName: &name, AttributeValue: aws.OrNil(value(to)),
			})
			return err
		})
	}
	return map[tree.Path]kindtest.Hand{
		"rawMessageDelivery":  set("RawMessageDelivery", document("false")),
		"filterPolicy":        set("FilterPolicy", document("{}")),
		"filterPolicyScope":   set("FilterPolicyScope", document("MessageAttributes")),
		"deliveryPolicy":      set("DeliveryPolicy", document("")),
		"subscriptionRoleArn": set("SubscriptionRoleArn", kindtest.Edited.Text),
		"replayPolicy":        set("ReplayPolicy", document("")),
		"deadLetter": set("RedrivePolicy", func(to kindtest.Edited) string {
			if to.Value == nil {
				return ""
			}
			return document("")(kindtest.Edited{Value: map[string]any{"deadLetterTargetArn": to.Value}})
		}),
		"": ws.hand(func(c *sdk.Client, arn *string, _ kindtest.Edited) error {
			_, err := c.Unsubscribe(context.Background(), &sdk.UnsubscribeInput{SubscriptionArn: arn})
			return err
		}),
	}
}
