// Package s3 offers buckets and objects of Amazon S3.
//
// It knows which call reads, sets and clears each aspect of a bucket, what a bucket is born with, how a bucket
// is emptied, and how an object's content is told from another's. It does not know how clients are made, how
// errors are classed, or when two policies say the same: that is package aws. General purpose buckets alone, not
// directory or table buckets.
package s3

import (
	"embed"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed bucket.go bucket_props.go bucket_lifecycle.go notification_props.go object.go object_props.go
var source embed.FS

const (
	bucketType = "aws.s3.Bucket"
	objectType = "aws.s3.Object"
)

// Service is what the package offers to the provider. The tagging service lists buckets alone: objects are found by
// their bucket and key.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(bucketKind), reconcile.Erase(objectKind)},
		Filters:  []string{"s3"},
		Registry: map[string]string{"AWS::S3::Bucket": bucketType, "AWS::S3::BucketPolicy": bucketType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			if !ok || p.Service != "s3" || p.Region != "" || strings.Contains(p.Resource, "/") {
				return "", "", "", false
			}
			return bucketType, p.Resource, p.Resource, true
		},
	}
}
