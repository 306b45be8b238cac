package cloudcontrol

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listResourcesCall func(context.Context, *sdk.ListResourcesInput, ...func(*sdk.Options)) (*sdk.ListResourcesOutput, error)
)

// ListResources makes the call.
func (call listResourcesCall) ListResources(ctx context.Context, in *sdk.ListResourcesInput, o ...func(*sdk.Options)) (*sdk.ListResourcesOutput, error) {
	return call(ctx, in, o...)
}
