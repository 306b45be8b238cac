package s3

import (
	"context"
	"fmt"
	"iter"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// deleteBucket deletes an empty bucket with one call. One that holds something is emptied only with permission; if it is not
// empty even then, because somebody writes to it, the answer is a conflict and the runner calls again.
func deleteBucket(ctx context.Context, s bucketSite) error {
	t := targetOf(s.Facts, string(s.Last.Name))
	err := removeBucket(ctx, t)
	if !s.MayDelete || !has(err, "BucketNotEmpty") {
		return err // the runner refuses it when somebody wrote to it a moment ago
	}
	if err := emptyBucket(ctx, t); err != nil {
		return fmt.Errorf("empty bucket %s: %w", t.bucket, err)
	}
	return removeBucket(ctx, t)
}

func removeBucket(ctx context.Context, t target) error {
	return unless(set(ctx, t, t.DeleteBucket, sdk.DeleteBucketInput{}), "NoSuchBucket")
}

// versionsOf are the versions and delete markers of a bucket, page by page.
func versionsOf(ctx context.Context, t target, most int32) iter.Seq2[*sdk.ListObjectVersionsOutput, error] {
	next := func(in *sdk.ListObjectVersionsInput, out *sdk.ListObjectVersionsOutput) bool {
		in.KeyMarker, in.VersionIdMarker = out.NextKeyMarker, out.NextVersionIdMarker
		return awssdk.ToBool(out.IsTruncated)
	}
	return aws.Pages(ctx, t.ListObjectVersions, on(t, &sdk.ListObjectVersionsInput{MaxKeys: &most}), next)
}

// emptyBucket deletes every version and delete marker, then every upload that is not complete.
func emptyBucket(ctx context.Context, t target) error {
	for out, err := range versionsOf(ctx, t, page) {
		if err != nil {
			return err
		}
		var ids []types.ObjectIdentifier
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

// removeObjects deletes one page. Protected versions stay: governance is not bypassed, since the permission to delete data is
// no permission to break a protection that somebody put on it.
func removeObjects(ctx context.Context, t target, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	out, err := ask(ctx, t, t.DeleteObjects, sdk.DeleteObjectsInput{Delete: &types.Delete{Objects: ids, Quiet: new(true)}})
	if err != nil || len(out.Errors) == 0 {
		return err
	}
	first := out.Errors[0]
	return fmt.Errorf("%d of %d versions stay, the first is %s: %w", len(out.Errors), len(ids), awssdk.ToString(first.Key),
		&smithy.GenericAPIError{Code: awssdk.ToString(first.Code), Message: awssdk.ToString(first.Message)})
}

func abortUploads(ctx context.Context, t target) error {
	next := func(in *sdk.ListMultipartUploadsInput, out *sdk.ListMultipartUploadsOutput) bool {
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
		return awssdk.ToBool(out.IsTruncated)
	}
	in := on(t, &sdk.ListMultipartUploadsInput{MaxUploads: new(page)})
	for out, err := range aws.Pages(ctx, t.ListMultipartUploads, in, next) {
		if err != nil {
			return err
		}
		for _, u := range out.Uploads {
			err := set(ctx, t, t.AbortMultipartUpload, sdk.AbortMultipartUploadInput{Key: u.Key, UploadId: u.UploadId})
			if err := unless(err, "NoSuchUpload"); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentsOfBucket lists what keeps a bucket from being deleted. In a bucket that was ever versioned that is more than its
// objects: deleting one of those leaves its versions, which nobody declares.
func contentsOfBucket(ctx context.Context, s bucketSite, most int) (all []kind.Found, err error) {
	t := targetOf(s.Facts, string(s.Last.Name))
	versioning, err := ask(ctx, t, t.GetBucketVersioning, sdk.GetBucketVersioningInput{})
	if err != nil {
		return nil, err
	}
	for out, err := range versionsOf(ctx, t, min(page, int32(most))) {
		if err != nil {
			return nil, err
		}
		for _, v := range out.Versions {
			f := kind.Found{}
			if versioning.Status == "" {
				f.Kind, f.Identity = objectType, t.bucket+"/"+awssdk.ToString(v.Key)
			}
			all = append(all, f)
		}
		if all = append(all, make([]kind.Found, len(out.DeleteMarkers))...); len(all) >= most {
			break
		}
	}
	return all[:min(len(all), most)], nil
}
