package awstest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// A bucket has the tags that it was created with from its first moment on, even if the answer was lost.
func TestABucketIsBornWithItsTags(t *testing.T) {
	cloud := awstest.Start(t)
	cloud.Inject(awstest.Fault{Op: "S3.CreateBucket", Kind: awstest.DropAnswer})
	bucket := new(cloud.Name("tagged"))
	_, err := s3.NewFromConfig(cloud.ObservedConfig(t)).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    bucket,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{Tags: []types.Tag{{Key: new("a b"), Value: new("<&>")}}},
	})
	if err == nil {
		t.Fatal("the answer was not lost")
	}
	out, err := s3.NewFromConfig(cloud.Config(t)).GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: bucket})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.TagSet) != 1 || *out.TagSet[0].Key != "a b" || *out.TagSet[0].Value != "<&>" {
		t.Errorf("tags %v", out.TagSet)
	}
}
