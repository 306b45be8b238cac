// Package sns offers topics of Amazon Simple Notification Service and subscriptions to them.
//
// It knows their attributes, their defaults and limits, which call sets which of them, and what SNS makes of the
// documents that it is given. It does not know messages, and does not confirm subscriptions: their endpoints do. How
// calls are made and judged is the business of package aws.
package sns

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed topic.go topic_props.go subscription.go subscription_props.go
var source embed.FS

const (
	topicType        = "aws.sns.Topic"
	subscriptionType = "aws.sns.Subscription"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(topicKind), reconcile.Erase(subscriptionKind)},
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
	return athanor.Declare(s, topicKind, name, p, opts...)
}

// ReadTopic uses a topic that the stack does not own: by its ARN, or by TopicProps that name it.
func ReadTopic(s *athanor.Stack, name string, by any) Topic {
	return athanor.Read(s, topicKind, name, by)
}

// NewSubscription declares a subscription.
func NewSubscription(s *athanor.Stack, name string, p SubscriptionProps, opts ...athanor.Option) Subscription {
	return athanor.Declare(s, subscriptionKind, name, p, opts...)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
