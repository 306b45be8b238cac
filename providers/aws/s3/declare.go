package s3

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

// NewBucket declares a bucket.
func NewBucket(s *athanor.Stack, name string, p BucketProps, opts ...athanor.Option) Bucket {
	return athanor.Declare(s, bucketKind, name, p, opts...)
}

// NewObject declares an object in a bucket.
func NewObject(s *athanor.Stack, name string, p ObjectProps, opts ...athanor.Option) Object {
	return athanor.Declare(s, objectKind, name, p, opts...)
}

// Notify has a function invoked for events of the bucket, and lets the bucket do so. n says which events, and of which
// objects. The leave is declared below the bucket's address, by the name of the notification.
//
//	uploads.Notify(s, "resize", fn, s3.Notification{Events: []string{"s3:ObjectCreated:*"}, Suffix: ".jpg"})
func (b Bucket) Notify(s *athanor.Stack, name string, fn lambda.Function, n Notification) lambda.Permission {
	n.Function = fn.ARN
	s.Bind(string(b.Name), name, n)
	below, renamed := s.Below(string(b.Name), name)
	return lambda.NewPermission(s, below, lambda.PermissionProps{
		Function: fn.ARN, Principal: "s3.amazonaws.com", SourceARN: b.ARN,
	}, renamed)
}
