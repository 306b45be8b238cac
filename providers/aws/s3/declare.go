package s3

import "github.com/athanor-dev/athanor"

// NewBucket declares a bucket.
func NewBucket(s *athanor.Stack, name string, p BucketProps, opts ...athanor.Option) Bucket {
	return athanor.Declare(s, bucketKind, name, p, opts...)
}

// NewObject declares an object in a bucket.
func NewObject(s *athanor.Stack, name string, p ObjectProps, opts ...athanor.Option) Object {
	return athanor.Declare(s, objectKind, name, p, opts...)
}
