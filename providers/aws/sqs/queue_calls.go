package sqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errGoing  = errors.New("the queue is still there")
	errNoDead = errors.New("the dead-letter queue is not there, or not yet")
)

// arnOf is how SQS names a queue.
func arnOf(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "sqs", name)
}

func queueNames() aws.Names[Queue] {
	return aws.Names[Queue]{
		Of:   func(q Queue) string { return q.Name },
		In:   func(resource string) string { return resource },
		Bare: func(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }, // a URL, or a name
		ARN:  arnOf,
	}
}

func observeQueue(ctx context.Context, site queueSite) (liveQueue, error) {
	name, err := aws.NameOf(site, queueNames())
	if err != nil {
		return liveQueue{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveQueue{}, err
	}
	url, err := client.GetQueueUrl(ctx, &sdk.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return liveQueue{}, aws.Absent(err)
	}
	attrs, err := client.GetQueueAttributes(ctx, &sdk.GetQueueAttributesInput{
		QueueUrl: url.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return liveQueue{}, aws.Absent(err)
	}
	tags, err := client.ListQueueTags(ctx, &sdk.ListQueueTagsInput{QueueUrl: url.QueueUrl})
	if err != nil {
		return liveQueue{}, aws.Absent(err)
	}
	return liveQueue{url: sdkaws.ToString(url.QueueUrl), attrs: attrs.Attributes, tags: tags.Tags}, nil
}

// createQueue carries every attribute and all tags in one call. SQS answers an existing queue with the same
// attributes as if it had made it; the look that follows tells whose it is.
func createQueue(ctx context.Context, site queueSite) (Queue, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Queue{}, err
	}
	attrs, err := attributes(site.Want)
	if err != nil {
		return Queue{}, err
	}
	maps.DeleteFunc(attrs, func(_, v string) bool { return v == "" }) // which would clear what is not there yet
	if site.Want.FIFO {
		attrs["FifoQueue"] = "true"
	}
	out, err := client.CreateQueue(ctx, &sdk.CreateQueueInput{
		QueueName: &site.Name, Attributes: attrs, Tags: aws.Tags(site.Want.Tags, site.Mark),
	})
	if err != nil {
		return Queue{}, explained(ctx, client, site.Place, attrs, err)
	}
	return Queue{ARN: arnOf(site.Place, site.Name), URL: URL(sdkaws.ToString(out.QueueUrl)), Name: site.Name}, nil
}

// explained tells a dead-letter queue that SQS does not see yet, which goes away by waiting, from a mistake: the
// service has one code for both. A queue elsewhere cannot be looked for.
func explained(ctx context.Context, client *sdk.Client, place reconcile.Place, attrs map[string]string, err error) error {
	target, _ := liveQueue{attrs: attrs}.redrive()
	p, ok := aws.ARN(target).Parse()
	if err == nil || !ok || aws.ARN(target) != arnOf(place, p.Resource) {
		return err
	}
	if _, look := client.GetQueueUrl(ctx, &sdk.GetQueueUrlInput{QueueName: &p.Resource}); aws.IsAbsent(look) {
		return aws.Busy(fmt.Errorf("%w: %s: %w", errNoDead, target, err))
	}
	return err
}

// deleteQueue returns when SQS no longer shows the queue. The name stays taken for a minute after that, and a
// creation waits for it.
func deleteQueue(ctx context.Context, site queueSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	url := string(site.Last.URL)
	look := func() (liveQueue, error) {
		out, err := client.GetQueueAttributes(ctx, &sdk.GetQueueAttributesInput{
			QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
		})
		if err != nil {
			return liveQueue{}, err
		}
		return liveQueue{attrs: out.Attributes}, nil
	}
	if !site.MayDelete {
		live, err := look()
		if err != nil {
			return err
		}
		if live.holds() {
			return fmt.Errorf("%w: messages", reconcile.ErrHoldsData)
		}
	}
	if _, err := client.DeleteQueue(ctx, &sdk.DeleteQueueInput{QueueUrl: &url}); err != nil {
		return err
	}
	if _, err := look(); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errGoing)
}

func listQueues(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	// Without a limit SQS answers at most a thousand and does not say that there are more.
	pages := sdk.NewListQueuesPaginator(listQueuesCall(client.ListQueues), &sdk.ListQueuesInput{QueueNamePrefix: aws.OrNil(scope.Prefix), MaxResults: new(int32(1000))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, url := range page.QueueUrls {
			name := url[strings.LastIndexByte(url, '/')+1:]
			all = append(all, reconcile.Found{Kind: queueType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: name})
		}
	}
	return all, nil
}

// attributes are all that can be set, as the service writes them; empty text clears one.
func attributes(want QueueProps) (map[string]string, error) {
	policy, err := aws.DocumentText(want.Policy)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	attrs := map[string]string{
		"VisibilityTimeout":             seconds(*want.VisibilityTimeout),
		"DelaySeconds":                  seconds(want.Delay),
		"MessageRetentionPeriod":        seconds(*want.MessageRetention),
		"ReceiveMessageWaitTimeSeconds": seconds(want.ReceiveWait),
		"MaximumMessageSize":            strconv.FormatInt(int64(*want.MaximumMessageSize), 10),
		"RedrivePolicy":                 redrivePolicy(want),
		"RedriveAllowPolicy":            redriveAllowPolicy(want.RedriveAllow),
		"Policy":                        policy,
		"KmsMasterKeyId":                want.KMSMasterKeyID,
	}
	if want.KMSMasterKeyID == "" {
		attrs["SqsManagedSseEnabled"] = strconv.FormatBool(*want.SQSManagedSSE)
	} else {
		attrs["KmsDataKeyReusePeriodSeconds"] = seconds(*want.KMSDataKeyReusePeriod)
	}
	if want.FIFO {
		attrs["ContentBasedDeduplication"] = strconv.FormatBool(want.ContentBasedDeduplication)
		attrs["DeduplicationScope"] = *want.DeduplicationScope
		attrs["FifoThroughputLimit"] = *want.FIFOThroughputLimit
	}
	return attrs, nil
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

func redrivePolicy(want QueueProps) string {
	if want.DeadLetter == "" {
		return ""
	}
	return string(tree.Canonical(map[string]any{
		"deadLetterTargetArn": string(want.DeadLetter), "maxReceiveCount": int64(*want.MaxReceives),
	}))
}

func redriveAllowPolicy(r *RedriveAllow) string {
	if r == nil {
		return ""
	}
	policy := map[string]any{"redrivePermission": r.Permission}
	if len(r.Sources) > 0 {
		sources := make([]any, len(r.Sources))
		for i, arn := range r.Sources {
			sources[i] = string(arn)
		}
		policy["sourceQueueArns"] = sources
	}
	return string(tree.Canonical(policy))
}
