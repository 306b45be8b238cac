package logs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	describeLogGroupsCall func(context.Context, *sdk.DescribeLogGroupsInput, ...func(*sdk.Options)) (*sdk.DescribeLogGroupsOutput, error)
	filterLogEventsCall   func(context.Context, *sdk.FilterLogEventsInput, ...func(*sdk.Options)) (*sdk.FilterLogEventsOutput, error)
)

// DescribeLogGroups makes the call.
func (call describeLogGroupsCall) DescribeLogGroups(ctx context.Context, in *sdk.DescribeLogGroupsInput, o ...func(*sdk.Options)) (*sdk.DescribeLogGroupsOutput, error) {
	return call(ctx, in, o...)
}

// FilterLogEvents makes the call.
func (call filterLogEventsCall) FilterLogEvents(ctx context.Context, in *sdk.FilterLogEventsInput, o ...func(*sdk.Options)) (*sdk.FilterLogEventsOutput, error) {
	return call(ctx, in, o...)
}
