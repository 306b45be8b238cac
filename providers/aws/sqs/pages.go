package sqs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listQueuesCall func(context.Context, *sdk.ListQueuesInput, ...func(*sdk.Options)) (*sdk.ListQueuesOutput, error)
)

// ListQueues makes the call.
func (call listQueuesCall) ListQueues(ctx context.Context, in *sdk.ListQueuesInput, o ...func(*sdk.Options)) (*sdk.ListQueuesOutput, error) {
	return call(ctx, in, o...)
}
