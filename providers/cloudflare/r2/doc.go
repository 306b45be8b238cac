// Package r2 offers buckets of Cloudflare R2.
//
// It knows a bucket with all that belongs to it: who may read it from where, by which names, what becomes of old
// objects, and who is told of new ones. It does not know objects, beyond that there are some; how calls are made and
// judged is the business of package cloudflare.
package r2

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed bucket.go bucket_props.go
var source embed.FS

const bucketType = "cloudflare.R2Bucket"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{bucketKind.Erase()}}
}

// NewBucket declares a bucket.
func NewBucket(s *athanor.Stack, name string, p BucketProps, opts ...athanor.Option) Bucket {
	return athanor.Declare(s, bucketKind, name, p, opts...)
}

// ReadBucket uses a bucket that the stack does not own: by its name, after jurisdiction/ unless that is the default, or
// by BucketProps that name it.
func ReadBucket(s *athanor.Stack, name string, by any) Bucket {
	return athanor.Read(s, bucketKind, name, by)
}
