package sns

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listSubscriptionsByTopicCall func(context.Context, *sdk.ListSubscriptionsByTopicInput, ...func(*sdk.Options)) (*sdk.ListSubscriptionsByTopicOutput, error)
	listTopicsCall               func(context.Context, *sdk.ListTopicsInput, ...func(*sdk.Options)) (*sdk.ListTopicsOutput, error)
)

// ListSubscriptionsByTopic makes the call.
func (call listSubscriptionsByTopicCall) ListSubscriptionsByTopic(ctx context.Context, in *sdk.ListSubscriptionsByTopicInput, o ...func(*sdk.Options)) (*sdk.ListSubscriptionsByTopicOutput, error) {
	return call(ctx, in, o...)
}

// ListTopics makes the call.
func (call listTopicsCall) ListTopics(ctx context.Context, in *sdk.ListTopicsInput, o ...func(*sdk.Options)) (*sdk.ListTopicsOutput, error) {
	return call(ctx, in, o...)
}
