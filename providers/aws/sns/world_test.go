package sns

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

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

// world is an account of its own, seen by the kinds through one client and by others through another.
type world struct {
	server *awstest.Server
	like   *likeAWS
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

func newWorld(t *testing.T, topics ...string) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, like: like, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	for _, name := range topics {
		in := &sdk.CreateTopicInput{Name: &name}
		if strings.HasSuffix(name, ".fifo") {
			in.Attributes = map[string]string{"FifoTopic": "true"}
		}
		if _, err := w.others.CreateTopic(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	server.Reset()
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
	out, err := w.others.ListTopics(ctx, &sdk.ListTopicsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, topic := range out.Topics {
		attrs, err := w.others.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("attributes: %v", err)
		}
		seen := meaning(attrs.Attributes)
		if policy, _ := seen["Policy"].(json.RawMessage); strings.Contains(string(policy), "__default_policy_ID") {
			delete(seen, "Policy") // it holds the name
			if !tree.Equal(aws.CanonicalPolicy(string(policy)), aws.CanonicalPolicy(liveTopic{arn: aws.ARN(*topic.TopicArn)}.defaultPolicy())) {
				t.Errorf("the default policy is not SNS's: %s", policy)
			}
		}
		policy, err := w.others.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{ResourceArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("data protection: %v", err)
		}
		seen["protection"] = sdkaws.ToString(policy.DataProtectionPolicy)
		tags, err := w.others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: topic.TopicArn})
		if err != nil {
			t.Fatalf("tags: %v", err)
		}
		marked := maps.Clone(tagMap(tags.Tags))
		delete(marked, "athanor:generation") // differs between two makings
		seen["tags"] = marked
		all = append(all, seen)
	}
	return all
}

// subscriptions are all of the world as others see them.
func (w *world) subscriptions(t kindtest.T) []any {
	t.Helper()
	out, err := w.others.ListSubscriptions(context.Background(), &sdk.ListSubscriptionsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, s := range out.Subscriptions {
		attrs, err := w.others.GetSubscriptionAttributes(context.Background(), &sdk.GetSubscriptionAttributesInput{SubscriptionArn: s.SubscriptionArn})
		if err != nil {
			t.Fatalf("attributes: %v", err)
		}
		seen := meaning(attrs.Attributes)
		seen["topic"] = *s.TopicArn
		all = append(all, seen)
	}
	return all
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(objects func(*world, kindtest.T) []any, topics ...string) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		w := newWorld(t.(*testing.T), topics...)
		ws[w.dir] = w
		return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return objects(w, t) }}
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AuthorizationError", "Throttled", "InternalError")(class)
}

// job is a thing as it is declared, without a record.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj) *reconcile.Job {
	t.Helper()
	job := kindtest.Job(t, kind, w.cloud, "events", props, nil)
	job.MayDelete = true
	return job
}

func names(calls []awstest.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Name())
	}
	return out
}
