package sqs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct{ awstest.World[sdk.Client] }

// deadLetters are queues that every world has and that are not the kind's.
var deadLetters = []string{"dead-one", "dead-two", "dead.fifo"}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{awstest.NewWorld(t, server, startLikeAWS(t, server), sdk.NewFromConfig, queueKind.Erase(), "orders")}
	w.Located(t, account)
	for _, name := range deadLetters {
		attrs := map[string]string{}
		if strings.HasSuffix(name, ".fifo") {
			attrs["FifoQueue"] = "true"
		}
		if _, err := w.Others.CreateQueue(t.Context(), &sdk.CreateQueueInput{QueueName: &name, Attributes: attrs}); err != nil {
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
	out, err := w.Others.ListQueues(context.Background(), &sdk.ListQueuesInput{})
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
	attrs, err := w.Others.GetQueueAttributes(context.Background(), &sdk.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatalf("attributes: %v", err)
	}
	tags, err := w.Others.ListQueueTags(context.Background(), &sdk.ListQueueTagsInput{QueueUrl: &url})
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
	seen["tags"] = awstest.Owned(tags.Tags)
	return seen
}

func urlOf(attrs map[string]any) *string {
	url, _ := attrs["url"].(string)
	return &url
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "RequestThrottled", "InternalError")(class)
}
