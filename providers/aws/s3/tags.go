package s3

import (
	"context"
	"maps"
	"net/url"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// tagQuery writes tags as the header of an upload wants them.
func tagQuery(tags map[string]string) string {
	q := url.Values{}
	for k, v := range tags {
		q.Set(k, v)
	}
	return q.Encode()
}

// changedTags is the whole set to write, since S3 sets tags only as a whole: what is there, tags of AWS and
// ignored ones too, with the changes.
func changedTags(live, put map[string]string, drop []string) map[string]string {
	all := maps.Clone(live)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, put)
	for _, k := range drop {
		delete(all, k)
	}
	return all
}

func compareTags(d *bucketDiff, want BucketProps, live liveBucket) {
	reconcile.Map(d, "tags", aws.Tags(want.Tags, d.Mark()), aws.OwnTags(live.tags), "PutBucketTagging",
		func(ctx context.Context, on reconcile.On[liveBucket], put map[string]string, drop []string) error {
			t, err := targetOf(on.Cloud, on.Place, on.Live.name)
			if err != nil {
				return err
			}
			all := changedTags(on.Live.tags, put, drop)
			if len(all) == 0 {
				_, err = t.DeleteBucketTagging(ctx, &sdk.DeleteBucketTaggingInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
				return err
			}
			_, err = t.PutBucketTagging(ctx, &sdk.PutBucketTaggingInput{
				Bucket: t.bucket, ExpectedBucketOwner: t.owner, Tagging: &types.Tagging{TagSet: tagList(all)},
			})
			return err
		})
}

func compareObjectTags(d *objectDiff, want ObjectProps, live liveObject) {
	reconcile.Map(d, "tags", aws.Tags(want.Tags, d.Mark()), aws.OwnTags(live.tags), "PutObjectTagging",
		func(ctx context.Context, on reconcile.On[liveObject], put map[string]string, drop []string) error {
			t, err := targetOf(on.Cloud, on.Place, on.Live.bucket)
			if err != nil {
				return err
			}
			_, err = t.PutObjectTagging(ctx, &sdk.PutObjectTaggingInput{
				Bucket: t.bucket, Key: new(on.Live.key), ExpectedBucketOwner: t.owner,
				Tagging: &types.Tagging{TagSet: tagList(changedTags(on.Live.tags, put, drop))},
			})
			return err
		})
}
