package dynamodb

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listContributorInsightsCall func(context.Context, *sdk.ListContributorInsightsInput, ...func(*sdk.Options)) (*sdk.ListContributorInsightsOutput, error)
	listTablesCall              func(context.Context, *sdk.ListTablesInput, ...func(*sdk.Options)) (*sdk.ListTablesOutput, error)
)

// ListContributorInsights makes the call.
func (call listContributorInsightsCall) ListContributorInsights(ctx context.Context, in *sdk.ListContributorInsightsInput, o ...func(*sdk.Options)) (*sdk.ListContributorInsightsOutput, error) {
	return call(ctx, in, o...)
}

// ListTables makes the call.
func (call listTablesCall) ListTables(ctx context.Context, in *sdk.ListTablesInput, o ...func(*sdk.Options)) (*sdk.ListTablesOutput, error) {
	return call(ctx, in, o...)
}
