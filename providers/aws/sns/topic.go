// Package sns offers topics of Amazon Simple Notification Service and subscriptions to them.
//
// It knows their attributes, their defaults and limits, which call sets which of them, and what SNS makes of the
// documents that it is given. It does not know messages, and does not confirm subscriptions: their endpoints do. How
// calls are made and judged is the business of package aws.
package sns

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed topic.go subscription.go
var source embed.FS

const (
	topicType        = "aws.sns.Topic"
	subscriptionType = "aws.sns.Subscription"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{topicKind.Erase(), subscriptionKind.Erase()},
		Constructs: map[string]athanor.Construct{
			topicType: aws.Usable(Topic.declaredWith, Topic.Grant, map[string]Access{"publish": Publish, "subscribe": Subscribe}),
		},
		Filters:  []string{"sns:topic"},
		Registry: map[string]string{"AWS::SNS::Topic": topicType, "AWS::SNS::TopicPolicy": topicType, "AWS::SNS::TopicInlinePolicy": topicType, "AWS::SNS::Subscription": subscriptionType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			return topicType, string(arn), p.Resource, ok && p.Service == "sns" && !strings.ContainsAny(p.Resource, ":/")
		},
	}
}

// NewTopic declares a topic.
func NewTopic(s *athanor.Stack, name string, p TopicProps, opts ...athanor.Option) Topic {
	return athanor.Declare(s, topicKind, name, p, opts...).declaredWith(p)
}

// ReadTopic uses a topic that the stack does not own: by its ARN, or by TopicProps that name it.
func ReadTopic(s *athanor.Stack, name string, by any) Topic {
	return athanor.Read(s, topicKind, name, by)
}

// TopicProps declare a topic. Defaults and limits are those of
// https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
type TopicProps struct {
	// Name of the topic: up to 256 letters, digits, - and _. That of a FIFO topic ends in .fifo. Default: none, a
	// name is generated. Changing it replaces the topic.
	Name string
	// FIFO makes a first-in-first-out topic.
	FIFO bool `prop:"default=false,immutable" wire:"FifoTopic"`
	// ContentBasedDeduplication tells messages of a FIFO topic apart by a hash of their body.
	ContentBasedDeduplication bool `prop:"default=false,needs=fifo" wire:"ContentBasedDeduplication"`
	// FIFOThroughputScope says within what messages of a FIFO topic are told apart, and so how many of them it
	// takes.
	FIFOThroughputScope *string `prop:"enum=Topic|MessageGroup,default=Topic,needs=fifo" wire:"FifoThroughputScope"`
	// DisplayName is the sender's name in mails and text messages: up to 100 characters. Default: none.
	DisplayName string `prop:"maxlen=100" wire:"DisplayName"`
	// Policy says who may use the topic: a document (see aws.Policy), or JSON text. Default: the one that SNS gives
	// a new topic, which lets the account of the topic alone use it.
	Policy any `prop:"deferrable" wire:"Policy,policy"`
	// DeliveryPolicy says how deliveries over HTTP are repeated: a document, or JSON text. Default: none, SNS's own.
	DeliveryPolicy any `wire:"DeliveryPolicy,delivery"`
	// KMSMasterKeyID is the key of KMS that encrypts messages at rest: its id, ARN or alias. Default: none,
	// messages are not encrypted at rest with a key of yours.
	KMSMasterKeyID string `wire:"KmsMasterKeyId"`
	// SignatureVersion is how what SNS sends is signed: 1 by SHA-1, 2 by SHA-256.
	SignatureVersion *int `prop:"min=1,max=2,default=1" wire:"SignatureVersion"`
	// TracingConfig is the mode of tracing by X-Ray. Standard topics alone can be Active.
	TracingConfig *string `prop:"enum=PassThrough|Active,default=PassThrough" wire:"TracingConfig"`
	// MaximumMessageSize of a message, from 1 KiB to 1 MiB.
	MaximumMessageSize *props.Size `prop:"min=1KiB,max=1MiB,default=256KiB" wire:"MaximumMessageSize"`
	// ArchivePolicy keeps the messages of a FIFO topic for being replayed: a document such as
	// {"MessageRetentionPeriod": "30"}, in days, or JSON text. A topic with an archive holds data. Default: none.
	ArchivePolicy any `prop:"needs=fifo" wire:"ArchivePolicy,document"`
	// DataProtectionPolicy says what is looked for in messages, and what is done about it: a document, or JSON text.
	// AWS lets only those use it who did so before May 2026, on standard topics; so nobody else is asked about it, and
	// one that was set by hand is not seen while none is declared. Default: none.
	DataProtectionPolicy any `prop:"excludes=fifo" wire:"-,document,call=PutDataProtectionPolicy"`
	// HTTPLogging logs deliveries to HTTP and HTTPS. Default: none.
	HTTPLogging *DeliveryLogging `prop:"each" wire:"HTTP*"`
	// SQSLogging logs deliveries to queues. Default: none.
	SQSLogging *DeliveryLogging `prop:"each" wire:"SQS*"`
	// LambdaLogging logs deliveries to functions. Default: none.
	LambdaLogging *DeliveryLogging `prop:"each" wire:"Lambda*"`
	// FirehoseLogging logs deliveries to streams of Firehose. Default: none.
	FirehoseLogging *DeliveryLogging `prop:"each" wire:"Firehose*"`
	// ApplicationLogging logs deliveries to endpoints of mobile applications. Default: none.
	ApplicationLogging *DeliveryLogging `prop:"each" wire:"Application*"`
	// Tags of the topic, beside the owner tags. Default: none.
	Tags map[string]string
}

// DeliveryLogging says with which roles SNS writes what became of deliveries into CloudWatch Logs.
type DeliveryLogging struct {
	// SuccessRoleARN is the role for deliveries that succeeded. Default: none, they are not logged.
	SuccessRoleARN aws.ARN `wire:"SuccessFeedbackRoleArn"`
	// FailureRoleARN is the role for deliveries that failed; all of those are logged. Default: none, they are not
	// logged.
	FailureRoleARN aws.ARN `wire:"FailureFeedbackRoleArn"`
	// SuccessSampleRate is how much of what succeeded is logged, in percent. It counts with successRoleArn alone.
	SuccessSampleRate *int `prop:"min=0,max=100,default=100,with=successRoleArn" wire:"SuccessFeedbackSampleRate"`
}

// Topic is what others may refer to of a topic.
type Topic struct {
	// ARN of the topic, for policies and subscriptions.
	ARN aws.ARN `attr:"early"`
	// Name of the topic.
	Name string `attr:"early"`
	// DataProtection is "declared" for a topic that was last seen to have a data protection policy, else empty.
	DataProtection string `attr:"mutable"`

	key string // that encrypts it, as declared: grants allow its use
}

// declaredWith is the topic with what grants need of its props.
func (t Topic) declaredWith(p TopicProps) Topic {
	t.key = p.KMSMasterKeyID
	return t
}

// liveTopic is an observed topic.
type liveTopic struct {
	attrs Topic
	have  TopicProps
	tags  map[string]string
}

type topicSite = kind.Site[TopicProps, Topic]

func documentCodecs() []kind.Codec {
	text := func(document any) (any, error) { return aws.DocumentText(document) }
	return []kind.Codec{
		{Name: "document", Write: text, Form: documentOf}, {Name: "delivery", Write: text, Form: deliveryOf},
	}
}

var topicTable = kind.TableOf[TopicProps](append(documentCodecs(), aws.PolicyCodec())...)

var topicKind = &kind.Kind[TopicProps, liveTopic, Topic]{
	Type: topicType,
	Doc: "A topic of Amazon SNS, standard or FIFO, with all its attributes and tags. Its subscriptions are a kind of " +
		"their own; SNS deletes them with the topic. A FIFO topic with an archive of messages holds data.",

	Observe:    aws.Together(topicType, observeTopic, observeTopics),
	Create:     createTopic,
	Compare:    compareTopic,
	Attributes: func(live liveTopic) Topic { return live.attrs },
	Delete:     deleteTopic,
	Identity:   func(t Topic) string { return string(t.ARN) },

	Props: topicTable,
	Check: checkTopic,
	Named: &kind.Named[TopicProps, liveTopic]{
		Given: func(want TopicProps) string { return want.Name },
		Rule:  topicName,
		Live:  func(live liveTopic) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want TopicProps) map[string]string { return want.Tags },
		func(live liveTopic) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	HoldsData: &kind.HoldsData[TopicProps, liveTopic]{
		Now:  func(live liveTopic) bool { return documentOf(live.have.ArchivePolicy) != nil },
		What: func(liveTopic) string { return "an archive of messages" },
	},
	List: listTopics,
	Bulk: aws.InBulk(observeTopic, observeTopics),

	// SNS says that it agrees with itself only in time, and not in how much of it.
	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("SNS", "sns", source, kind.Permissions{
		Observe: []string{"GetTopicAttributes", "GetDataProtectionPolicy", "ListTagsForResource", "tag:GetResources"},
		List:    []string{"ListTopics"},
		Create:  []string{"CreateTopic", "TagResource", "SetTopicAttributes", "PutDataProtectionPolicy"},
		// SetTopicAttributes alone sets the version of signatures.
		Only: map[string][]tree.Path{"PutDataProtectionPolicy": {"dataProtectionPolicy"}, "GetDataProtectionPolicy": {"dataProtectionPolicy"}, "SetTopicAttributes": {
			"signatureVersion", "archivePolicy", "httpLogging", "sqsLogging", "lambdaLogging", "firehoseLogging", "applicationLogging",
		}},
		Update:   []string{"SetTopicAttributes", "PutDataProtectionPolicy", "TagResource", "UntagResource"},
		Delete:   []string{"DeleteTopic", "SetTopicAttributes"},
		Resource: aws.On("sns", ""),
		Depends: []kind.Dependence{aws.PassRole("sns.amazonaws.com", true, []string{"SetTopicAttributes"},
			"httpLogging.successRoleArn", "httpLogging.failureRoleArn", "sqsLogging.successRoleArn", "sqsLogging.failureRoleArn",
			"lambdaLogging.successRoleArn", "lambdaLogging.failureRoleArn", "firehoseLogging.successRoleArn", "firehoseLogging.failureRoleArn",
			"applicationLogging.successRoleArn", "applicationLogging.failureRoleArn",
		)},
	}),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

// arnOf is how SNS names a topic.
func arnOf(location kind.Location, name string) aws.ARN { return aws.ARNIn(location, "sns", name) }

func topicName(want TopicProps) kind.NameRule {
	rule := kind.NameRule{Max: 256, Marks: "-_", Note: "the names of FIFO topics end in .fifo, and no others do"}
	if want.FIFO {
		rule.Suffix = ".fifo"
	}
	return rule
}

// declared is how state knows that there is a data protection policy to take away.
func declared(policy any) string {
	if documentOf(policy) == nil {
		return ""
	}
	return "declared"
}

// checkTopic finds what SNS would refuse, beyond what the table says.
func checkTopic(want TopicProps) error {
	var problems props.Errors
	if want.FIFO && want.TracingConfig != nil && *want.TracingConfig == "Active" {
		problems.Wrong("tracingConfig", "only standard topics take it, and fifo is set")
	}
	return problems.OrNil()
}

// compareTopic states every aspect. SNS sets one attribute by each call. A policy is never empty: without one that is declared
// it is the default, of which there are two in the cloud.
func compareTopic(d *kind.Diff[liveTopic], want TopicProps, live liveTopic) {
	topicTable.Default(&want) // which a mere search for a topic lacks
	if want.FIFO {
		want.TracingConfig = live.have.TracingConfig
	}
	if want.Policy == nil {
		want.Policy = defaultPolicy(live.attrs.ARN)
		if older := defaultPolicy(live.attrs.ARN, "SNS:Receive"); tree.Equal(aws.CanonicalPolicy(older), aws.CanonicalPolicy(live.have.Policy)) {
			want.Policy = older
		}
	}
	set := kind.Set("SetTopicAttributes", func(ctx context.Context, u kind.Update[liveTopic]) error {
		attrs, standing := kind.Text{}, kind.Text{}
		if err := errors.Join(topicTable.Changed(want, u.Live.have, u.Changed, attrs), topicTable.Created(u.Live.have, standing)); err != nil {
			return err
		}
		changed := changedNames(topicTable, u.Changed)
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			if attrs[name] == standing[name] && !changed[name] {
				continue // it comes along, and stays
			}
			if err := setTopic(ctx, u.Cloud, u.Live.attrs.ARN, name, attrs[name]); err != nil {
				return aws.NotYet(err)
			}
		}
		return nil
	})
	// Empty text takes the policy away; there is no call for that.
	protect := kind.Set("PutDataProtectionPolicy", func(ctx context.Context, u kind.Update[liveTopic]) error {
		_, err := clientOf(u.Cloud).PutDataProtectionPolicy(ctx, &sdk.PutDataProtectionPolicyInput{
			ResourceArn: new(string(u.Live.attrs.ARN)), DataProtectionPolicy: aws.Text(want.DataProtectionPolicy),
		})
		return aws.NotYet(err)
	})
	kind.Compare(d, topicTable, want, live.have, set, protect)
}

// changedNames are the service's names of paths.
func changedNames[P any](table *kind.Table[P], changed []tree.Path) map[string]bool {
	names := map[string]bool{}
	for _, a := range table.Attributes() {
		names[a.Wire] = names[a.Wire] || slices.Contains(changed, a.Path)
	}
	return names
}

// setTopic sets one attribute. The empty archive is how SNS is told to end one.
func setTopic(ctx context.Context, cloud kind.Cloud, topic aws.ARN, name, value string) error {
	if name == "ArchivePolicy" && value == "" {
		value = "{}"
	}
	_, err := clientOf(cloud).SetTopicAttributes(ctx, &sdk.SetTopicAttributesInput{
		TopicArn: new(string(topic)), AttributeName: &name, AttributeValue: &value,
	})
	return err
}

// observeTopic asks for the attributes, and then for all that they do not show.
func observeTopic(ctx context.Context, s topicSite) (live liveTopic, err error) {
	name, err := aws.NameOf(s, aws.Names[Topic]{
		Of:  func(t Topic) string { return t.Name },
		In:  func(resource string) string { return resource },
		ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	var tags map[string]string
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		live, err = topicAt(ctx, s, name)
		return err
	}, func(ctx context.Context) error {
		out, err := clientOf(s.Cloud).ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: new(string(arnOf(s.Location, name)))})
		if err == nil {
			tags = aws.TagMap(out.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
		}
		return err
	})
	live.tags = tags
	return live, err
}

// observeTopics reads the attributes of each topic, and the tags of all together.
func observeTopics(ctx context.Context, all []topicSite) ([]*aws.Answer[liveTopic], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(t Topic) aws.ARN { return t.ARN }, func(want TopicProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	return aws.EachOf(ctx, all, func(i int) bool { return tags[i] == nil }, func(ctx context.Context, i int, s topicSite) (liveTopic, error) {
		live, err := topicAt(ctx, s, s.Last.Name)
		live.tags = tags[i]
		return live, err
	}), nil
}

// topicAt reads all of a topic but its tags.
func topicAt(ctx context.Context, s topicSite, name string) (live liveTopic, err error) {
	live.attrs = Topic{ARN: arnOf(s.Location, name), Name: name}
	client, arn := clientOf(s.Cloud), new(string(live.attrs.ARN))
	attrs, err := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: arn})
	if err != nil {
		return live, aws.Absent(err)
	}
	if live.have, err = topicTable.Read(kind.Text(attrs.Attributes)); err != nil {
		return live, err
	}
	// Not every account may ask for such a policy, and no FIFO topic has one.
	if live.have.FIFO || s.Want.DataProtectionPolicy == nil && (s.Last == nil || s.Last.DataProtection == "") {
		return live, nil
	}
	out, err := client.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{ResourceArn: arn})
	if err != nil {
		return live, aws.Absent(err)
	}
	live.have.DataProtectionPolicy = sdkaws.ToString(out.DataProtectionPolicy)
	live.attrs.DataProtection = declared(live.have.DataProtectionPolicy)
	return live, nil
}

// createTopic carries all that CreateTopic takes and that is not the default. Only the version of signatures is left
// for SetTopicAttributes. SNS answers an existing topic with the same attributes and tags as if it had made it; the
// observation that follows tells whose it is.
func createTopic(ctx context.Context, s topicSite) (Topic, error) {
	standard, attrs := TopicProps{FIFO: s.Want.FIFO}, kind.Text{}
	topicTable.Default(&standard)
	unsaid := kind.Text{}
	if err := errors.Join(topicTable.Created(s.Want, attrs), topicTable.Created(standard, unsaid)); err != nil {
		return Topic{}, err
	}
	maps.DeleteFunc(attrs, func(name, value string) bool {
		return name == "SignatureVersion" || value == unsaid[name] && (name != "FifoTopic" || !s.Want.FIFO)
	})
	made := Topic{ARN: arnOf(s.Location, s.Name), Name: s.Name, DataProtection: declared(s.Want.DataProtectionPolicy)}
	client := clientOf(s.Cloud)
	if _, err := client.CreateTopic(ctx, &sdk.CreateTopicInput{
		Name: &s.Name, Attributes: attrs, Tags: tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner)),
		DataProtectionPolicy: aws.OrNil(*aws.Text(s.Want.DataProtectionPolicy)),
	}); err != nil {
		return Topic{}, taken(ctx, client, made.ARN, err)
	}
	return made, nil
}

// taken tells a topic that somebody made between the observation and the creation from a mistake: the service has one code
// for both. Observing again tells whose it is.
func taken(ctx context.Context, client *sdk.Client, arn aws.ARN, err error) error {
	if _, ok := errors.AsType[*types.InvalidParameterException](err); !ok {
		return err
	}
	if _, look := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: new(string(arn))}); look == nil {
		return aws.Busy(err)
	}
	return err
}

// deleteTopic ends an archive first: SNS deletes no topic that has one.
func deleteTopic(ctx context.Context, s topicSite) error {
	client, arn := clientOf(s.Cloud), new(string(s.Last.ARN))
	if strings.HasSuffix(s.Last.Name, ".fifo") {
		out, err := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: arn})
		if err != nil {
			return err
		}
		if documentOf(out.Attributes["ArchivePolicy"]) != nil {
			if err := setTopic(ctx, s.Cloud, s.Last.ARN, "ArchivePolicy", ""); err != nil {
				return err
			}
		}
	}
	_, err := client.DeleteTopic(ctx, &sdk.DeleteTopicInput{TopicArn: arn})
	return err
}

func listTopics(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	next := func(out *sdk.ListTopicsOutput) *string { return out.NextToken }
	in := &sdk.ListTopicsInput{}
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListTopics, in, &in.NextToken, next) {
		if err != nil {
			return nil, err
		}
		for _, t := range page.Topics {
			arn := sdkaws.ToString(t.TopicArn)
			if name := arn[strings.LastIndexByte(arn, ':')+1:]; strings.HasPrefix(name, scope.Prefix) {
				all = append(all, kind.Found{Kind: topicType, Place: scope.Place, Identity: arn, Name: name})
			}
		}
	}
	return all, nil
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

func putTags(ctx context.Context, u kind.Update[liveTopic], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{ResourceArn: new(string(u.Live.attrs.ARN)), Tags: tagList(tags)})
	return err
}

func dropTags(ctx context.Context, u kind.Update[liveTopic], keys []string) error {
	_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: new(string(u.Live.attrs.ARN)), TagKeys: keys})
	return err
}
