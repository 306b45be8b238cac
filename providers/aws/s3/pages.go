package s3

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listBucketsCall          func(context.Context, *sdk.ListBucketsInput, ...func(*sdk.Options)) (*sdk.ListBucketsOutput, error)
	listMultipartUploadsCall func(context.Context, *sdk.ListMultipartUploadsInput, ...func(*sdk.Options)) (*sdk.ListMultipartUploadsOutput, error)
	listObjectVersionsCall   func(context.Context, *sdk.ListObjectVersionsInput, ...func(*sdk.Options)) (*sdk.ListObjectVersionsOutput, error)
)

// ListBuckets makes the call.
func (call listBucketsCall) ListBuckets(ctx context.Context, in *sdk.ListBucketsInput, o ...func(*sdk.Options)) (*sdk.ListBucketsOutput, error) {
	return call(ctx, in, o...)
}

// ListMultipartUploads makes the call.
func (call listMultipartUploadsCall) ListMultipartUploads(ctx context.Context, in *sdk.ListMultipartUploadsInput, o ...func(*sdk.Options)) (*sdk.ListMultipartUploadsOutput, error) {
	return call(ctx, in, o...)
}

// ListObjectVersions makes the call.
func (call listObjectVersionsCall) ListObjectVersions(ctx context.Context, in *sdk.ListObjectVersionsInput, o ...func(*sdk.Options)) (*sdk.ListObjectVersionsOutput, error) {
	return call(ctx, in, o...)
}
