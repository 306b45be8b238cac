package sns

import (
	"context"
	"fmt"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// attribute is one attribute as it is wanted and as it is.
type attribute struct {
	path tree.Path
	name string
	// want and have are compared.
	want, have any
	// set says that want is not the default, so that a creation must carry it.
	set bool
	// text is what the service is sent.
	text func() (string, error)
}

// compareTopic states every aspect. SNS sets one attribute by each call.
func compareTopic(d *topicDiff, want TopicProps, live liveTopic) {
	want = topicDefaults(want) // which a mere search for a topic lacks
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name())
	}
	fifo := live.attrs["FifoTopic"] == "true"
	reconcile.Fixed(d, "fifo", want.FIFO, fifo)
	for _, a := range topicAttributes(want, live) {
		reconcile.Value(d, a.path, a.want, a.have, setTopic(a))
	}
	if !fifo { // for one that is not declared and was not asked for both are none
		reconcile.Value(d, "dataProtectionPolicy", documentOf(want.DataProtectionPolicy), documentOf(live.protection), putProtection(want))
	}
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putTags, dropTags)
}

// topicAttributes are all that can be set on a topic as it is. Those of the other type of topic are left out.
func topicAttributes(want TopicProps, live liveTopic) []attribute {
	list := []attribute{
		live.plain("displayName", "DisplayName", want.DisplayName, ""),
		live.policy(want.Policy),
		live.document("deliveryPolicy", "DeliveryPolicy", want.DeliveryPolicy, deliveryOf, ""),
		live.plain("kmsMasterKeyId", "KmsMasterKeyId", want.KMSMasterKeyID, ""),
		live.plain("signatureVersion", "SignatureVersion", strconv.Itoa(*want.SignatureVersion), "1"),
		live.plain("maximumMessageSize", "MaximumMessageSize", strconv.FormatInt(int64(*want.MaximumMessageSize), 10), "262144"),
	}
	if want.FIFO {
		list = append(list,
			live.plain("contentBasedDeduplication", "ContentBasedDeduplication", strconv.FormatBool(want.ContentBasedDeduplication), "false"),
			live.plain("fifoThroughputScope", "FifoThroughputScope", *want.FIFOThroughputScope, "Topic"),
			live.document("archivePolicy", "ArchivePolicy", want.ArchivePolicy, documentOf, "{}"),
		)
	} else {
		list = append(list, live.plain("tracingConfig", "TracingConfig", *want.TracingConfig, "PassThrough"))
	}
	for _, l := range []struct {
		path   tree.Path
		prefix string
		want   *DeliveryLogging
	}{
		{"httpLogging", "HTTP", want.HTTPLogging},
		{"sqsLogging", "SQS", want.SQSLogging},
		{"lambdaLogging", "Lambda", want.LambdaLogging},
		{"firehoseLogging", "Firehose", want.FirehoseLogging},
		{"applicationLogging", "Application", want.ApplicationLogging},
	} {
		list = append(list, live.logging(l.path, l.prefix, l.want)...)
	}
	return list
}

// plain is an attribute that is text; SNS may leave out the default.
func (l liveTopic) plain(path tree.Path, name, want, standard string) attribute {
	have := l.attrs[name]
	if have == "" {
		have = standard
	}
	return attribute{path: path, name: name, want: aws.OrNil(want), have: aws.OrNil(have), set: want != standard, text: func() (string, error) { return want, nil }}
}

// document is an attribute that is a document, none by default, which is written as empty.
func (l liveTopic) document(path tree.Path, name string, want any, form func(any) any, empty string) attribute {
	return attribute{path: path, name: name, want: form(want), have: form(l.attrs[name]), set: want != nil, text: func() (string, error) {
		if want == nil {
			return empty, nil
		}
		text, err := aws.DocumentText(want)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return text, nil
	}}
}

// policy is never empty: without one that is declared it is the default, of which there are two in the world.
func (l liveTopic) policy(want any) attribute {
	declared := want != nil
	have := aws.CanonicalPolicy(l.attrs["Policy"])
	if !declared {
		want = l.defaultPolicy()
		if older := l.defaultPolicy("SNS:Receive"); tree.Equal(aws.CanonicalPolicy(older), have) {
			want = older
		}
	}
	return attribute{path: "policy", name: "Policy", want: aws.CanonicalPolicy(want), have: have, set: declared, text: func() (string, error) {
		text, err := aws.DocumentText(want)
		if err != nil {
			return "", fmt.Errorf("policy: %w", err)
		}
		return text, nil
	}}
}

// logging are the three attributes of one protocol. The rate means nothing without the role.
func (l liveTopic) logging(path tree.Path, prefix string, want *DeliveryLogging) []attribute {
	if want == nil {
		want = &DeliveryLogging{}
	}
	list := []attribute{
		l.plain(path+".successRoleArn", prefix+"SuccessFeedbackRoleArn", string(want.SuccessRoleARN), ""),
		l.plain(path+".failureRoleArn", prefix+"FailureFeedbackRoleArn", string(want.FailureRoleARN), ""),
	}
	if want.SuccessRoleARN == "" {
		return list
	}
	rate := 100
	if want.SuccessSampleRate != nil {
		rate = *want.SuccessSampleRate
	}
	return append(list, l.plain(path+".successSampleRate", prefix+"SuccessFeedbackSampleRate", strconv.Itoa(rate), ""))
}

func setTopic(a attribute) *reconcile.Operation[liveTopic] {
	return &reconcile.Operation[liveTopic]{Name: "SetTopicAttributes", Do: func(ctx context.Context, on reconcile.On[liveTopic]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		text, err := a.text()
		if err != nil {
			return err
		}
		_, err = client.SetTopicAttributes(ctx, &sdk.SetTopicAttributesInput{
			TopicArn: new(string(on.Live.arn)), AttributeName: &a.name, AttributeValue: &text,
		})
		return aws.NotYet(err)
	}}
}

func putProtection(want TopicProps) *reconcile.Operation[liveTopic] {
	return &reconcile.Operation[liveTopic]{Name: "PutDataProtectionPolicy", Do: func(ctx context.Context, on reconcile.On[liveTopic]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		text, err := aws.DocumentText(want.DataProtectionPolicy)
		if err != nil {
			return fmt.Errorf("dataProtectionPolicy: %w", err)
		}
		// Empty text takes the policy away; there is no call for that.
		_, err = client.PutDataProtectionPolicy(ctx, &sdk.PutDataProtectionPolicyInput{
			ResourceArn: new(string(on.Live.arn)), DataProtectionPolicy: &text,
		})
		return aws.NotYet(err)
	}}
}

func putTags(ctx context.Context, on reconcile.On[liveTopic], tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: new(string(on.Live.arn)), Tags: tagList(tags)})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.On[liveTopic], keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: new(string(on.Live.arn)), TagKeys: keys})
	return aws.NotYet(err)
}
