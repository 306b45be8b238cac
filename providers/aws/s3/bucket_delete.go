package s3

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/reconcile"
)

// page is how many objects S3 lists and deletes in one call.
const page = int32(1000)

// deleteBucket deletes an empty bucket with one call. One that holds something is emptied only with leave; if it
// is not empty even then, because somebody writes to it, the answer is a conflict and the runner comes again.
func deleteBucket(ctx context.Context, site bucketSite) error {
	t, err := targetOf(site.Cloud, site.Place, bucketName(site))
	if err != nil {
		return err
	}
	err = removeBucket(ctx, t)
	if !has(err, "BucketNotEmpty") {
		return err
	}
	if !site.MayDelete {
		return reconcile.WithHint(fmt.Errorf("bucket %s: %w", *t.bucket, reconcile.ErrHoldsData),
			"empty it, set forceDestroy, or allow the deletion of its data")
	}
	if err := emptyBucket(ctx, t); err != nil {
		return fmt.Errorf("empty bucket %s: %w", *t.bucket, err)
	}
	return removeBucket(ctx, t)
}

func removeBucket(ctx context.Context, t target) error {
	_, err := t.DeleteBucket(ctx, &sdk.DeleteBucketInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	return unless(err, "NoSuchBucket")
}

// emptyBucket deletes every version and delete marker, then every upload that is not complete.
func emptyBucket(ctx context.Context, t target) error {
	versions := sdk.NewListObjectVersionsPaginator(listObjectVersionsCall(t.Client.ListObjectVersions), &sdk.ListObjectVersionsInput{
		Bucket: t.bucket, ExpectedBucketOwner: t.owner, MaxKeys: new(page),
	})
	for versions.HasMorePages() {
		out, err := versions.NextPage(ctx)
		if err != nil {
			return err
		}
		ids := make([]types.ObjectIdentifier, 0, len(out.Versions)+len(out.DeleteMarkers))
		for _, v := range out.Versions {
			ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range out.DeleteMarkers {
			ids = append(ids, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if err := removeObjects(ctx, t, ids); err != nil {
			return err
		}
	}
	return abortUploads(ctx, t)
}

// removeObjects deletes one page. Protected versions stay: governance is not bypassed, since leave to delete data
// is not leave to break a protection that somebody put on it.
func removeObjects(ctx context.Context, t target, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	out, err := t.DeleteObjects(ctx, &sdk.DeleteObjectsInput{
		Bucket: t.bucket, ExpectedBucketOwner: t.owner, Delete: &types.Delete{Objects: ids, Quiet: new(true)},
	})
	if err != nil {
		return err
	}
	if len(out.Errors) == 0 {
		return nil
	}
	first := out.Errors[0]
	return fmt.Errorf("%d of %d versions stay, the first is %s: %w", len(out.Errors), len(ids), awssdk.ToString(first.Key),
		&smithy.GenericAPIError{Code: awssdk.ToString(first.Code), Message: awssdk.ToString(first.Message)})
}

func abortUploads(ctx context.Context, t target) error {
	uploads := sdk.NewListMultipartUploadsPaginator(listMultipartUploadsCall(t.Client.ListMultipartUploads), &sdk.ListMultipartUploadsInput{
		Bucket: t.bucket, ExpectedBucketOwner: t.owner, MaxUploads: new(page),
	})
	for uploads.HasMorePages() {
		out, err := uploads.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, u := range out.Uploads {
			_, err := t.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{
				Bucket: t.bucket, ExpectedBucketOwner: t.owner, Key: u.Key, UploadId: u.UploadId,
			})
			if err := unless(err, "NoSuchUpload"); err != nil {
				return err
			}
		}
	}
	return nil
}

// heldByBucket lists what keeps a bucket from being deleted. In a bucket that was ever versioned that is more than its
// objects: deleting one of those leaves its versions, which are nobody's.
func heldByBucket(ctx context.Context, site bucketSite, most int) ([]reconcile.Found, error) {
	t, err := targetOf(site.Cloud, site.Place, bucketName(site))
	if err != nil {
		return nil, err
	}
	versioning, err := t.GetBucketVersioning(ctx, &sdk.GetBucketVersioningInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	versions := sdk.NewListObjectVersionsPaginator(listObjectVersionsCall(t.Client.ListObjectVersions), &sdk.ListObjectVersionsInput{
		Bucket: t.bucket, ExpectedBucketOwner: t.owner, MaxKeys: new(min(page, int32(most))),
	})
	for len(all) < most && versions.HasMorePages() {
		out, err := versions.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range out.Versions {
			f := reconcile.Found{}
			if versioning.Status == "" {
				f.Kind, f.Identity = objectType, *t.bucket+"/"+awssdk.ToString(v.Key)
			}
			all = append(all, f)
		}
		all = append(all, make([]reconcile.Found, len(out.DeleteMarkers))...)
	}
	return all[:min(len(all), most)], nil
}
