package sns

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
}

func newWorld(t *testing.T, topics ...string) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, nil, "events"), like}
	w.Located(t, account)
	for _, name := range topics {
		in := &sdk.CreateTopicInput{Name: &name}
		if strings.HasSuffix(name, ".fifo") {
			in.Attributes = map[string]string{"FifoTopic": "true"}
		}
		if _, err := w.Others.CreateTopic(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	w.Server.Reset()
	return w
}

// arn is that of a topic in every world, and queue that of a queue.
func arn(name string) string   { return "arn:aws:sns:us-east-1:" + account + ":" + name }
func queue(name string) string { return "arn:aws:sqs:us-east-1:" + account + ":" + name }
func role(name string) string  { return "arn:aws:iam::" + account + ":role/" + name }

// passing are attributes that nobody manages or that differ between two makings.
var passing = map[string]bool{
	"TopicArn": true, "Owner": true, "EffectiveDeliveryPolicy": true, "SubscriptionArn": true, "SubscriptionsPending": true,
	"SubscriptionsConfirmed": true, "SubscriptionsDeleted": true, "ConfirmationWasAuthenticated": true,
}

// meaning are attributes as a tree, without those that say what is so without them.
func meaning(attrs map[string]string) obj {
	seen := obj{}
	for k, v := range attrs {
		rated := strings.HasSuffix(k, "SampleRate") && attrs[strings.TrimSuffix(k, "SampleRate")+"RoleArn"] == ""
		scoped := k == "FilterPolicyScope" && (attrs["FilterPolicy"] == "" || attrs["FilterPolicy"] == "{}")
		if passing[k] || v == "" || v == "{}" || v == standard[k] || rated || scoped {
			continue
		}
		seen[k] = v
		if strings.HasSuffix(k, "Policy") {
			seen[k] = json.RawMessage(v)
		}
	}
	return seen
}

var standard = map[string]string{
	"SignatureVersion": "1", "TracingConfig": "PassThrough", "MaximumMessageSize": "262144", "FifoThroughputScope": "Topic",
	"FilterPolicyScope": "MessageAttributes",
}

// topics are all of the world as others see them.
func (w *world) topics(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	out, err := w.Others.ListTopics(ctx, &sdk.ListTopicsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, topic := range out.Topics {
		attrs, err := w.Others.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("attributes: %v", err)
		}
		seen := meaning(attrs.Attributes)
		if policy, _ := seen["Policy"].(json.RawMessage); strings.Contains(string(policy), "__default_policy_ID") {
			delete(seen, "Policy") // it holds the name
			if !tree.Equal(aws.CanonicalPolicy(string(policy)), aws.CanonicalPolicy(defaultPolicy(aws.ARN(*topic.TopicArn)))) {
				t.Errorf("the default policy is not SNS's: %s", policy)
			}
		}
		policy, err := w.Others.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{ResourceArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("data protection: %v", err)
		}
		seen["protection"] = sdkaws.ToString(policy.DataProtectionPolicy)
		tags, err := w.Others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("tags: %v", err)
		}
		seen["tags"] = awstest.Owned(tagMap(tags.Tags))
		all = append(all, seen)
	}
	return all
}

// subscriptions are all of the world as others see them.
func (w *world) subscriptions(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.ListSubscriptions(context.Background(), &sdk.ListSubscriptionsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, s := range out.Subscriptions {
		attrs, err := w.Others.GetSubscriptionAttributes(context.Background(), &sdk.GetSubscriptionAttributesInput{SubscriptionArn: s.SubscriptionArn})
		if err != nil {
			t.Fatalf("attributes: %v", err)
		}
		seen := meaning(attrs.Attributes)
		seen["topic"] = *s.TopicArn
		all = append(all, seen)
	}
	return all
}

// with makes worlds that have topics.
func with(topics ...string) func(*testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		return newWorld(t, topics...)
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AuthorizationError", "Throttled", "InternalError")(class)
}

// task is a resource as it is declared, without state, and with permission to delete data.
func (w *world) task(t *testing.T, kind reconcile.Any, props obj) *reconcile.Job {
	t.Helper()
	job := w.Job(t, kind, props, nil)
	job.MayDelete = true
	return job
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}
