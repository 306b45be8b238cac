// Package sqs offers queues of Amazon Simple Queue Service.
//
// It knows a queue's attributes, their defaults and limits, and which of them one call can set. It does not know
// messages, beyond that there are some; how calls are made and judged is the business of package aws.
package sqs

import (
	"embed"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed queue.go queue_props.go
var source embed.FS

const queueType = "aws.sqs.Queue"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(queueKind)},
		Filters:  []string{"sqs"},
		Registry: map[string]string{"AWS::SQS::Queue": queueType, "AWS::SQS::QueuePolicy": queueType, "AWS::SQS::QueueInlinePolicy": queueType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			return queueType, string(arn), p.Resource, ok && p.Service == "sqs"
		},
	}
}

// NewQueue declares a queue.
func NewQueue(s *athanor.Stack, name string, p QueueProps, opts ...athanor.Option) Queue {
	return athanor.Declare(s, queueKind, name, p, opts...)
}

// ReadQueue uses a queue that the stack does not own: by its ARN, or by QueueProps that name it.
func ReadQueue(s *athanor.Stack, name string, by any) Queue {
	return athanor.Read(s, queueKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
