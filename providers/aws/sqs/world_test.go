package sqs

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own, seen by the kind through one client and by others through another.
type world struct {
	server *awstest.Server
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

// deadLetters are queues that every world has and that are not the kind's.
var deadLetters = []string{"dead-one", "dead-two", "dead.fifo"}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	server.Reset()
	for _, name := range deadLetters {
		attrs := map[string]string{}
		if strings.HasSuffix(name, ".fifo") {
			attrs["FifoQueue"] = "true"
		}
		if _, err := w.others.CreateQueue(t.Context(), &sdk.CreateQueueInput{QueueName: &name, Attributes: attrs}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// arn is that of a queue in every world.
func arn(name string) string { return "arn:aws:sqs:us-east-1:" + account + ":" + name }

// queues are all as others see them; those for dead letters are in no listing.
func (w *world) queues(t kindtest.T) []any {
	t.Helper()
	out, err := w.others.ListQueues(context.Background(), &sdk.ListQueuesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, url := range out.QueueUrls {
		all = append(all, w.queue(t, url))
	}
	return all
}

func (w *world) queue(t kindtest.T, url string) obj {
	t.Helper()
	attrs, err := w.others.GetQueueAttributes(context.Background(), &sdk.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatalf("attributes: %v", err)
	}
	tags, err := w.others.ListQueueTags(context.Background(), &sdk.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	seen := obj{}
	for k, v := range attrs.Attributes {
		switch {
		case k == "QueueArn", strings.HasSuffix(k, "Timestamp"), strings.HasPrefix(k, "Approximate"):
		case strings.HasSuffix(k, "Policy"):
			seen[k] = json.RawMessage(v)
		default:
			seen[k] = v
		}
	}
	marked := maps.Clone(tags.Tags)
	delete(marked, "athanor:generation") // differs between two makings
	seen["tags"] = marked
	return seen
}

// set is what somebody else does to an attribute.
func (w *world) set(t kindtest.T, attrs map[string]any, name, value string) {
	t.Helper()
	if _, err := w.others.SetQueueAttributes(context.Background(), &sdk.SetQueueAttributesInput{
		QueueUrl: urlOf(attrs), Attributes: map[string]string{name: value},
	}); err != nil {
		t.Fatalf("set %s: %v", name, err)
	}
}

func urlOf(attrs map[string]any) *string {
	url, _ := attrs["url"].(string)
	return &url
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(t kindtest.T) kindtest.World {
	w := newWorld(t.(*testing.T))
	ws[w.dir] = w
	return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.queues(t) }}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "RequestThrottled", "InternalError")(class)
}

// job is a queue as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	return kindtest.Job(t, kind, w.cloud, "orders", props, last)
}

// settled makes a queue match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(queueKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Name())
	}
	return out
}
