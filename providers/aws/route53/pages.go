package route53

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listHostedZonesCall        func(context.Context, *sdk.ListHostedZonesInput, ...func(*sdk.Options)) (*sdk.ListHostedZonesOutput, error)
	listResourceRecordSetsCall func(context.Context, *sdk.ListResourceRecordSetsInput, ...func(*sdk.Options)) (*sdk.ListResourceRecordSetsOutput, error)
)

// ListHostedZones makes the call.
func (call listHostedZonesCall) ListHostedZones(ctx context.Context, in *sdk.ListHostedZonesInput, o ...func(*sdk.Options)) (*sdk.ListHostedZonesOutput, error) {
	return call(ctx, in, o...)
}

// ListResourceRecordSets makes the call.
func (call listResourceRecordSetsCall) ListResourceRecordSets(ctx context.Context, in *sdk.ListResourceRecordSetsInput, o ...func(*sdk.Options)) (*sdk.ListResourceRecordSetsOutput, error) {
	return call(ctx, in, o...)
}
