// Package sqs offers queues of Amazon Simple Queue Service.
//
// It knows a queue's attributes, their defaults and limits, and which of them one call can set. It does not know
// messages, beyond that there are some; how calls are made and judged is the business of package aws.
package sqs

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed queue.go
var source embed.FS

const queueType = "aws.sqs.Queue"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{queueKind.Erase()},
		Constructs: map[string]athanor.Construct{
			queueType: aws.Usable(Queue.declaredWith, Queue.Grant, map[string]Access{"send": Send, "receive": Receive, "purge": Purge}),
		},
		Filters:  []string{"sqs"},
		Registry: map[string]string{"AWS::SQS::Queue": queueType, "AWS::SQS::QueuePolicy": queueType, "AWS::SQS::QueueInlinePolicy": queueType},
		Match:    aws.MatchARN("sqs", queueType),
	}
}

// NewQueue declares a queue.
func NewQueue(s *athanor.Stack, name string, p QueueProps, opts ...athanor.Option) Queue {
	return athanor.Declare(s, queueKind, name, p, opts...).declaredWith(p)
}

// ReadQueue uses a queue that the stack does not own: by its ARN, or by QueueProps that name it.
func ReadQueue(s *athanor.Stack, name string, by any) Queue {
	return athanor.Read(s, queueKind, name, by)
}

// URL is the address of a queue, by which messages are sent and received.
type URL string

// QueueProps declare a queue. Names, defaults and limits are those of
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
type QueueProps struct {
	// Name of the queue: up to 80 letters, digits, - and _. That of a FIFO queue ends in .fifo. Default: none, a name is
	// generated. Changing it replaces the queue; SQS frees the name of a deleted queue after a minute.
	Name string
	// FIFO makes a first-in-first-out queue.
	FIFO bool `prop:"default=false,immutable" wire:"FifoQueue"`
	// ContentBasedDeduplication identifies duplicates in a FIFO queue by a hash of their body.
	ContentBasedDeduplication bool `prop:"default=false,needs=fifo" wire:"ContentBasedDeduplication"`
	// DeduplicationScope says within what duplicates are identified in a FIFO queue.
	DeduplicationScope *string `prop:"enum=queue|messageGroup,default=queue,needs=fifo" wire:"DeduplicationScope"`
	// FIFOThroughputLimit says what the throughput quota of a FIFO queue is counted for. perMessageGroupId needs the
	// deduplication scope messageGroup.
	FIFOThroughputLimit *string `prop:"enum=perQueue|perMessageGroupId,default=perQueue,needs=fifo" wire:"FifoThroughputLimit"`
	// VisibilityTimeout is how long a received message stays hidden from other receivers, in whole seconds.
	VisibilityTimeout *time.Duration `prop:"min=0s,max=12h,default=30s" wire:"VisibilityTimeout"`
	// Delay is how long each new message is kept back, in whole seconds.
	Delay time.Duration `prop:"min=0s,max=15m,default=0s" wire:"DelaySeconds"`
	// MessageRetention is how long a message is kept, in whole seconds. A change can take 15 minutes to have its effect, and a
	// shorter time deletes messages.
	MessageRetention *time.Duration `prop:"min=1m,max=14d,default=4d" wire:"MessageRetentionPeriod"`
	// ReceiveWait is how long a receiver waits for a message (long polling), in whole seconds.
	ReceiveWait time.Duration `prop:"min=0s,max=20s,default=0s" wire:"ReceiveMessageWaitTimeSeconds"`
	// MaximumMessageSize of a message with its attributes.
	MaximumMessageSize *props.Size `prop:"min=1KiB,max=1MiB,default=1MiB" wire:"MaximumMessageSize"`
	// DeadLetter is the queue, of the same type and in the same account and region, that gets the messages which were
	// received too often. Default: none.
	DeadLetter aws.ARN `prop:"deferrable" wire:"RedrivePolicy.deadLetterTargetArn"`
	// MaxReceives is how often a message is received before it goes to the dead-letter queue. It counts with deadLetter alone.
	MaxReceives *int `prop:"min=1,max=1000,default=10,with=deadLetter" wire:"RedrivePolicy.maxReceiveCount"`
	// RedriveAllow says which queues may name this one as their dead-letter queue. Default: all of the account and region.
	RedriveAllow *RedriveAllow `prop:"deferrable" wire:"RedriveAllowPolicy,allowance"`
	// Policy says who may use the queue: a document (see aws.Policy), or JSON text. Default: none, the account alone.
	Policy any `prop:"deferrable" wire:"Policy,policy"`
	// SQSManagedSSE encrypts messages at rest with keys of SQS. Not together with kmsMasterKeyId, which is the default then.
	SQSManagedSSE *bool `prop:"default=true,excludes=kmsMasterKeyId" wire:"SqsManagedSseEnabled"`
	// KMSMasterKeyID is the key of KMS that encrypts messages at rest: its id, ARN or alias. Default: none.
	KMSMasterKeyID string `wire:"KmsMasterKeyId"`
	// KMSDataKeyReusePeriod is how long a data key is used before KMS is asked for another, in whole seconds. It counts with
	// kmsMasterKeyId alone.
	KMSDataKeyReusePeriod *time.Duration `prop:"min=1m,max=24h,default=5m,with=kmsMasterKeyId" wire:"KmsDataKeyReusePeriodSeconds"`
	// Tags of the queue, beside the owner tags. Default: none.
	Tags map[string]string
}

// RedriveAllow says which queues may name another as their dead-letter queue.
type RedriveAllow struct {
	// Permission is whom it is given to.
	Permission string `prop:"required,enum=allowAll|denyAll|byQueue" wire:"redrivePermission"`
	// Sources are the queues that may, for byQueue. Default: none.
	Sources []aws.ARN `prop:"set,maxitems=10" wire:"sourceQueueArns"`
}

// Queue is what others may refer to of a queue.
type Queue struct {
	// ARN of the queue, for policies, subscriptions and dead letters.
	ARN aws.ARN `attr:"early"`
	// URL by which messages are sent and received.
	URL URL `attr:"early"`
	// Name of the queue.
	Name string `attr:"early"`

	key string // that encrypts it, as declared: grants allow its use
}

// declaredWith is the queue with what grants need of its props.
func (q Queue) declaredWith(p QueueProps) Queue {
	q.key = p.KMSMasterKeyID
	return q
}

// liveQueue is an observed queue.
type liveQueue struct {
	attrs   Queue
	have    QueueProps
	tags    map[string]string
	hasData bool
}

type site = kind.Site[QueueProps, Queue]

var queueTable = kind.TableOf[QueueProps](aws.PolicyCodec(), kind.Codec{Name: "allowance", Form: allowance}).
	For(kind.Both(types.QueueAttributeName("").Values()))

var queueKind = &kind.Kind[QueueProps, liveQueue, Queue]{
	Type: queueType,
	Doc: "A queue of Amazon SQS, standard or FIFO, with all its attributes and tags. Its messages are not managed: " +
		"a queue with messages in it, waiting, delayed or in flight, holds data, and deleting it needs permission.",

	Observe:    aws.Together(queueType, observeQueue, observeQueues),
	Create:     createQueue,
	Compare:    compareQueue,
	Attributes: func(live liveQueue) Queue { return live.attrs },
	Delete:     deleteQueue,
	Identity:   func(q Queue) string { return string(q.ARN) },

	Props: queueTable,
	Check: checkQueue,
	Named: &kind.Named[QueueProps, liveQueue]{
		Given: func(want QueueProps) string { return want.Name },
		Rule:  queueName,
		Live:  func(live liveQueue) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want QueueProps) map[string]string { return want.Tags },
		func(live liveQueue) map[string]string { return live.tags }, "TagQueue", putTags, dropTags),
	HoldsData: &kind.HoldsData[QueueProps, liveQueue]{Now: func(live liveQueue) bool { return live.hasData }},
	List:      listQueues,
	Bulk:      aws.InBulk(observeQueue, observeQueues),

	// Attributes take up to 60 seconds to be seen everywhere, and a deletion as long:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
	EventuallyVisible: time.Minute,

	API: aws.API("SQS", "sqs", source, kind.Permissions{
		Observe:  []string{"GetQueueUrl", "GetQueueAttributes", "ListQueueTags", "tag:GetResources"},
		List:     []string{"ListQueues"},
		Create:   []string{"CreateQueue", "TagQueue"},
		Update:   []string{"SetQueueAttributes", "TagQueue", "UntagQueue"},
		Delete:   []string{"DeleteQueue"},
		Resource: aws.On("sqs", ""),
	}),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

func queueName(want QueueProps) kind.NameRule {
	rule := kind.NameRule{Max: 80, Marks: "-_", Note: "the names of FIFO queues end in .fifo, and no others do"}
	if want.FIFO {
		rule.Suffix = ".fifo"
	}
	return rule
}

// checkQueue finds what SQS would refuse, or would take without doing it, beyond what the table says.
func checkQueue(want QueueProps) error {
	var problems props.Errors
	limit, scope := want.FIFOThroughputLimit, want.DeduplicationScope
	if limit != nil && *limit == "perMessageGroupId" && (scope == nil || *scope == "queue") {
		problems.Wrong("fifoThroughputLimit", "perMessageGroupId needs the deduplicationScope messageGroup")
	}
	if r := want.RedriveAllow; r != nil && !token.Has(r.Permission) && (r.Permission == "byQueue") != (len(r.Sources) > 0) {
		problems.Wrong("redriveAllow.sources", "byQueue needs the queues, and nothing else takes any")
	}
	return problems.OrNil()
}

// allowance is nil for the default of allowing all.
func allowance(v any) any {
	if m, ok := v.(map[string]any); ok && m["permission"] == "allowAll" {
		return nil
	}
	return v
}

// compareQueue sets all attributes that differ by one call.
func compareQueue(d *kind.Diff[liveQueue], want QueueProps, live liveQueue) {
	set := kind.Set("SetQueueAttributes", func(ctx context.Context, u kind.Update[liveQueue]) error {
		attrs := kind.Text{}
		if err := queueTable.Changed(want, u.Live.have, u.Changed, attrs); err != nil {
			return err
		}
		_, err := clientOf(u.Cloud).SetQueueAttributes(ctx, &sdk.SetQueueAttributesInput{QueueUrl: new(string(u.Live.attrs.URL)), Attributes: attrs})
		return explained(ctx, u.Facts, attrs, aws.NotYet(err))
	})
	// SQS keeps the attributes that a call does not name. Servers that speak its protocol drop the policy (moto 5 does): it may
	// be written again after such a call.
	set.Affects = []tree.Path{"policy"}
	kind.Compare(d, queueTable, want, live.have, set)
}

// arnOf is how SQS names a queue.
func arnOf(location kind.Location, name string) aws.ARN { return aws.ARNIn(location, "sqs", name) }

// observeQueue reads a queue by the URL in state, and finds it by its name where there is none, or no queue is there.
func observeQueue(ctx context.Context, s site) (live liveQueue, err error) {
	if s.Last != nil {
		if live, err = queueAt(ctx, s, *s.Last, nil); !aws.IsAbsent(err) || !aws.Stays(s) {
			return live, err
		}
	}
	name, err := aws.NameOf(s, aws.Names[Queue]{
		Of: func(q Queue) string { return q.Name }, In: func(resource string) string { return resource },
		Bare: path.Base, ARN: arnOf, // of a URL, or a name
	})
	if err != nil {
		return live, err
	}
	url, err := clientOf(s.Cloud).GetQueueUrl(ctx, &sdk.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return live, aws.Absent(err)
	}
	return queueAt(ctx, s, queueNamed(s.Location, name, url.QueueUrl), nil)
}

// observeQueues reads the attributes of each queue, and the tags of all together.
func observeQueues(ctx context.Context, all []site) ([]*aws.Answer[liveQueue], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(q Queue) aws.ARN { return q.ARN }, func(want QueueProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	return aws.EachOf(ctx, all, func(i int) bool { return tags[i] == nil }, func(ctx context.Context, i int, s site) (liveQueue, error) {
		return queueAt(ctx, s, *s.Last, tags[i])
	}), nil
}

// queueAt reads the attributes of a queue, and beside them its tags where they are not known.
func queueAt(ctx context.Context, s site, q Queue, tags map[string]string) (live liveQueue, err error) {
	client, url, shown, tagged := clientOf(s.Cloud), new(string(q.URL)), &sdk.GetQueueAttributesOutput{}, &sdk.ListQueueTagsOutput{Tags: tags}
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		shown, err = client.GetQueueAttributes(ctx, &sdk.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"}})
		return err
	}, func(ctx context.Context) (err error) {
		if tags == nil {
			tagged, err = client.ListQueueTags(ctx, &sdk.ListQueueTagsInput{QueueUrl: url})
		}
		return err
	})
	if err != nil {
		return live, err
	}
	live.attrs, live.tags = q, tagged.Tags
	for name, n := range shown.Attributes { // SQS counts approximately
		live.hasData = live.hasData || strings.HasPrefix(name, "ApproximateNumberOfMessages") && n != "0"
	}
	live.have, err = queueTable.Read(kind.Text(shown.Attributes))
	return live, err
}

func queueNamed(location kind.Location, name string, url *string) Queue {
	return Queue{ARN: arnOf(location, name), URL: URL(sdkaws.ToString(url)), Name: name}
}

// createQueue carries every attribute and all tags in one call. SQS answers an existing queue with the same attributes as if
// it had made it; the observation that follows tells whose it is.
func createQueue(ctx context.Context, s site) (Queue, error) {
	attrs := kind.Text{}
	if err := queueTable.Created(s.Want, attrs); err != nil {
		return Queue{}, err
	}
	if !s.Want.FIFO {
		delete(attrs, "FifoQueue") // SQS refuses "false"
	}
	out, err := clientOf(s.Cloud).CreateQueue(ctx, &sdk.CreateQueueInput{
		QueueName: &s.Name, Attributes: attrs, Tags: aws.Tags(s.Cloud, s.Want.Tags, s.Owner),
	})
	if err != nil {
		return Queue{}, explained(ctx, s.Facts, attrs, err)
	}
	return queueNamed(s.Location, s.Name, out.QueueUrl), nil
}

// explained separates a dead-letter queue that SQS does not show yet, which waiting mends, from a mistake: the service has
// one code for both. A queue elsewhere cannot be looked for.
func explained(ctx context.Context, s kind.Facts, attrs kind.Text, err error) error {
	target, _ := attrs.Get("RedrivePolicy.deadLetterTargetArn").(string)
	p, ok := aws.ARN(target).Parse()
	if err == nil || !ok || aws.ARN(target) != arnOf(s.Location, p.Resource) {
		return err
	}
	if _, look := clientOf(s.Cloud).GetQueueUrl(ctx, &sdk.GetQueueUrlInput{QueueName: &p.Resource}); aws.IsAbsent(look) {
		return aws.Busy(fmt.Errorf("the dead-letter queue is not there, or not yet: %s: %w", target, err))
	}
	return err
}

// deleteQueue asks for the deletion. The name stays taken for a minute after it, and a creation waits for that.
func deleteQueue(ctx context.Context, s site) error {
	_, err := clientOf(s.Cloud).DeleteQueue(ctx, &sdk.DeleteQueueInput{QueueUrl: new(string(s.Last.URL))})
	return err
}

func listQueues(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	// Without a limit SQS answers at most a thousand and does not say that there are more.
	in := &sdk.ListQueuesInput{QueueNamePrefix: aws.OrNil(scope.Prefix), MaxResults: new(int32(1000))}
	next := func(out *sdk.ListQueuesOutput) *string { return out.NextToken }
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListQueues, in, &in.NextToken, next) {
		if err != nil {
			return nil, err
		}
		for _, url := range page.QueueUrls {
			name := path.Base(url)
			all = append(all, kind.Found{Kind: queueType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: name})
		}
	}
	return all, nil
}

func putTags(ctx context.Context, u kind.Update[liveQueue], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagQueue(ctx, &sdk.TagQueueInput{QueueUrl: new(string(u.Live.attrs.URL)), Tags: tags})
	return err
}

func dropTags(ctx context.Context, u kind.Update[liveQueue], keys []string) error {
	_, err := clientOf(u.Cloud).UntagQueue(ctx, &sdk.UntagQueueInput{QueueUrl: new(string(u.Live.attrs.URL)), TagKeys: keys})
	return err
}
