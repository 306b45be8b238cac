package sqs

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a queue as somebody else would.
func (ws worlds) hands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"tags": ws.retag,
		"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			if _, err := ws[w.Dir].others.DeleteQueue(context.Background(), &sdk.DeleteQueueInput{QueueUrl: urlOf(to.Attrs)}); err != nil {
				t.Fatalf("delete: %v", err)
			}
		},
	}
	for path, a := range settable {
		hands[path] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			var p QueueProps
			if err := props.Decode(to.Props, &p); err != nil {
				t.Fatalf("%v", err)
			}
			ws[w.Dir].set(t, to.Attrs, a.name, a.value(p))
		}
	}
	return hands
}

// settable are the attributes by which SQS keeps what the props say, and how it writes them.
var settable = map[tree.Path]struct {
	name  string
	value func(QueueProps) string
}{
	"visibilityTimeout":         {"VisibilityTimeout", func(p QueueProps) string { return inSeconds(p.VisibilityTimeout, "30") }},
	"delay":                     {"DelaySeconds", func(p QueueProps) string { return inSeconds(&p.Delay, "") }},
	"messageRetention":          {"MessageRetentionPeriod", func(p QueueProps) string { return inSeconds(p.MessageRetention, "345600") }},
	"receiveWait":               {"ReceiveMessageWaitTimeSeconds", func(p QueueProps) string { return inSeconds(&p.ReceiveWait, "") }},
	"kmsDataKeyReusePeriod":     {"KmsDataKeyReusePeriodSeconds", func(p QueueProps) string { return inSeconds(p.KMSDataKeyReusePeriod, "300") }},
	"kmsMasterKeyId":            {"KmsMasterKeyId", func(p QueueProps) string { return p.KMSMasterKeyID }},
	"sqsManagedSse":             {"SqsManagedSseEnabled", func(p QueueProps) string { return strconv.FormatBool(p.SQSManagedSSE == nil || *p.SQSManagedSSE) }},
	"contentBasedDeduplication": {"ContentBasedDeduplication", func(p QueueProps) string { return strconv.FormatBool(p.ContentBasedDeduplication) }},
	"deduplicationScope":        {"DeduplicationScope", func(p QueueProps) string { return word(p.DeduplicationScope, "queue") }},
	"fifoThroughputLimit":       {"FifoThroughputLimit", func(p QueueProps) string { return word(p.FIFOThroughputLimit, "perQueue") }},
	"policy":                    {"Policy", func(p QueueProps) string { return document(p.Policy) }},
	"deadLetter":                {"RedrivePolicy", redrive},
	"maxReceives":               {"RedrivePolicy", redrive},
	"redriveAllow": {"RedriveAllowPolicy", func(p QueueProps) string {
		if p.RedriveAllow == nil {
			return ""
		}
		allow := obj{"redrivePermission": p.RedriveAllow.Permission}
		if len(p.RedriveAllow.Sources) > 0 {
			allow["sourceQueueArns"] = p.RedriveAllow.Sources
		}
		return document(allow)
	}},
	"maximumMessageSize": {"MaximumMessageSize", func(p QueueProps) string {
		if p.MaximumMessageSize == nil {
			return "1048576"
		}
		return strconv.FormatInt(int64(*p.MaximumMessageSize), 10)
	}},
}

func redrive(p QueueProps) string {
	if p.DeadLetter == "" {
		return ""
	}
	receives := 10
	if p.MaxReceives != nil {
		receives = *p.MaxReceives
	}
	return document(obj{"deadLetterTargetArn": p.DeadLetter, "maxReceiveCount": receives})
}

func inSeconds(d *time.Duration, otherwise string) string {
	if d == nil {
		return otherwise
	}
	return strconv.Itoa(int(d.Seconds()))
}

func word(w *string, otherwise string) string {
	if w == nil {
		return otherwise
	}
	return cmp.Or(*w, otherwise)
}

// document is the text of a document, "" for none.
func document(v any) string {
	if v == nil {
		return ""
	}
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func (ws worlds) retag(t kindtest.T, w kindtest.World, to kindtest.Edited) {
	t.Helper()
	ctx, c, url := context.Background(), ws[w.Dir].others, urlOf(to.Attrs)
	have, err := c.ListQueueTags(ctx, &sdk.ListQueueTagsInput{QueueUrl: url})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	want := map[string]string{}
	tags, _ := to.Value.(map[string]any)
	for k, v := range tags {
		want[k] = v.(string)
	}
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(have.Tags)), func(k string) bool { _, wanted := want[k]; return wanted || adopt.IsMark(k) })
	if len(drop) > 0 {
		if _, err := c.UntagQueue(ctx, &sdk.UntagQueueInput{QueueUrl: url, TagKeys: drop}); err != nil {
			t.Fatalf("untag: %v", err)
		}
	}
	if len(want) > 0 {
		if _, err := c.TagQueue(ctx, &sdk.TagQueueInput{QueueUrl: url, Tags: want}); err != nil {
			t.Fatalf("tag: %v", err)
		}
	}
}
