// Package s3 offers buckets and objects of Amazon S3.
//
// It knows which call reads, sets and clears each aspect of a bucket, what a bucket is born with, how a bucket
// is emptied, and how an object's content is told from another's. It does not know how clients are made, how
// errors are classed, or what a mark looks like: that is package aws. General purpose buckets alone, not directory
// or table buckets.
package s3

import (
	"embed"

	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed bucket.go bucket_props.go bucket_lifecycle.go object.go object_props.go
var source embed.FS

const (
	bucketType = "aws.s3.Bucket"
	objectType = "aws.s3.Object"
)

// Kinds are Bucket and Object.
func Kinds() []reconcile.Any {
	return []reconcile.Any{reconcile.Erase(bucketKind), reconcile.Erase(objectKind)}
}
