package awstest_test

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// thing is one object of a service, handled by the service's own client. Each
// protocol has one, and each fault is tried on all of them.
type thing struct {
	create, read string // as Fault.Op
	make         func(context.Context, aws.Config) error
	look         func(context.Context, aws.Config) error
	list         func(context.Context, aws.Config) (int, error)
	listOp       string

	throttled, broken, denied, absent string // codes
	throttledStatus                   int
	isAbsent                          func(error) bool
}

// things are a bucket by REST-XML, a queue by JSON and a topic by the query
// protocol.
func things(cloud *awstest.Server) map[string]thing {
	return map[string]thing{"S3": bucket(cloud.Name("shop")), "SQS": queue(), "SNS": topic(cloud.Account)}
}

func bucket(name string) thing {
	return thing{
		create: "S3.CreateBucket", read: "S3.GetBucketVersioning", listOp: "S3.ListBuckets",
		make: func(ctx context.Context, cfg aws.Config) error {
			_, err := s3.NewFromConfig(cfg).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
			return err
		},
		look: func(ctx context.Context, cfg aws.Config) error {
			_, err := s3.NewFromConfig(cfg).GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &name})
			return err
		},
		list: func(ctx context.Context, cfg aws.Config) (int, error) {
			out, err := s3.NewFromConfig(cfg).ListBuckets(ctx, nil)
			if err != nil {
				return 0, err
			}
			return len(out.Buckets), nil
		},
		throttled: "SlowDown", throttledStatus: 503, broken: "InternalError", denied: "AccessDenied", absent: "NoSuchBucket",
		isAbsent: func(err error) bool { return code(err) == "NoSuchBucket" },
	}
}

func queue() thing {
	return thing{
		create: "SQS.CreateQueue", read: "SQS.GetQueueUrl", listOp: "SQS.ListQueues",
		make: func(ctx context.Context, cfg aws.Config) error {
			_, err := sqs.NewFromConfig(cfg).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: new("shop")})
			return err
		},
		look: func(ctx context.Context, cfg aws.Config) error {
			_, err := sqs.NewFromConfig(cfg).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: new("shop")})
			return err
		},
		list: func(ctx context.Context, cfg aws.Config) (int, error) {
			out, err := sqs.NewFromConfig(cfg).ListQueues(ctx, nil)
			if err != nil {
				return 0, err
			}
			return len(out.QueueUrls), nil
		},
		throttled: "RequestThrottled", throttledStatus: 403, broken: "InternalError", denied: "AccessDenied",
		absent: "AWS.SimpleQueueService.NonExistentQueue",
		isAbsent: func(err error) bool {
			_, ok := errors.AsType[*sqstypes.QueueDoesNotExist](err)
			return ok
		},
	}
}

func topic(account string) thing {
	arn := "arn:aws:sns:us-east-1:" + account + ":shop"
	return thing{
		create: "SNS.CreateTopic", read: "SNS.GetTopicAttributes", listOp: "SNS.ListTopics",
		make: func(ctx context.Context, cfg aws.Config) error {
			_, err := sns.NewFromConfig(cfg).CreateTopic(ctx, &sns.CreateTopicInput{Name: new("shop")})
			return err
		},
		look: func(ctx context.Context, cfg aws.Config) error {
			_, err := sns.NewFromConfig(cfg).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &arn})
			return err
		},
		list: func(ctx context.Context, cfg aws.Config) (int, error) {
			out, err := sns.NewFromConfig(cfg).ListTopics(ctx, nil)
			if err != nil {
				return 0, err
			}
			return len(out.Topics), nil
		},
		throttled: "Throttling", throttledStatus: 400, broken: "InternalError", denied: "AuthorizationError", absent: "NotFound",
		isAbsent: func(err error) bool {
			_, ok := errors.AsType[*snstypes.NotFoundException](err)
			return ok
		},
	}
}
