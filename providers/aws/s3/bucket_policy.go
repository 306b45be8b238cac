package s3

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// comparePolicy compares what policies mean. S3 shows them in a form of its own.
func comparePolicy(d *bucketDiff, want any, have string) {
	reconcile.Value(d, "policy", aws.CanonicalPolicy(want), aws.CanonicalPolicy(have), putPolicy(want))
}

func putPolicy(want any) *bucketCall {
	if want == nil || want == "" {
		return call("DeleteBucketPolicy", func(ctx context.Context, t target, _ liveBucket) error {
			_, err := t.DeleteBucketPolicy(ctx, &sdk.DeleteBucketPolicyInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
			return err
		})
	}
	return call("PutBucketPolicy", func(ctx context.Context, t target, _ liveBucket) error {
		document, err := aws.DocumentText(want)
		if err != nil {
			return err
		}
		_, err = t.PutBucketPolicy(ctx, &sdk.PutBucketPolicyInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, Policy: &document,
		})
		return err
	})
}
