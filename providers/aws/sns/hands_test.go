package sns

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func empty() kind.Text { return kind.Text{} }

// hand is somebody else's call about the object with an ARN.
func hand(ws awstest.Worlds[*world], do func(c *sdk.Client, arn *string, to kindtest.Edited) error) kindtest.Hand {
	return ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
		arn, _ := to.Attrs["arn"].(string)
		return do(w.Others, &arn, to)
	})
}

// each makes a call for each attribute. What SNS calls none has a text of its own.
func each(ws awstest.Worlds[*world], none map[string]string, set func(c *sdk.Client, arn, name, value *string) error) func(kindtest.T, kindtest.World, kindtest.Edited, kind.Text) {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited, attrs kind.Text) {
		t.Helper()
		hand(ws, func(c *sdk.Client, arn *string, _ kindtest.Edited) error {
			for name, value := range attrs {
				if value == "" {
					value = none[name]
				}
				if err := set(c, arn, &name, &value); err != nil {
					return err
				}
			}
			return nil
		})(t, w, to)
	}
}

// topicHands change each aspect of a topic as somebody else would.
func topicHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	none := map[string]string{"Policy": `{"Version":"2012-10-17","Statement":[]}`, "ArchivePolicy": "{}"}
	hands := kindtest.Mutators(topicTable, empty, each(ws, none, func(c *sdk.Client, arn, name, value *string) error {
		_, err := c.SetTopicAttributes(context.Background(), &sdk.SetTopicAttributesInput{TopicArn: arn, AttributeName: name, AttributeValue: value})
		return err
	}))
	hands["dataProtectionPolicy"] = hand(ws, func(c *sdk.Client, arn *string, to kindtest.Edited) error {
		_, err := c.PutDataProtectionPolicy(context.Background(), &sdk.PutDataProtectionPolicyInput{
			ResourceArn: arn, DataProtectionPolicy: aws.Text(to.Value),
		})
		return err
	})
	hands["tags"] = hand(ws, func(c *sdk.Client, arn *string, to kindtest.Edited) error {
		ctx := context.Background()
		have, err := c.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: arn})
		if err != nil {
			return err
		}
		drop := func(keys []string) error {
			_, err := c.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		}
		return awstest.Retag(tagMap(have.Tags), to, drop, func(tags map[string]string) error {
			_, err := c.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: arn, Tags: tagList(tags)})
			return err
		})
	})
	hands[""] = hand(ws, func(c *sdk.Client, arn *string, _ kindtest.Edited) error {
		_, err := c.DeleteTopic(context.Background(), &sdk.DeleteTopicInput{TopicArn: arn})
		return err
	})
	return hands
}

// subscriptionHands change each aspect of a subscription as somebody else would.
func subscriptionHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	none := map[string]string{"FilterPolicy": "{}"}
	hands := kindtest.Mutators(subscriptionTable, empty, each(ws, none, func(c *sdk.Client, arn, name, value *string) error {
		_, err := c.SetSubscriptionAttributes(context.Background(), &sdk.SetSubscriptionAttributesInput{
			SubscriptionArn: arn, AttributeName: name, AttributeValue: aws.OrNil(*value),
		})
		return err
	}))
	hands[""] = hand(ws, func(c *sdk.Client, arn *string, _ kindtest.Edited) error {
		_, err := c.Unsubscribe(context.Background(), &sdk.UnsubscribeInput{SubscriptionArn: arn})
		return err
	})
	return hands
}
