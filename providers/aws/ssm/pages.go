package ssm

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	describeParametersCall func(context.Context, *sdk.DescribeParametersInput, ...func(*sdk.Options)) (*sdk.DescribeParametersOutput, error)
)

// DescribeParameters makes the call.
func (call describeParametersCall) DescribeParameters(ctx context.Context, in *sdk.DescribeParametersInput, o ...func(*sdk.Options)) (*sdk.DescribeParametersOutput, error) {
	return call(ctx, in, o...)
}
