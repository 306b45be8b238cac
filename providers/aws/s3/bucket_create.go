package s3

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// createBucket makes the bucket with its tags, lock and ownership in one call. The rest is settled by the
// comparison, one call for each aspect that is not as new buckets have it. In us-east-1 S3 does not refuse to
// create a bucket that we own already, and clears its access control list; the runner calls this only after a
// look showed that there is none.
func createBucket(ctx context.Context, site bucketSite) (Bucket, error) {
	t, err := targetOf(site.Cloud, site.Place, site.Name)
	if err != nil {
		return Bucket{}, err
	}
	in := &sdk.CreateBucketInput{
		Bucket:                    t.bucket,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{Tags: tagList(aws.Tags(site.Want.Tags, site.Mark))},
	}
	if site.Place.Region != "us-east-1" { // which S3 wants to be left out
		in.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(site.Place.Region)
	}
	if strings.HasSuffix(site.Name, regionalSuffix(site.Place)) {
		in.BucketNamespace = types.BucketNamespaceAccountRegional
	}
	if site.Want.ObjectLockEnabled {
		in.ObjectLockEnabledForBucket = new(true)
	}
	// Naming the default would need a permission that a bucket with the default does not.
	if o := types.ObjectOwnership(awssdk.ToString(site.Want.ObjectOwnership)); o != types.ObjectOwnershipBucketOwnerEnforced {
		in.ObjectOwnership = o
	}
	if _, err := t.CreateBucket(ctx, in); err != nil {
		if has(err, "BucketAlreadyExists") {
			return Bucket{}, reconcile.WithHint(err, "another account has a bucket of this name: choose another, or leave it out")
		}
		return Bucket{}, err
	}
	return attrsOf(site.Name, site.Place.Region), nil
}

// listBuckets lists the account's buckets of one region, a thousand with each call. The listing shows no tags.
func listBuckets(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	pages := sdk.NewListBucketsPaginator(listBucketsCall(client.ListBuckets), &sdk.ListBucketsInput{
		Prefix: aws.OrNil(scope.Prefix), BucketRegion: aws.OrNil(scope.Place.Region), MaxBuckets: new(page),
	})
	var found []reconcile.Found
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range out.Buckets {
			name := awssdk.ToString(b.Name)
			found = append(found, reconcile.Found{Kind: bucketType, Place: scope.Place, Identity: name, Name: name})
		}
	}
	return found, nil
}
