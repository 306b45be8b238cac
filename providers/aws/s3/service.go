// Package s3 offers buckets and objects of Amazon S3.
//
// It knows which call reads, sets and clears each setting of a bucket, what a new bucket has, how a bucket is emptied, and
// how the content of an object is told from another's. It does not know how clients are made, how errors are classed, or
// when two policies say the same: that is package aws. General purpose buckets alone, not directory or table buckets.
package s3

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

//go:embed bucket.go bucket_lifecycle.go object.go
var source embed.FS

const (
	bucketType = "aws.s3.Bucket"
	objectType = "aws.s3.Object"
)

// Service is what the package offers to the provider. The tagging service lists buckets alone: objects are found by
// their bucket and key.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{bucketKind.Erase(), objectKind.Erase()},
		Constructs: map[string]athanor.Construct{
			bucketType: aws.Usable(Bucket.declaredWith, Bucket.Grant, map[string]Access{"read": Read, "list": List, "write": Write, "delete": Delete}),
		},
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

// NewBucket declares a bucket.
func NewBucket(s *athanor.Stack, name string, p BucketProps, opts ...athanor.Option) Bucket {
	return athanor.Declare(s, bucketKind, name, p, opts...).declaredWith(p)
}

// ReadBucket uses a bucket that the stack does not own: by its name or ARN, or by BucketProps that name it.
func ReadBucket(s *athanor.Stack, name string, by any) Bucket {
	return athanor.Read(s, bucketKind, name, by)
}

// NewObject declares an object in a bucket.
func NewObject(s *athanor.Stack, name string, p ObjectProps, opts ...athanor.Option) Object {
	return athanor.Declare(s, objectKind, name, p, opts...)
}

// Notify has a function invoked for events of the bucket, and permits the bucket to do so. n says which events, and of which
// objects. The permission is declared below the bucket's address, by the name of the notification.
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

// clientOf is the client of a location. Where the endpoint is not AWS's own, buckets are in the path: emulators and gateways
// seldom have a host name for each.
func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig, func(o *sdk.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
}

// target is a bucket that calls are made on.
type target struct {
	*sdk.Client
	cloud         kind.Cloud
	bucket, owner string
}

func targetOf(s kind.Facts, bucket string) target {
	return target{Client: clientOf(s.Cloud), cloud: s.Cloud, bucket: bucket, owner: s.Location.Account}
}

// ask makes a call on a bucket. It names the account that must own the bucket, so that S3 itself refuses a name that somebody
// else has taken meanwhile.
func ask[I, O any](
	ctx context.Context, t target, call func(context.Context, *I, ...func(*sdk.Options)) (*O, error), in I,
) (*O, error) {
	return call(ctx, on(t, &in))
}

// on makes the input of a call name a bucket and the account that must own it.
func on[I any](t target, in *I) *I {
	wire := kind.Struct(in)
	if wire.Set("Bucket", t.bucket); t.owner != "" {
		wire.Set("ExpectedBucketOwner", t.owner)
	}
	return in
}

// set makes a call on a bucket whose answer says nothing.
func set[I, O any](ctx context.Context, t target, call func(context.Context, *I, ...func(*sdk.Options)) (*O, error), in I) error {
	_, err := ask(ctx, t, call, in)
	return err
}

// has reports whether S3 answered with one of these codes.
func has(err error, codes ...string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, api.ErrorCode())
}

// unless keeps an error unless it has one of these codes.
func unless(err error, codes ...string) error {
	if has(err, codes...) {
		return nil
	}
	return err
}

// compareTags states tags, which S3 sets only as a whole: what is there, tags of AWS and ignored ones too, with the changes.
func compareTags[L any](
	d *kind.Diff[L], author, live map[string]string, call string, put func(context.Context, kind.Update[L], []types.Tag) error,
) {
	want, have := aws.TagSides(d.Cloud(), author, d.Mark(), live)
	reconcile.Map(d, "tags", want, have, call,
		func(ctx context.Context, on kind.Update[L], add map[string]string, drop []string) error {
			all := map[string]string{}
			maps.Copy(all, live)
			maps.Copy(all, add)
			for _, k := range drop {
				delete(all, k)
			}
			return put(ctx, on, tagList(all))
		})
}

// tagged is the ownership of what carries tags. The kind compares them itself, before or after the rest.
func tagged[P, L any](author func(P) map[string]string, live func(L) map[string]string) kind.Tagged[P, L] {
	return kind.Tagged[P, L]{
		Tag:   func(l L) kind.OwnerTag { return adopt.MarkOf(live(l)) },
		Check: func(p P) error { return aws.CheckTags(author(p)).OrNil() },
	}
}

// tagList writes tags in the order of their keys.
func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

// tagMap reads tags.
func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

// arnOf is the ARN of a bucket, or of what is in it. It names neither region nor account.
func arnOf(location kind.Location, resource string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(location.Region), Service: "s3", Resource: resource}.ARN()
}
