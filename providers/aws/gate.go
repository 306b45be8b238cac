package aws

import (
	"context"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/athanor-dev/athanor/reconcile"
)

// throughGate sends every operation of every client through the gates of its context, and then through the
// limiter of its service.
func (c *Cloud) throughGate(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("athanor.Gate", c.call), middleware.After)
}

func (c *Cloud) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, meta middleware.Metadata, err error,
) {
	call := reconcile.Call{Service: awsmiddleware.GetServiceID(ctx), Operation: awsmiddleware.GetOperationName(ctx)}
	call.Mutates = !reads(call.Service, call.Operation)
	call.Place = reconcile.Place{Provider: "aws", Region: c.cfg.Region}
	bucket := c.limits.of(c.owner(), c.cfg.Region, call.Service, call.Mutates)
	err = reconcile.Through(ctx, call, func(ctx context.Context) error {
		if err := bucket.take(ctx); err != nil {
			return err
		}
		out, meta, err = next.HandleInitialize(ctx, in)
		bucket.learn(err)
		return err
	})
	return out, meta, err
}

// owner tells credentials apart for the limits before the account is known.
func (c *Cloud) owner() string { return c.settings.Profile + "|" + c.settings.AccountID + "|" + c.settings.Endpoint }

// readPrefixes are the beginnings of the operations that only read, by service. What is not here mutates.
var readPrefixes = map[string][]string{
	"S3":                          {"Get", "List", "Head"},
	"SQS":                         {"Get", "List"},
	"SNS":                         {"Get", "List"},
	"STS":                         {"GetCallerIdentity"},
	"Resource Groups Tagging API": {"Get"},
}

func reads(service, operation string) bool {
	return slices.ContainsFunc(readPrefixes[service], func(p string) bool { return strings.HasPrefix(operation, p) })
}
