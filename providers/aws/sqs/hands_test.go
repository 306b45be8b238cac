package sqs

import (
	"context"
	"encoding/json"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a queue as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	ctx := context.Background()
	empty := func() kind.Text { return kind.Text{} }
	hands := kindtest.Mutators(queueTable, empty, func(t kindtest.T, w kindtest.World, to kindtest.Edited, attrs kind.Text) {
		t.Helper()
		if _, err := ws[w.Dir].Others.SetQueueAttributes(ctx, &sdk.SetQueueAttributesInput{QueueUrl: urlOf(to.Attrs), Attributes: attrs}); err != nil {
			t.Fatalf("set %v: %v", attrs, err)
		}
	})
	hands[""] = ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
		_, err := w.Others.DeleteQueue(ctx, &sdk.DeleteQueueInput{QueueUrl: urlOf(to.Attrs)})
		return err
	})
	hands["tags"] = ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
		url := urlOf(to.Attrs)
		have, err := w.Others.ListQueueTags(ctx, &sdk.ListQueueTagsInput{QueueUrl: url})
		if err != nil {
			return err
		}
		drop := func(keys []string) error {
			_, err := w.Others.UntagQueue(ctx, &sdk.UntagQueueInput{QueueUrl: url, TagKeys: keys})
			return err
		}
		return awstest.Retag(have.Tags, to, drop, func(tags map[string]string) error {
			_, err := w.Others.TagQueue(ctx, &sdk.TagQueueInput{QueueUrl: url, Tags: tags})
			return err
		})
	})
	return hands
}

// document is the text of a document.
func document(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
