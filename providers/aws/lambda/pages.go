package lambda

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listEventSourceMappingsCall func(context.Context, *sdk.ListEventSourceMappingsInput, ...func(*sdk.Options)) (*sdk.ListEventSourceMappingsOutput, error)
	listFunctionsCall           func(context.Context, *sdk.ListFunctionsInput, ...func(*sdk.Options)) (*sdk.ListFunctionsOutput, error)
)

// ListEventSourceMappings makes the call.
func (call listEventSourceMappingsCall) ListEventSourceMappings(ctx context.Context, in *sdk.ListEventSourceMappingsInput, o ...func(*sdk.Options)) (*sdk.ListEventSourceMappingsOutput, error) {
	return call(ctx, in, o...)
}

// ListFunctions makes the call.
func (call listFunctionsCall) ListFunctions(ctx context.Context, in *sdk.ListFunctionsInput, o ...func(*sdk.Options)) (*sdk.ListFunctionsOutput, error) {
	return call(ctx, in, o...)
}
