package aws

import (
	"context"

	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	getResourcesCall func(context.Context, *tagging.GetResourcesInput, ...func(*tagging.Options)) (*tagging.GetResourcesOutput, error)
)

// GetResources makes the call.
func (call getResourcesCall) GetResources(ctx context.Context, in *tagging.GetResourcesInput, o ...func(*tagging.Options)) (*tagging.GetResourcesOutput, error) {
	return call(ctx, in, o...)
}
