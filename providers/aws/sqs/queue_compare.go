package sqs

import (
	"context"
	"slices"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareQueue states every aspect. All attributes that differ are set by one call.
func compareQueue(d *queueDiff, want QueueProps, live liveQueue) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name())
	}
	fifo := live.flag("FifoQueue")
	reconcile.Fixed(d, "fifo", want.FIFO, fifo)
	set := setAttributes(want)
	if want.FIFO && fifo {
		reconcile.Value(d, "contentBasedDeduplication", want.ContentBasedDeduplication, live.flag("ContentBasedDeduplication"), set)
		reconcile.Value(d, "deduplicationScope", *want.DeduplicationScope, live.text("DeduplicationScope", "queue"), set)
		reconcile.Value(d, "fifoThroughputLimit", *want.FIFOThroughputLimit, live.text("FifoThroughputLimit", "perQueue"), set)
	}
	reconcile.Value(d, "visibilityTimeout", *want.VisibilityTimeout, live.seconds("VisibilityTimeout"), set)
	reconcile.Value(d, "delay", want.Delay, live.seconds("DelaySeconds"), set)
	reconcile.Value(d, "messageRetention", *want.MessageRetention, live.seconds("MessageRetentionPeriod"), set)
	reconcile.Value(d, "receiveWait", want.ReceiveWait, live.seconds("ReceiveMessageWaitTimeSeconds"), set)
	reconcile.Value(d, "maximumMessageSize", *want.MaximumMessageSize, props.Size(live.number("MaximumMessageSize")), set)
	compareRedrive(d, want, live, set)
	reconcile.Value(d, "policy", aws.CanonicalPolicy(want.Policy), aws.CanonicalPolicy(live.attrs["Policy"]), set)
	compareEncryption(d, want, live, set)
	aws.CompareTags(d, want.Tags, live.tags, "TagQueue", putTags, dropTags)
}

// compareRedrive states where messages go and from where they come. The count of receipts belongs to the dead-letter
// queue: without one there is none.
func compareRedrive(d *queueDiff, want QueueProps, live liveQueue, set *reconcile.Operation[liveQueue]) {
	target, receives := live.redrive()
	reconcile.Value(d, "deadLetter", aws.OrNil(string(want.DeadLetter)), aws.OrNil(target), set)
	if want.DeadLetter != "" && target != "" {
		reconcile.Value(d, "maxReceives", *want.MaxReceives, receives, set)
	}
	reconcile.Value(d, "redriveAllow", allowance(redriveAllowPolicy(want.RedriveAllow)), allowance(live.attrs["RedriveAllowPolicy"]), set)
}

// compareEncryption states one of two ways: a key of KMS, or keys of SQS, which are off while there is one of KMS.
func compareEncryption(d *queueDiff, want QueueProps, live liveQueue, set *reconcile.Operation[liveQueue]) {
	key := live.attrs["KmsMasterKeyId"]
	reconcile.Value(d, "kmsMasterKeyId", aws.OrNil(want.KMSMasterKeyID), aws.OrNil(key), set)
	switch {
	case want.KMSMasterKeyID == "" && key == "":
		reconcile.Value(d, "sqsManagedSse", *want.SQSManagedSSE, live.flag("SqsManagedSseEnabled"), set)
	case want.KMSMasterKeyID != "" && key != "":
		reconcile.Value(d, "kmsDataKeyReusePeriod", *want.KMSDataKeyReusePeriod, live.seconds("KmsDataKeyReusePeriodSeconds"), set)
	}
}

// redrive is the dead-letter queue and how often a message is received before it goes there.
func (l liveQueue) redrive() (target string, receives int) {
	decoded, err := tree.Decode([]byte(l.attrs["RedrivePolicy"]))
	policy, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return "", 0
	}
	target, _ = policy["deadLetterTargetArn"].(string)
	switch n := policy["maxReceiveCount"].(type) {
	case int64:
		receives = int(n)
	case string: // SQS keeps the form that it was given
		receives, _ = strconv.Atoi(n)
	}
	return target, receives
}

// allowance is a redrive permission in one form, nil for the default of allowing all. The order of queues does
// not count.
func allowance(policy string) any {
	decoded, err := tree.Decode([]byte(policy))
	m, ok := decoded.(map[string]any)
	if err != nil || !ok || m["redrivePermission"] == "allowAll" {
		return nil
	}
	out := map[string]any{"permission": m["redrivePermission"]}
	if list, ok := m["sourceQueueArns"].([]any); ok {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b any) int { return slices.Compare(tree.Canonical(a), tree.Canonical(b)) })
		out["sources"] = list
	}
	return out
}

// attributeOf names the attribute of each prop that one call can set.
var attributeOf = map[tree.Path]string{
	"contentBasedDeduplication": "ContentBasedDeduplication", "deduplicationScope": "DeduplicationScope",
	"fifoThroughputLimit": "FifoThroughputLimit", "visibilityTimeout": "VisibilityTimeout", "delay": "DelaySeconds",
	"messageRetention": "MessageRetentionPeriod", "receiveWait": "ReceiveMessageWaitTimeSeconds",
	"maximumMessageSize": "MaximumMessageSize", "deadLetter": "RedrivePolicy", "maxReceives": "RedrivePolicy",
	"redriveAllow": "RedriveAllowPolicy", "policy": "Policy", "sqsManagedSse": "SqsManagedSseEnabled",
	"kmsMasterKeyId": "KmsMasterKeyId", "kmsDataKeyReusePeriod": "KmsDataKeyReusePeriodSeconds",
}

func setAttributes(want QueueProps) *reconcile.Operation[liveQueue] {
	return &reconcile.Operation[liveQueue]{Name: "SetQueueAttributes", Do: func(ctx context.Context, on reconcile.On[liveQueue]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		attrs, err := changedAttributes(want, on)
		if err != nil {
			return err
		}
		_, err = client.SetQueueAttributes(ctx, &sdk.SetQueueAttributesInput{QueueUrl: &on.Live.url, Attributes: attrs})
		return explained(ctx, client, on.Place, attrs, aws.NotYet(err))
	}}
}

// changedAttributes are those of the paths that differ. Two paths share an attribute: the one that is not to be
// changed, since it is ignored or left for later, keeps its live value.
func changedAttributes(want QueueProps, on reconcile.On[liveQueue]) (map[string]string, error) {
	changes := func(path tree.Path) bool { return slices.Contains(on.Changed, path) }
	target, receives := on.Live.redrive()
	if target != "" && !changes("deadLetter") {
		want.DeadLetter = aws.ARN(target)
	}
	if target != "" && !changes("maxReceives") && on.Live.attrs["RedrivePolicy"] != "" && receives > 0 {
		want.MaxReceives = &receives
	}
	all, err := attributes(want)
	if err != nil {
		return nil, err
	}
	attrs := map[string]string{}
	for _, path := range on.Changed {
		name := attributeOf[path]
		attrs[name] = all[name]
	}
	if changes("kmsMasterKeyId") {
		// Without a key of KMS a queue is left in clear unless the other way is asked for in the same breath.
		if want.KMSMasterKeyID == "" {
			attrs["SqsManagedSseEnabled"] = strconv.FormatBool(*want.SQSManagedSSE)
		} else {
			attrs["KmsDataKeyReusePeriodSeconds"] = all["KmsDataKeyReusePeriodSeconds"]
		}
	}
	return attrs, nil
}

func putTags(ctx context.Context, on reconcile.On[liveQueue], tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagQueue(ctx, &sdk.TagQueueInput{QueueUrl: &on.Live.url, Tags: tags})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.On[liveQueue], keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagQueue(ctx, &sdk.UntagQueueInput{QueueUrl: &on.Live.url, TagKeys: keys})
	return aws.NotYet(err)
}

func (l liveQueue) flag(name string) bool { return l.attrs[name] == "true" }

func (l liveQueue) number(name string) int64 {
	n, _ := strconv.ParseInt(l.attrs[name], 10, 64)
	return n
}

func (l liveQueue) seconds(name string) time.Duration {
	return time.Duration(l.number(name)) * time.Second
}

func (l liveQueue) text(name, otherwise string) string {
	if v := l.attrs[name]; v != "" {
		return v
	}
	return otherwise
}
