package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// pass makes every operation of a client go through the gates of its context, once it is written as a request: a request that
// is throttled is made again as it is.
func (c *Cloud) pass(stack *middleware.Stack) error {
	return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("athanor", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (out middleware.FinalizeOutput, meta middleware.Metadata, err error) {
		call, err := c.call(ctx)
		if err != nil {
			return out, meta, err
		}
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return out, meta, fmt.Errorf("%s: a %T is no request over HTTP", call, in.Request)
		}
		err = c.limits.of(call).Through(ctx, call, rate.Attempt{
			Do: func(ctx context.Context) error {
				var err error
				out, meta, err = next.HandleFinalize(ctx, middleware.FinalizeInput{Request: request.Clone()})
				return hinted(err)
			},
			Judge: func(err error) (reconcile.Class, time.Duration) { return classOf(err), retryAfter(err) },
			Again: request.RewindStream,
		})
		if err == nil {
			c.limits.note(call)
		}
		return out, meta, err
	}), middleware.Before)
}

// call is the operation under way. Its place is known before anything else is called, so that no call reaches an
// account that is not allowed.
func (c *Cloud) call(ctx context.Context) (reconcile.Call, error) {
	service, operation := middleware.GetServiceID(ctx), middleware.GetOperationName(ctx)
	if short, ok := shortNames[service]; ok {
		service = short
	}
	call := reconcile.Call{Service: service, Operation: operation, Mutates: !reads(service, operation)}
	if service == "STS" {
		call.Place, _ = c.place.get()
		return call, nil // it is what the account is asked of
	}
	var err error
	call.Place, err = c.Place(ctx)
	return call, err
}

// shortNames are services whose id is a sentence.
var shortNames = map[string]string{
	"Resource Groups Tagging API": "Tagging",
	"CloudWatch Logs":             "Logs",
	"Secrets Manager":             "SecretsManager",
	"Route 53":                    "Route53",
}

// readers are the operations of each service that change nothing. A name that ends in * stands for all that
// begin so. What is not listed may change something.
var readers = map[string][]string{
	"S3":           {"Get*", "List*", "Head*", "SelectObjectContent"},
	"SQS":          {"Get*", "List*"},
	"SNS":          {"Get*", "List*", "CheckIfPhoneNumberIsOptedOut"},
	"STS":          {"Get*", "AssumeRole*", "DecodeAuthorizationMessage"}, // keys are handed out, and nothing is kept
	"Tagging":      {"Get*", "DescribeReportCreation"},
	"CloudControl": {"Get*", "List*"},

	"IAM":            {"Get*", "List*", "Simulate*"},
	"Lambda":         {"Get*", "List*"},
	"DynamoDB":       {"Get*", "List*", "Describe*", "BatchGet*", "Query", "Scan"},
	"EventBridge":    {"List*", "Describe*", "TestEventPattern"},
	"Logs":           {"Get*", "List*", "Describe*", "FilterLogEvents"},
	"SSM":            {"Get*", "List*", "Describe*"},
	"SecretsManager": {"Get*", "List*", "Describe*", "BatchGet*", "ValidateResourcePolicy"},
	"ApiGatewayV2":   {"Get*", "ExportApi"},
	"Route53":        {"Get*", "List*", "TestDNSAnswer"},
	"KMS":            {"Get*", "List*", "Describe*"},
	"ACM":            {"Get*", "List*", "Describe*"},
	"ECR":            {"Get*", "List*", "Describe*", "BatchGet*", "BatchCheckLayerAvailability"},
	"ECS":            {"Get*", "List*", "Describe*"},
	"Scheduler":      {"Get*", "List*"},
	"CloudFront":     {"Get*", "List*"},
	"SFN":            {"Get*", "List*", "Describe*", "ValidateStateMachineDefinition"},
	"Cognito":        {"Get*", "List*", "Describe*"},
}

func reads(service, operation string) bool {
	return slices.ContainsFunc(readers[service], func(name string) bool {
		prefix, many := strings.CutSuffix(name, "*")
		return name == operation || many && strings.HasPrefix(operation, prefix)
	})
}

// Why AWS rejects every call that is signed so.
const (
	expired = "the session has expired"
	noKey   = "the access key is not accepted"
	skewed  = "the time of the request is not accepted"
	forged  = "the signature does not match"
)

// rejections are the codes of answers that no resource is at fault for.
var rejections = map[string]string{
	"ExpiredToken":                expired,
	"ExpiredTokenException":       expired,
	"InvalidAccessKeyId":          noKey,
	"InvalidClientTokenId":        noKey,
	"UnrecognizedClientException": noKey,
	"RequestTimeTooSkewed":        skewed,
	"RequestExpired":              skewed,
	"SignatureDoesNotMatch":       forged,
}

// hints say what can be done about rejections.
var hints = map[string]string{
	expired: "the session has expired: sign in again, for example with `aws sso login`",
	noKey:   "the access key does not exist, or the region is not enabled for the account",
	skewed:  "set the clock of this machine",
	forged:  "the secret access key does not fit the access key, or the clock of this machine is wrong",
}

func hinted(err error) error {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if why, ok := rejections[api.ErrorCode()]; ok {
			return reconcile.WithCommon(reconcile.WithHint(err, "%s", hints[why]), why)
		}
	}
	return err
}
